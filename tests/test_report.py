"""Pages: everything in one file, nothing of the data run as code, the same page from the same results."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="reports need matplotlib")
pytest.importorskip("jinja2", reason="reports need jinja2")

from pegasos import report
from pegasos.plotting import BarsDisplay, ConvergenceDisplay, Curve, HeatmapDisplay
from pegasos.report import Figure, Page, Remark, Table

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;"


def heat_map():
    return HeatmapDisplay([[0.3, 0.1], [0.2, 0.4]], ["a", HOSTILE], ["x", "y"], "row", "column", "error").plot().figure_


def curves():
    return ConvergenceDisplay([Curve("a", [1, 10, 100], [3, 2, 1])]).plot().figure_


def page(**changes) -> Page:
    content = {
        "name": "study",
        "title": "A study",
        "summary": "First.\n\nSecond.",
        "tables": [
            Table(
                "results", "Results", ["method", "error", "rows"],
                [["ours", 0.031234567, np.int64(7)], ["theirs", float("nan"), None], ["x", np.float32(2), 3]],
                note="A note.", formats={"error": ".3f"},
            )
        ],
        "figures": [Figure("heat", "Heat", heat_map, "A caption."), Figure("curves", "Curves", curves)],
        "remarks": [Remark("M1", "Something is wrong."), Remark("warning", "Careful.")],
        "settings": {"lam": 1e-3, "flag": True, "grid": [0.1, 1.0]},
        "data": [{"name": "digits", "rows": 1797, "fingerprint": "abc"}],
        "command": "pegasos study --lam '<b>'",
        "seconds": 1.25,
        "date": "2024-01-02 03:04:05 UTC",
    }  # fmt: skip
    return Page(**{**content, **changes})


class Elements(HTMLParser):
    """The tags of a page with their attributes, and all ids."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.feed(text)
        self.ids = [attributes["id"] for _, attributes in self.tags if "id" in attributes]

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def named(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_a_page_needs_nothing_else():
    text = report.render(page())
    assert not re.search(r"https?://|//[a-z]+\.[a-z]", text.replace("// ", ""))
    elements = Elements(text)
    for tag, attributes in elements.tags:
        for name in ("src", "href", "xlink:href", "action"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    assert "@import" not in text
    (policy,) = [meta["content"] for meta in elements.named("meta") if "http-equiv" in meta]
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_a_page_has_all_its_parts():
    text = report.render(page())
    for part in ("A study", "Second.", "Something is wrong.", "A caption.", "A note.", "1797", "abc", "1.25 seconds"):
        assert part in text
    for name in ("python", "numpy", "scipy", "scikit-learn", "numba", "pegasos", "platform", "CPUs"):
        assert f'<th scope="row">{name}</th>' in text
    elements = Elements(text)
    assert {"study", "heat", "curves", "results", "data"} <= set(elements.ids)
    assert len(elements.named("h1")) == 1
    assert all(svg["aria-label"] for svg in elements.named("svg"))


def test_hostile_text_stays_text_wherever_it_is():
    hostile = page(
        title=HOSTILE, summary=HOSTILE, command=HOSTILE, settings={HOSTILE: HOSTILE}, date=HOSTILE,
        remarks=[Remark(HOSTILE, HOSTILE)], data=[{HOSTILE: HOSTILE}], versions={HOSTILE: HOSTILE},
        tables=[Table("t" + HOSTILE, HOSTILE, [HOSTILE], [[HOSTILE]], note=HOSTILE)],
        figures=[Figure("f" + HOSTILE, HOSTILE, heat_map, HOSTILE, alt=HOSTILE)],
    )  # fmt: skip
    text = report.render([hostile, page(name=HOSTILE, figures=[])], title=HOSTILE)
    elements = Elements(text)
    assert len(elements.named("script")) == 1
    assert not elements.named("img")
    assert not [attributes for _, attributes in elements.tags if any(name.startswith("on") for name in attributes)]
    assert "alert" not in "".join(elements.ids).replace("alert-x", "").replace("alert-1", "")


def test_the_same_page_is_rendered_the_same():
    here = report.render(page())
    assert report.render(page()) == here
    code = "import sys, test_report as t; sys.stdout.buffer.write(t.report.render(t.page()).encode())"
    elsewhere = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "1"},
    )  # fmt: skip
    assert elsewhere.stdout.decode() == here


