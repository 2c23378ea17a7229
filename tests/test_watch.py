"""`pegasos watch`: its models are those of the solvers, its page needs nothing else, and its slider shows each step."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

from cli_runner import quick
from pegasos import PegasosClassifier, textbook
from pegasos.datasets import load
from pegasos.report.watch import watch_page
from pegasos.studies import boundary

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LAM, GAMMA, T = 0.02, 1.0, 400


@pytest.fixture(scope="module")
def plane():
    return boundary.toy("moons", 0)


@pytest.fixture(scope="module")
def frames(plane):
    return boundary.frames_of(plane, "rbf", GAMMA, LAM, T, 0)


def scores(plane, frame, gamma=GAMMA):
    K = np.exp(-gamma * ((plane.X[:, None] - plane.X) ** 2).sum(axis=2))
    return K @ np.array(frame["a"]) + frame["b"]


def test_each_frame_is_the_model_after_its_steps(plane, frames):
    assert frames["steps"][0] == 1
    assert frames["steps"][-1] == T
    assert [panel["name"] for panel in frames["panels"]] == [*boundary.VARIANTS, "SMO"]
    for at in (0, 20, -1):
        model = PegasosClassifier(
            kernel="rbf", gamma=GAMMA, lam=LAM, solver="pegasos", sampling="replacement", average=False,
            fit_intercept=True, random_state=0, max_steps=frames["steps"][at],
        ).fit(plane.X, plane.y)  # fmt: skip
        frame = frames["panels"][0]["frames"][at]
        np.testing.assert_allclose(scores(plane, frame), model.decision_function(plane.X), rtol=1e-3, atol=1e-3)
        assert frame["support"] == len(model.support_)
        assert sum(frame["counts"]) == model.violations_.sum()


def test_objectives_bounds_and_gaps_are_certificates(plane, frames):
    for panel in frames["panels"]:
        for frame in panel["frames"]:
            assert frame["objective"] - frame["dual"] == pytest.approx(frame["gap"])
            assert frame["gap"] >= -1e-9
        if panel["name"] != "SMO":
            assert all(frame["dual"] <= frames["optimum"] + 1e-9 for frame in panel["frames"])
    assert frames["panels"][-1]["frames"][-1]["gap"] < 1e-4, "SMO has converged"
    mean = [frame["objective"] - frames["optimum"] for frame in frames["panels"][2]["frames"]]
    assert (np.array(mean) <= frames["bound"]).all()


def test_smo_is_the_textbooks(plane, frames):
    K = np.exp(-GAMMA * ((plane.X[:, None] - plane.X) ** 2).sum(axis=2))
    whole = textbook.smo(K, plane.y, 1 / (LAM * len(plane.y)), tol=1e-4)
    np.testing.assert_allclose(
        scores(plane, frames["panels"][-1]["frames"][-1]), K @ (whole.alpha * plane.y) + whole.b, atol=1e-3
    )


def test_data_of_many_features_are_seen_in_two_components():
    plane = boundary.plane_of(load("iris"), ("1", "2"), 0)
    assert plane.X.shape == (100, 2)
    assert "two principal components of 4 features" in plane.note
    with pytest.raises(ValueError, match="iris has no class '7'; it has 0, 1, 2"):
        boundary.plane_of(load("iris"), ("1", "7"), 0)


def test_the_page_holds_all_it_needs(frames):
    page = watch_page({**frames, "note": "a </script> name"}, "pegasos watch <x>")
    assert "a &lt;/script&gt; name" in page
    assert "&lt;x&gt;" in page
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)
    held = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(held)["note"] == "a </script> name"
    assert "@" not in re.sub(r"<script.*?</script>|<style>.*?</style>", "", page, flags=re.DOTALL)


def test_the_command_writes_a_page_and_says_where(tmp_path):
    result = quick("watch", "blobs", "--kernel", "linear", "--max-steps", "50", "-o", "w.html", cwd=tmp_path)
    assert result.status == 0
    assert len(result.lines) == 5
    assert "SMO: " in result.out
    assert "w.html" in result.err
    assert (tmp_path / "w.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["moons", "--classes", "0,1"], "--classes does not go with moons"),
        (["iris", "--classes", "0"], "two different classes are needed"),
        (["moons", "--gamma", "-1"], "a positive number is needed"),
        (["moons", "--gamma", "1", "--width", "1"], "Give --width or --gamma, not both"),
        (["moons", "--kernel", "poly"], "--kernel 'poly' is not known here"),
        (["moons", "--lam", "0"], "it must be positive"),
        (["moons", "--max-steps", "1"], "a number from 10"),
        (["nowhere"], "neither a file nor a known data set"),
    ],
)
def test_what_it_cannot_show_is_said_in_a_sentence(words, sentence, tmp_path):
    result = quick("watch", *words, "-o", "w.html", cwd=tmp_path)
    assert result.status == 2
    assert sentence in result.err
    assert not (tmp_path / "w.html").exists()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome is on PATH")
def test_the_slider_shows_each_step_in_a_browser(frames, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")
    path = tmp_path / "watch.html"
    path.write_text(watch_page(frames), encoding="utf-8")
    troubles: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for width in (360, 1200):
            tab = browser.new_context(viewport={"width": width, "height": 800}).new_page()
            tab.on("console", lambda message: troubles.append(message.text))
            tab.on("pageerror", lambda error: troubles.append(str(error)))
            tab.on("request", lambda request: troubles.append(request.url) if "watch.html" not in request.url else None)
            tab.goto(path.as_uri())
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            assert tab.locator("canvas").count() == 5
        slider, step = tab.locator("#slider"), tab.locator("#step")
        first = tab.locator("#values tbody tr").first
        seen = []
        for key in ("Home", "End"):
            slider.focus()
            tab.keyboard.press(key)
            picture = tab.evaluate("document.querySelector('canvas').toDataURL()")
            seen.append((step.inner_text(), first.locator("td").all_inner_texts(), picture))
        frame = frames["panels"][0]["frames"][-1]
        assert seen[0][0] == "after 1 step"
        assert seen[1][0] == f"after {T} steps"
        assert seen[1][1][:2] == ["Pegasos", str(frame["support"])]
        assert seen[1][1][3] == f"{frame['objective']:.4f}"
        assert seen[0][2] != seen[1][2], "the picture changes"
        tab.locator("#play").click()  # from the end: begins anew, and goes on by itself
        for _ in range(100):
            tab.wait_for_timeout(50)
            if int(slider.input_value()) > 2:
                break
        tab.locator("#play").click()
        assert tab.locator("#play").inner_text() == "Play"
        browser.close()
    assert troubles == []
