"""A report in a real browser: hints, sorting, phones, dark mode; and not one request to anywhere."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="reports need matplotlib")
pytest.importorskip("jinja2", reason="reports need jinja2")
playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

from pegasos import report  # noqa: E402
from pegasos.plotting import ConfusionDisplay, ConvergenceDisplay, Curve, HeatmapDisplay  # noqa: E402
from pegasos.report import Figure, Page, Remark, Table  # noqa: E402

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome is on PATH")


def wide_heat_map():
    values = np.linspace(0.1, 0.9, 60).reshape(4, 15)
    return HeatmapDisplay(values, range(4), range(15), "row", "column", "error").plot().figure_


def example() -> Page:
    steps = [1, 10, 100, 1000]
    rows = [["ten", 10.0, "b"], ["nine", 9.0, "a"], ["missing", None, ""], ["hundred", 100.0, "c"], ["tiny", 1e-9, "d"]]
    many = [f"a column with a long name {n}" for n in range(12)]
    return Page(
        "example", "An example with a title that is longer than a phone is wide", "A summary. " * 20,
        tables=[
            Table("results", "Results", ["method", "error", "note"], rows),
            Table("many", "Many", many, [[1.5] * 12]),
        ],
        figures=[
            Figure("wide", "Wide", wide_heat_map, "A caption. " * 10),
            Figure("confusion", "Confusion", lambda: ConfusionDisplay([[5, 1], [0, 7]], ["cat", "dog"]).plot().figure_),
            Figure("curves", "Curves", lambda: ConvergenceDisplay([Curve("a", steps, [4, 3, 2, 1])]).plot().figure_),
        ],
        remarks=[Remark("M1", "averyveryverylongwordthatcannotbebrokenanywhere" * 3)],
        settings={"a": "x" * 200}, data=[{"name": "digits", "fingerprint": "0123456789abcdef" * 4}],
        command="pegasos study " + "--option value " * 20, seconds=1.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.write_html([example(), example()], path)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, address):
    """Open the report in a window of its own; at the end, nothing was complained about or asked from the network."""
    troubles: list[str] = []
    contexts = []

    def opened(**options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: troubles.append(message.text))
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("request", lambda request: troubles.append(request.url) if request.url != address else None)
        tab.goto(address)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def column(tab, place: int) -> list[str]:
    return tab.locator(f"#example-results tbody td:nth-child({place})").all_inner_texts()


def brightness(colour: str) -> float:
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3]) / 3


def test_pointing_at_a_cell_shows_its_value(visit):
    tab = visit()
    cell = tab.locator("#example-confusion [data-hint]").first
    tip = tab.locator("#tip")
    assert tip.is_hidden()
    cell.scroll_into_view_if_needed()
    cell.hover()
    assert tip.inner_text() == "true cat, predicted cat: 5 (83.3% of 6)"
    tab.mouse.move(2, 2)
    assert tip.is_hidden()


def test_pointing_at_a_point_of_a_curve_shows_its_value(visit):
    tab = visit()
    point = tab.locator("#example-curves [data-hint]").nth(2)
    point.scroll_into_view_if_needed()
    point.hover()
    assert tab.locator("#tip").inner_text() == "a: 2 at step 100"


def test_hints_are_reached_by_keyboard(visit):
    tab = visit()
    tab.locator("#example-confusion .title a").focus()
    tab.keyboard.press("Tab")
    assert tab.locator("#tip").inner_text().startswith("true cat, predicted cat")
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#tip").inner_text().startswith("true cat, predicted dog")
    tab.keyboard.press("Escape")
    assert tab.locator("#tip").is_hidden()


def test_a_tap_shows_a_hint_on_a_phone(visit):
    tab = visit(viewport={"width": 360, "height": 700}, has_touch=True, is_mobile=True)
    cell = tab.locator("#example-confusion [data-hint]").last
    cell.scroll_into_view_if_needed()
    cell.tap()
    tip = tab.locator("#tip")
    assert tip.is_visible()
    assert tip.inner_text() == "true dog, predicted dog: 7 (100.0% of 7)"
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


def test_a_click_on_a_header_sorts_numbers_and_a_second_turns_them_round(visit):
    tab = visit()
    header = tab.locator("#example-results th").nth(1)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert column(tab, 1) == ["tiny", "nine", "ten", "hundred", "missing"]
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert column(tab, 1) == ["hundred", "ten", "nine", "tiny", "missing"]


def test_the_keyboard_sorts_text(visit):
    tab = visit()
    tab.locator("#example-results th button").nth(2).focus()
    tab.keyboard.press("Enter")
    headers = tab.locator("#example-results th")
    assert [headers.nth(n).get_attribute("aria-sort") for n in range(3)] == ["none", "none", "ascending"]
    assert [text for text in column(tab, 3) if text] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_no_page_is_wider_than_its_window(visit, width):
    tab = visit(viewport={"width": width, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    for svg in tab.locator("figure:not(.wide) svg").all():
        assert svg.bounding_box()["width"] <= width


def test_dark_mode_is_dark_and_its_figures_light(visit):
    seen = {}
    for scheme in ("light", "dark"):
        tab = visit(color_scheme=scheme)
        style = "(element, name) => getComputedStyle(element)[name]"
        label = tab.locator("#example-curves svg text").first
        seen[scheme] = [
            brightness(tab.locator("body").evaluate(style, "backgroundColor")),
            brightness(tab.locator("body").evaluate(style, "color")),
            brightness(label.evaluate(style, "fill")),
        ]
    assert seen["light"][0] > 240
    assert max(seen["light"][1:]) < 60
    assert seen["dark"][0] < 40
    assert min(seen["dark"][1:]) > 200


def test_numbers_in_cells_keep_their_colour_in_dark_mode(visit):
    colours = []
    for scheme in ("light", "dark"):
        tab = visit(color_scheme=scheme)
        texts = tab.locator("#example-wide svg text").filter(has_text=re.compile(r"^0\.\d{3}$"))
        colours.append(texts.evaluate_all("all => all.map((text) => getComputedStyle(text).fill)"))
    assert len(colours[0]) == 60
    assert colours[0] == colours[1]


def test_paper_is_white_in_dark_mode(visit):
    tab = visit(color_scheme="dark")
    tab.emulate_media(media="print", color_scheme="dark")
    assert brightness(tab.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")) > 240


def test_the_command_can_be_copied_or_is_marked(visit):
    tab = visit()
    button = tab.locator("button.copy").first
    button.click()
    tab.wait_for_function("document.querySelector('button.copy').textContent !== 'Copy'")
    assert button.inner_text() in ("Copied", "Marked")


def test_contents_lead_to_their_parts(visit):
    tab = visit()
    tab.locator("nav a", has_text="Results").nth(1).click()
    assert tab.evaluate("location.hash") == "#example-2-results"
    assert tab.locator("#example-2-results").is_visible()
