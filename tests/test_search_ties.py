"""Ties between classes: a search breaks them as a fit and `predict` do, however the scores were summed up."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from pegasos import PegasosSearchCV
from pegasos.problem.columns import with_ties
from textbook import pegasos_classifier

LAMS = {"lam": [1e-3, 1e-1, 1.0, 10.0]}
THIRDS = KFold(3)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("average", [False, "weighted"])
def test_cells_of_crammer_singer_are_those_of_grid_search_where_classes_tie(kernel, seed, average):
    """Few different rows and labels at random: many rows have the same scores in two classes, but for rounding."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-1, 2, (120, 3)).astype(float), rng.integers(0, 5, 120)
    model = pegasos_classifier(
        kernel=kernel, gamma=0.5, multi_class="crammer_singer", solver="sdca", average=average, sampling="cyclic",
        max_iter=1 + seed % 4,
    )  # fmt: skip
    found, expected = (
        search(model, LAMS, cv=THIRDS, refit=False).fit(X, y).cv_results_ for search in (PegasosSearchCV, GridSearchCV)
    )
    for split in range(3):
        name = f"split{split}_test_score"
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_that_differ_by_rounding_are_the_largest_all_of_them(dtype):
    eps = np.finfo(dtype).eps
    scores = np.array([[1, 1 + 9 * eps, 0.9], [-1, -2, -1 - 5 * eps], [0, 0, 0], [1e-9, 2e-9, -3e-9]], dtype)
    before = scores.copy()
    assert with_ties(scores).argmax(axis=1).tolist() == [0, 0, 0, 1]
    np.testing.assert_array_equal(scores, before)
    assert with_ties(scores[:0]).shape == (0, 3)