def test_the_date_can_be_fixed_from_outside(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert "1970-01-01 00:00:00 UTC" in report.render(page(date="", figures=[]))


def test_several_pages_have_contents_and_ids_of_their_own():
    text = report.render([page(), page()])
    elements = Elements(text)
    assert len(elements.ids) == len(set(elements.ids))
    links = [link["href"][1:] for link in elements.named("a")]
    assert set(links) <= set(elements.ids)
    assert len(elements.named("nav")) == 1
    assert len(elements.named("h1")) == 1


def test_no_pages_are_refused():
    with pytest.raises(ValueError, match="There is no page to render."):
        report.render([])


def test_figures_take_the_colours_of_the_page():
    svg = report.svg_of(heat_map(), "heat", title="Heat")
    assert "currentColor" in svg
    assert "#000000" not in svg
    assert "xmlns" not in svg
    assert "var(--series-1, #0072b2)" in report.svg_of(curves(), "curves")


def test_figures_have_hints_and_no_ids_that_clash():
    one, two = report.svg_of(curves(), "one"), report.svg_of(curves(), "two")
    first, second = Elements(one), Elements(two)
    assert not set(first.ids) & set(second.ids)
    found = [attributes["data-hint"] for _, attributes in first.tags if "data-hint" in attributes]
    assert found == ["a: 3 at step 1", "a: 2 at step 10", "a: 1 at step 100"]
    used = [use["href"][1:] for use in first.named("use")]
    assert used
    assert set(used) <= set(first.ids)


@pytest.mark.filterwarnings("error")
def test_names_of_any_characters_are_drawn():
    odd = ["a\x00\x0b", "数字", "\U0001f600", "]]>", "$x$", "&lt;"]
    svg = report.svg_of(BarsDisplay(odd, range(6)).plot().figure_, "bars")
    hints = [attributes["data-hint"] for _, attributes in Elements(svg).tags if "data-hint" in attributes]
    assert hints[0].startswith("a\N{REPLACEMENT CHARACTER}")
    assert [hint.split(": ")[0] for hint in hints[1:]] == odd[1:]


def test_what_is_no_text_does_not_keep_a_page_from_being_written(tmp_path):
    report.write_html(page(command="pegasos \udcff", figures=[]), tmp_path / "report.html")


def test_a_figure_that_cannot_be_drawn_is_named():
    broken = Figure("broken", "Broken", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        report.render(page(figures=[broken]))
    assert "while drawing the figure 'broken'" in caught.value.__notes__


def test_a_page_as_values_is_json_without_what_json_lacks():
    odd = page(settings={"a": np.float64("inf"), "b": np.arange(2), "c": np.bool_(True), "d": object, 5: (1, np.nan)})
    values = json.loads(json.dumps(report.to_dict(odd), allow_nan=False))
    assert values["tables"][0]["rows"] == [["ours", 0.031234567, 7], ["theirs", None, None], ["x", 2.0, 3]]
    assert values["settings"] == {"a": None, "b": [0, 1], "c": True, "d": str(object), "5": [1, None]}
    assert values["figures"][0] == {"name": "heat", "title": "Heat", "caption": "A caption."}
    assert values["seconds"] == 1.25


def test_cells_are_formatted():
    assert report.formatted(page().tables[0]) == [["ours", "0.031", "7"], ["theirs", "–", "–"], ["x", "2.000", "3"]]
    values = [1 / 3, 123456.7, 1e-7, 1e9, float("inf"), True, np.int32(5), "word", [1, 0.5], None, 0.0]
    texts = ["0.3333", "123457", "1e-07", "1e+09", "∞", "yes", "5", "word", "1, 0.5", "–", "0"]
    assert report.formatted(Table("t", "T", ["c"], [[value] for value in values])) == [[text] for text in texts]


def test_tables_that_are_no_tables_are_refused():
    with pytest.raises(ValueError, match="The table 't' has 2 columns, but a row of 1 cells"):
        report.formatted(Table("t", "T", ["a", "b"], [[1]]))
    with pytest.raises(ValueError, match="The format '.3q' does not suit the number 1.0"):
        report.formatted(Table("t", "T", ["a"], [[1.0]], formats={"a": ".3q"}))


def test_figures_and_tables_are_written_as_files(tmp_path):
    folder = tmp_path / "new" / "folder"
    figures = report.figures_to(page(), folder, ("png", "svg"))
    assert [path.name for path in figures] == ["heat.png", "heat.svg", "curves.png", "curves.svg"]
    assert figures[0].read_bytes().startswith(b"\x89PNG")
    (table,) = report.tables_to(page(), folder)
    with open(table, newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["method", "error", "rows"], ["ours", "0.031234567", "7"], ["theirs", "", ""], ["x", "2.0", "3"]]
    assert len(list(folder.iterdir())) == 5


def test_names_that_are_no_file_names_are_refused(tmp_path):
    outside = page(figures=[Figure("../evil", "Evil", heat_map)])
    with pytest.raises(ValueError, match="The name of a figure may have letters, digits, hyphens"):
        report.figures_to(outside, tmp_path)
    with pytest.raises(ValueError, match="Several tables have the name 'results'"):
        report.tables_to(page(tables=page().tables * 2), tmp_path)
    with pytest.raises(ValueError, match="Figures are written as png, svg, pdf, not as 'bmp'."):
        report.figures_to(page(), tmp_path, ["bmp"])


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "report.html"
    bare = page(figures=[])
    report.write_html(bare, path)
    before = path.read_text(encoding="utf-8")
    assert before == report.render(bare)
    with pytest.raises(ZeroDivisionError):
        report.write_html(page(figures=[Figure("broken", "Broken", lambda: 1 / 0)]), path)
    assert path.read_text(encoding="utf-8") == before
    with pytest.raises(FileNotFoundError, match="does not exist"):
        report.write_html(page(), tmp_path / "nowhere" / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_without_its_packages_a_report_says_how_to_get_them(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    sentence = re.escape("reports need matplotlib and jinja2: pip install 'pegasos[report]'")
    with pytest.raises(report.MissingExtra, match=sentence):
        report.check_available()
    with pytest.raises(ImportError, match=sentence):
        report.render(page())


def test_plain_matplotlib_figures_have_hints_by_their_display_only():
    figure = BarsDisplay(["a"], [1]).plot().figure_
    figure.axes[0].text(0, 0, "plain")
    assert report.svg_of(figure, "bars").count("data-hint") == 1
