"""Searches as heat maps and paths: the cells of `cv_results_`, the other parameters held."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pegasos import PegasosSearchCV, plotting
from textbook import pegasos_classifier

pytest.importorskip("matplotlib", reason="figures need matplotlib")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def searched(digits):
    X, y = digits
    grid = {"lam": [1e-4, 1e-2], "max_steps": [50, 500, 2000], "kernel": ["linear", "rbf"]}
    return PegasosSearchCV(pegasos_classifier(random_state=0), grid, cv=3).fit(X[:400], y[:400])


def score_of(search, **wanted) -> float:
    results = search.cv_results_
    (place,) = [n for n, params in enumerate(results["params"]) if wanted.items() <= params.items()]
    return results["mean_test_score"][place]


def test_a_search_is_drawn_with_other_parameters_at_the_best(searched):
    display = plotting.SearchHeatmapDisplay.from_estimator(searched)
    kernel = searched.best_params_["kernel"]
    assert display.fixed_ == {"kernel": kernel}
    for row, steps in enumerate((50, 500, 2000)):
        for column, lam in enumerate((1e-4, 1e-2)):
            expected = 1 - score_of(searched, lam=lam, max_steps=steps, kernel=kernel)
            assert display.values[row, column] == pytest.approx(expected)
    assert 1 - searched.best_score_ == pytest.approx(display.values.min())
    assert display.value_name == "test error"


def test_a_search_is_drawn_at_the_values_asked_for(searched):
    display = plotting.SearchHeatmapDisplay.from_estimator(
        searched, x="max_steps", y="kernel", at={"lam": 1e-2}, error=False
    )
    assert display.values[1, 2] == score_of(searched, lam=1e-2, max_steps=2000, kernel="rbf")
    assert display.better == "high"
    assert display.row_labels == ["linear", "rbf"]


def test_a_search_over_pipelines_and_several_grids_is_drawn(digits):
    X, y = digits
    chain = make_pipeline(StandardScaler(), pegasos_classifier(random_state=0, max_iter=1))
    names = {"pegasosclassifier__lam": [1e-3, 1e-1], "pegasosclassifier__average": [False, "uniform"]}
    grids = [names, {**names, "pegasosclassifier__max_steps": [100]}]
    search = GridSearchCV(chain, grids, cv=2).fit(X[:200], y[:200])
    display = plotting.SearchHeatmapDisplay.from_estimator(search, x="lam", y="average", at={"max_steps": 100})
    expected = search.cv_results_["mean_test_score"][4:].reshape(2, 2)
    np.testing.assert_allclose(1 - display.values, expected)
    assert display.column_name == "lam"


def test_a_parameter_that_a_search_does_not_have_is_named(searched):
    draw = plotting.SearchHeatmapDisplay.from_estimator
    with pytest.raises(ValueError, match="no parameter 'gamma' to draw: it has only kernel, lam, max_steps."):
        draw(searched, y="gamma")
    with pytest.raises(ValueError, match="cv_results_ has no 'mean_train_score'; it has: mean_fit_time"):
        draw(searched, value="mean_train_score")
    with pytest.raises(ValueError, match="at asks for kernel='poly', but cv_results_ has only 'linear', 'rbf'."):
        draw(searched, at={"kernel": "poly"})
    with pytest.raises(ValueError, match="at fixes 'lam', which is an axis of this figure."):
        draw(searched, at={"lam": 1e-4})
    with pytest.raises(ValueError, match="x and y are both 'lam'"):
        draw(searched, y="lam")


def test_scores_that_are_no_shares_have_no_error(searched):
    negative = copy.copy(searched)
    negative.cv_results_ = {**searched.cv_results_, "mean_test_score": np.full(12, -3.0)}
    with pytest.raises(ValueError, match="values outside 0 to 1; give error=False"):
        plotting.SearchHeatmapDisplay.from_estimator(negative)


def test_paths_of_a_search_have_a_curve_for_each_value(searched):
    display = plotting.PathsDisplay.from_estimator(searched, x="max_steps", by="kernel", at={"lam": 1e-2}, error=False)
    (lines,) = display.lines_
    assert [line.get_label() for line in lines] == ["kernel linear", "kernel rbf"]
    assert lines[0].get_ydata().tolist() == [
        score_of(searched, lam=1e-2, max_steps=steps, kernel="linear") for steps in (50, 500, 2000)
    ]
    with pytest.raises(ValueError, match="The values of kernel are not all numbers"):
        plotting.PathsDisplay.from_estimator(searched, x="kernel")
