"""Displays draw the numbers they are given, say what is wrong in sentences, and leave matplotlib's state alone."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pegasos import PegasosSearchCV
from textbook import pegasos_classifier

matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib")

from pegasos import plotting  # noqa: E402
from pegasos.plotting import Curve, Panel, hover, style  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def fitted(digits):
    X, y = digits
    return pegasos_classifier(lam=1e-3, tol=1e-3, max_iter=16, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def searched(digits):
    X, y = digits
    grid = {"lam": [1e-4, 1e-2]}
    return PegasosSearchCV(pegasos_classifier(random_state=0, max_iter=2), grid, cv=2).fit(X[:200], y[:200])


def hints(display) -> list[str]:
    return list(hover.hints_of(display.figure_).values())


def test_convergence_draws_the_history_with_the_gap_below_it(fitted):
    display = plotting.ConvergenceDisplay.from_estimator(fitted, name="digits")
    line = display.lines_[0]
    assert line.get_xdata().tolist() == [record["step"] for record in fitted.history_]
    assert line.get_ydata().tolist() == [record["objective"] for record in fitted.history_]
    assert display.ax_.get_xscale() == "log"
    lowest = display.ax_.collections[0].get_paths()[0].vertices[:, 1].min()
    expected = min(max(record["objective"] - record["gap"], 0) for record in fitted.history_)
    assert lowest == pytest.approx(expected)
    assert any(text.startswith("digits: ") and "between" in text for text in hints(display))


def test_convergence_draws_the_gap_alone_and_a_bound(fitted):
    display = plotting.ConvergenceDisplay.from_estimator(fitted, show="gap", bound=lambda steps: 100 / steps)
    assert display.lines_[0].get_ydata().tolist() == [record["gap"] for record in fitted.history_]
    steps, values = display.lines_[1].get_data()
    np.testing.assert_allclose(values, 100 / np.asarray(steps))
    assert display.ax_.get_yscale() == "log"


def test_convergence_of_many_curves_thins_its_hints():
    steps = np.arange(1, 5001)
    curves = [Curve(f"scheme {n}", steps, 1 / steps**0.5) for n in range(5)]
    display = plotting.ConvergenceDisplay(curves, bound=Curve("theorem", steps, 2 / steps), logy=True).plot()
    assert len(display.lines_) == 6
    assert len(display.lines_[0].get_xdata()) == 5000
    assert len(hints(display)) <= 6 * hover.MOST_POINTS
    assert len(display.ax_.get_legend().get_texts()) == 6


def test_convergence_of_a_single_record_is_a_point(digits):
    X, y = digits
    model = pegasos_classifier(lam=1e-2, max_iter=1, random_state=0).fit(X[:100], y[:100])
    display = plotting.ConvergenceDisplay.from_estimator(model)
    assert display.lines_[0].get_marker() not in (None, "None")


def test_convergence_finds_the_estimator_in_a_pipeline_and_a_search(searched, digits):
    X, y = digits
    chain = make_pipeline(StandardScaler(), pegasos_classifier(lam=1e-2, max_iter=1, random_state=0)).fit(X, y)
    for holder, model in ((chain, chain[-1]), (searched, searched.best_estimator_)):
        display = plotting.ConvergenceDisplay.from_estimator(holder)
        assert display.lines_[0].get_ydata()[-1] == model.history_[-1]["objective"]


def test_what_is_not_fitted_is_refused(digits):
    X, y = digits
    with pytest.raises(NotFittedError):
        plotting.ConvergenceDisplay.from_estimator(pegasos_classifier())
    with pytest.raises(NotFittedError):
        plotting.SearchHeatmapDisplay.from_estimator(PegasosSearchCV(pegasos_classifier(), {"lam": [1.0]}))
    with pytest.raises(NotFittedError):
        plotting.ConfusionDisplay.from_estimator(pegasos_classifier(), X, y)
    with pytest.raises(NotFittedError):
        plotting.MarginsDisplay.from_estimator(pegasos_classifier(), X, y)


def test_an_estimator_without_a_history_is_refused(digits):
    X, y = digits
    online = pegasos_classifier(lam=1e-3, random_state=0).partial_fit(X, y, classes=range(10))
    with pytest.raises(ValueError, match="PegasosClassifier has no history_, which this figure is drawn from."):
        plotting.ConvergenceDisplay.from_estimator(online)


def test_curves_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match="values of the curve 'a' has 2 entries, but its steps has 3."):
        Curve("a", [1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="style of the curve 'a' must be one of 'line', .*, not 'wavy'."):
        Curve("a", [1], [1], style="wavy")
    with pytest.raises(TypeError, match="pegasos.plotting.Curve"):
        plotting.RuntimesDisplay([[1, 2, 3]])


def test_heat_map_writes_each_value_and_outlines_the_best():
    values = [[0.3, 0.1], [0.2, np.nan]]
    display = plotting.HeatmapDisplay(values, ["a", "b"], [1e-4, 0.1], "row", "lam", "error").plot()
    assert [[text.get_text() for text in row] for row in display.texts_] == [["0.300", "0.100"], ["0.200", "–"]]
    assert display.best_ == [(0, 1)]
    assert display.column_labels == ["10⁻⁴", "10⁻¹"]
    assert hints(display)[1] == "row a, lam 10⁻¹: error 0.1"


def test_heat_map_by_column_has_a_best_of_each_and_shows_published_numbers():
    display = plotting.HeatmapDisplay(
        [[3, 1], [2, 5]], ["a", "b"], ["x", "y"], better="high", per_column=True, reference=[[3, 1], [2, 4.5]]
    ).plot()
    assert display.best_ == [(0, 0), (1, 1)]
    assert display.cells_[0][0].get_facecolor() == display.cells_[1][1].get_facecolor()
    assert hints(display)[3] == "b, y: value 5, published 4.5"


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_numbers_in_cells_contrast_with_their_cell(scale):
    values = np.linspace(0.001, 1, 40).reshape(5, 8)
    display = plotting.HeatmapDisplay(values, range(5), range(8), scale=scale).plot()
    for row in range(5):
        for column in range(8):
            behind = style._luminance(display.cells_[row][column].get_facecolor())
            ink = style._luminance(matplotlib.colors.to_rgb(display.texts_[row][column].get_color()))
            assert (max(behind, ink) + 0.05) / (min(behind, ink) + 0.05) >= 4.5


@pytest.mark.parametrize(
    "values", [np.full((2, 3), 0.5), np.full((2, 3), np.nan), np.array([[0, np.inf, 1], [2, 3, 4]])]
)
def test_heat_map_of_equal_missing_or_infinite_values_is_drawn(values):
    for per_column in (False, True):
        for scale in ("linear", "log"):
            display = plotting.HeatmapDisplay(values, range(2), range(3), per_column=per_column, scale=scale).plot()
            assert all(np.isfinite(cell.get_facecolor()).all() for row in display.cells_ for cell in row)


def test_heat_map_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"values has shape \(1, 2\), but there are 2 row labels and 2 column labels."):
        plotting.HeatmapDisplay([[1, 2]], ["a", "b"], ["x", "y"])
    with pytest.raises(ValueError, match="better must be one of 'low', 'high', not 'mean'."):
        plotting.HeatmapDisplay([[1]], ["a"], ["x"], better="mean")


def test_paths_in_two_panels_share_their_axis():
    lams = [1e-3, 1e-2, 1e-1]
    panels = [
        Panel("error", [Curve("test", lams, [3, 2, 1])]),
        Panel("objective", [Curve("P", lams, [1, 10, 100])], logy=True),
    ]
    display = plotting.PathsDisplay(panels).plot()
    assert len(display.axes_) == 2
    assert display.axes_[0].get_xlim() == display.axes_[1].get_xlim()
    assert [axes.get_ylabel() for axes in display.axes_] == ["error", "objective"]
    with pytest.raises(ValueError, match="ax has 1 entries, but panels has 2."):
        plotting.PathsDisplay(panels).plot(ax=display.axes_[0])


def test_confusion_counts_are_those_of_scikit_learn(fitted, digits):
    X, y = digits
    display = plotting.ConfusionDisplay.from_estimator(fitted, X, y)
    expected = confusion_matrix(y, fitted.predict(X))
    assert (display.matrix == expected).all()
    assert (
        hints(display)[0]
        == f"true 0, predicted 0: {expected[0, 0]} ({expected[0, 0] / expected[0].sum():.1%} of {expected[0].sum()})"
    )
    named = plotting.ConfusionDisplay.from_predictions(["a", "b"], ["b", "b"], labels=["b", "a"])
    assert named.matrix.tolist() == [[1, 0], [1, 0]]
    with pytest.raises(ValueError, match="y_true has 1 entries, but y_pred has 2."):
        plotting.ConfusionDisplay.from_predictions([1], [1, 2])


def test_margins_of_two_classes_are_y_times_the_score(binary):
    X, y = binary
    model = pegasos_classifier(lam=1e-2, random_state=0).fit(X, y)
    display = plotting.MarginsDisplay.from_estimator(model, X, y)
    margins = (2 * y - 1) * model.decision_function(X)
    np.testing.assert_allclose(display.margins, margins)
    assert sum(bar.get_height() for bar in display.bars_) == len(y)
    assert display.below_ == {0: (margins < 0).mean(), 1: (margins < 1).mean()}


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
def test_margins_of_many_classes_are_the_lead_over_the_best_other(multiclass, scheme):
    X, y = multiclass
    names = np.array(["ant", "bee", "cat", "dog"])[y]
    model = pegasos_classifier(lam=1e-2, multi_class=scheme, random_state=0).fit(X, names)
    margins = plotting.MarginsDisplay.from_estimator(model, X, names).margins
    scores = model.decision_function(X)
    expected = [row[own] - np.delete(row, own).max() for row, own in zip(scores, y)]
    np.testing.assert_allclose(margins, expected)
    assert ((margins > 0) == (model.predict(X) == names)).all()


def test_margins_of_labels_nobody_learned_are_refused(binary):
    X, y = binary
    model = pegasos_classifier(lam=1e-2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"y has labels that the classifier has not learned: \[7\]."):
        plotting.MarginsDisplay.from_estimator(model, X, np.full(len(y), 7))
    with pytest.raises(ValueError, match="DummyClassifier has no decision_function and classes_; margins need both."):
        plotting.MarginsDisplay.from_estimator(DummyClassifier().fit(X, y), X, y)


def test_runtimes_and_bars_draw_their_values():
    lines = plotting.RuntimesDisplay([Curve("ours", [10, 100], [0.1, 1.0])], "rows", "seconds").plot().lines_
    assert lines[0].get_ydata().tolist() == [0.1, 1.0]
    display = plotting.BarsDisplay(["one", "a long name"], [1.5, 3], value_name="seconds", errors=[0.1, 0.2]).plot()
    assert [bar.get_width() for bar in display.bars_] == [1.5, 3]
    assert hints(display)[0] == "one: seconds 1.5 ± 0.1"
    with pytest.raises(ValueError, match="values has 1 entries, but labels has 2."):
        plotting.BarsDisplay(["a", "b"], [1])


def test_class_counts_are_counts():
    display = plotting.ClassCountsDisplay.from_labels(["b", "a", "b"])
    assert display.labels == ["a", "b"]
    assert [bar.get_height() for bar in display.bars_] == [1, 2]


def test_sample_images_are_rows_of_the_data(digits):
    X, y = digits
    display = plotting.SampleImagesDisplay.from_data(X, y, (8, 8), per_class=2)
    assert display.labels == [str(label) for label in [*range(10), *range(10)]]
    np.testing.assert_array_equal(display.images[3].ravel(), X[np.flatnonzero(y == 3)[0]])
    assert len(display.ax_.images) == 20
    with pytest.raises(ValueError, match=r"image_shape \(7, 8\) does not hold the 64 features of X."):
        plotting.SampleImagesDisplay.from_data(X, y, (7, 8))


def test_embedding_draws_each_class_as_one_shape(digits):
    X, y = digits
    display = plotting.EmbeddingDisplay.from_data(X, y, max_rows=60)
    assert display.points.shape == (60, 2)
    assert len(display.ax_.patches) == len(np.unique(display.y))
    centres = display.ax_.patches[0].get_path().vertices
    own = display.points[display.y == np.unique(display.y)[0]]
    assert len(centres) % len(own) == 0
    with pytest.raises(ValueError, match=r"points has shape \(3,\), not \(n_samples, 2\)."):
        plotting.EmbeddingDisplay([1, 2, 3], [0, 0, 1])
    with pytest.raises(ValueError, match="An embedding needs at least 4 rows, but X has 2."):
        plotting.EmbeddingDisplay.from_data(X[:2], y[:2])


def test_displays_draw_on_axes_they_are_given():
    figure = matplotlib.figure.Figure()
    axes = figure.add_subplot()
    display = plotting.BarsDisplay(["a"], [1]).plot(ax=axes)
    assert display.ax_ is axes
    assert display.figure_ is figure


def test_drawing_leaves_the_users_settings_alone():
    with matplotlib.rc_context({"axes.facecolor": "black", "text.color": "red"}):
        display = plotting.HeatmapDisplay([[1.0]], ["a"], ["x"]).plot()
        assert matplotlib.rcParams["axes.facecolor"] == "black"
        assert display.ax_.title.get_color() == style.INK


def test_a_notebook_shows_a_display():
    assert plotting.BarsDisplay(["a"], [1])._repr_png_() is None
    assert plotting.BarsDisplay(["a"], [1]).plot()._repr_png_().startswith(b"\x89PNG")


def test_importing_plotting_does_not_import_matplotlib_and_drawing_not_pyplot():
    code = (
        "import sys; from pegasos import plotting; assert 'matplotlib' not in sys.modules;"
        "plotting.BarsDisplay(['a'], [1]).plot()._repr_png_(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(plotting.MissingExtra, match=r"pip install 'pegasos\[report\]'"):
        plotting.BarsDisplay(["a"], [1]).plot()


def test_large_matrices_are_pictures_with_some_names():
    many = [f"a class with quite a long name and number {n}" for n in range(120)]
    for display in (
        plotting.HeatmapDisplay(np.arange(14400.0).reshape(120, 120), many, many),
        plotting.ConfusionDisplay(np.eye(120, dtype=int), many),
    ):
        display.plot()
        assert len(display.ax_.images) == 1
        assert len(hints(display)) == 0
        assert len(display.ax_.get_yticklabels()) <= style.MOST_TICKS
        assert all(len(label.get_text()) <= 32 for label in display.ax_.get_yticklabels())


def test_names_with_dollars_are_no_mathematics():
    names = [r"$\bad$", "$5", "a_b^c"]
    for display in (
        plotting.BarsDisplay(names, [1, 2, 3]),
        plotting.HeatmapDisplay(np.eye(3), names, names, names[0], names[0], names[0]),
        plotting.ConfusionDisplay(np.eye(3, dtype=int), names),
        plotting.ConvergenceDisplay([Curve(name, [1, 2], [1, 2]) for name in names], ylabel=names[0]),
        plotting.EmbeddingDisplay(np.eye(3)[:, :2], names),
    ):
        assert display.plot()._repr_png_()


def test_heat_map_writes_published_numbers_below_ours_and_has_a_colour_bar():
    display = plotting.HeatmapDisplay(
        [[0.1, 0.2], [0.3, 0.4]], ["a", "b"], ["x", "y"], value_name="error", reference=[[0.15, np.nan], [0.3, 0.4]],
        title="Error, Gaussian of width 2", limits=(0, 1),
    ).plot()  # fmt: skip
    written = [text.get_text() for text in display.ax_.texts]
    assert {"0.100", "(0.150)", "0.200", "(0.400)"} <= set(written)
    assert "(nan)" not in written
    assert display.ax_.get_title(loc="left").replace("\n", " ") == (
        "Error, Gaussian of width 2 (best outlined, published in brackets)"
    )
    bar = display.figure_.axes[1]
    assert bar.get_ylim() == (0, 1)
    lone = plotting.HeatmapDisplay([[0.0, 1.0]], ["a"], ["x", "y"]).plot()
    assert display.cells_[0][0].get_facecolor() != lone.cells_[0][0].get_facecolor(), "another scale"


def test_heat_maps_on_given_axes_have_no_colour_bar():
    figure = style.new_figure((4, 3))
    plotting.HeatmapDisplay([[0.0, 1.0]], ["a"], ["x", "y"]).plot(ax=figure.add_subplot())
    assert len(figure.axes) == 1


def test_neighbours_that_tie_for_the_best_share_one_outline():
    display = plotting.HeatmapDisplay([[1, 1, 2], [1, 3, 1]], ["a", "b"], ["x", "y", "z"]).plot()
    assert len(display.best_) == 4
    (outline,) = [each for each in display.ax_.collections if len(each.get_segments()) > 2]
    assert len(outline.get_segments()) == 8 + 4, "around three neighbours, and around the one by itself"


def test_auto_format_has_as_many_decimals_as_tell_numbers_apart():
    for values, shown in (
        ([[0.1, 0.2]], "0.100"),
        ([[0.10001, 0.2, 0.1002]], "0.1000"),
        ([[0.123456, 0.123457]], "0.12346"),
    ):
        display = plotting.HeatmapDisplay(values, ["a"], range(len(values[0])), fmt="auto").plot()
        assert display.texts_[0][0].get_text() == shown


def test_points_show_differences_and_published_values_beside_them():
    display = plotting.BarsDisplay(
        ["a", "b", "c", "far off"], [0.95, 0.96, 0.97, 0.2], value_name="accuracy", points=True,
        reference=[0.94, None, None, 0.99], fmt=".2f", title="Accuracy, digits",
    ).plot()  # fmt: skip
    low, _ = display.ax_.get_xlim()
    assert low > 0.5, "one value far off does not hide the differences of the others"
    assert [point.get_marker() for point in display.bars_] == ["o", "o", "o", "<"]
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["0.95 (published 0.94)", "0.96", "0.97", "0.20 (published 0.99)"]
    assert hints(display)[0] == "a: accuracy 0.95, published 0.94"
    assert display.ax_.get_title(loc="left") == "Accuracy, digits"


def test_long_labels_of_a_few_bars_are_written_in_full():
    name = "scikit-learn: 45 SGDClassifier, 5 passes, pixels in [0, 1]"
    display = plotting.BarsDisplay([name, "b"], [1, 2]).plot()
    assert display.ax_.get_yticklabels()[0].get_text().replace("\n", " ") == name


def test_panels_of_the_same_curves_have_one_legend():
    curves = lambda factor: [Curve(f"{n}", [1, 10], [factor, factor * n]) for n in (1, 2)]
    display = plotting.PathsDisplay(
        [Panel("ours", curves(1)), Panel("theirs", curves(2), limits=(0, 9))], title="Seconds"
    )
    display.plot()
    assert [axes.get_legend() is not None for axes in display.axes_] == [True, False]
    assert display.axes_[1].get_ylim() == (0, 9)
    assert display.axes_[0].get_title(loc="left") == "Seconds"
