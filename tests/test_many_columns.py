"""Many classes: what they say of rows is kept by class code, and columns are trained in parts that fit into memory."""

import tracemalloc
import warnings
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import pegasos.svm
from pegasos import PegasosClassifier, PegasosRegressor
from pegasos.problem import columns as problem
from pegasos.solver import parts
from pegasos.solver.solve import solve as real

N, CLASSES = 240, 8
RNG = np.random.default_rng(0)
Y = RNG.integers(CLASSES, size=N)
X = RNG.normal(size=(N, 4)) + RNG.normal(size=(CLASSES, 4))[Y] * 2
WEIGHTS = np.where(np.arange(N) % 7 == 3, 0.0, RNG.uniform(0.5, 2.0, N))
EXACT = {"solver": "pegasos", "max_iter": 3, "random_state": 0, "lam": 0.01}
SETTINGS = {
    "auto": {},
    "shuffle": EXACT,
    "average": EXACT | {"average": "suffix", "sampling": "replacement"},
    "sdca": {"solver": "sdca", "max_iter": 5, "random_state": 0, "lam": 0.01},
    "kernel": {"kernel": "rbf", "gamma": 0.3},
    "kernel pegasos": EXACT | {"kernel": "rbf", "gamma": 0.3},
    "landmarks": {"kernel": "rbf", "gamma": 0.3, "n_landmarks": 20, "random_state": 0},
    "log loss": {"loss": "log_loss", "solver": "newton"},
    "descent": {"solver": "dcd", "random_state": 0},
}


def written(codes, n_classes, weights, scheme):
    """The textbook's labelings, row sets and weights of each column, as matrices."""
    columns = range(n_classes) if scheme == "ovr" else list(combinations(range(n_classes), 2))
    y, inside = [], []
    for column in columns:
        later = column if scheme == "ovr" else column[1]
        y.append(np.where(codes == later, 1, -1))
        inside.append((weights > 0) & (np.ones(len(codes), bool) if scheme == "ovr" else np.isin(codes, column)))
    return np.array(y).T, np.array(inside).T


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_what_is_kept_by_code_is_the_matrix_it_stands_for(scheme):
    make = {"ovr": problem.one_vs_rest, "ovo": problem.one_vs_one}[scheme]
    found = make(Y, CLASSES, WEIGHTS).with_C(2.0)
    y, inside = written(Y, CLASSES, WEIGHTS, scheme)
    labelings, row_sets = np.asarray(found.labelings), np.asarray(found.row_sets)
    assert_array_equal(labelings[:, found.columns[:, 0]][inside], y[inside])
    assert_array_equal(row_sets[:, found.columns[:, 1]], inside)
    assert_array_equal(found.n_rows, inside.sum(axis=0))
    assert_allclose(found.total_weights, (inside * WEIGHTS[:, None]).sum(axis=0))
    some = np.array([5, 1, 6])
    part = found.written(some)
    assert_array_equal(part.labelings[:, part.columns[:, 0]][inside[:, some]], y[:, some][inside[:, some]])
    assert_array_equal(part.row_sets[:, part.columns[:, 1]], inside[:, some])
    assert max(part.labelings.shape[1], part.row_sets.shape[1]) <= 3
    assert_array_equal(part.lam, found.lam[some])


def test_weights_of_each_pair_leave_rows_out_of_that_pair_alone():
    _, inside = written(Y, CLASSES, np.ones(N), "ovo")
    weights = np.where(inside, RNG.uniform(0.5, 2.0, inside.shape), 0.0)
    weights[::5, 3] = 0.0
    found = problem.one_vs_one(Y, CLASSES, weights).with_C(1.0)
    assert_array_equal(np.asarray(found.row_sets), weights > 0)
    assert_array_equal(found.n_rows, (weights > 0).sum(axis=0))
    assert_allclose(found.total_weights, weights.sum(axis=0))
    part = found.written(np.array([3, 9]))
    assert_array_equal(part.row_sets, weights[:, [3, 9]] > 0)
    assert_array_equal(part.weights, weights[:, [3, 9]])


def test_balanced_weights_of_pairs_are_those_of_a_matrix():
    found = problem.balanced(problem.one_vs_one(Y, CLASSES, WEIGHTS), Y).with_C(1.0)
    _, inside = written(Y, CLASSES, WEIGHTS, "ovo")
    for number, (first, second) in enumerate(combinations(range(CLASSES), 2)):
        own = inside[:, number]
        expected = np.where(own, WEIGHTS, 0.0)
        for code in (first, second):
            of_class = code == Y
            expected[of_class] *= WEIGHTS[own].sum() / (2 * WEIGHTS[own & of_class].sum())
        assert_allclose(found.weights[:, number], expected)
        assert_allclose(found.total_weights[number], expected.sum())
    matrix = np.asarray(found.weights)
    assert found.weight_range == pytest.approx((matrix[matrix > 0].min(), matrix.max()))


@pytest.mark.parametrize("given", [{}, {"multi_class": "ovo"}, {"multi_class": "ovo", "class_weight": "balanced"}])
@pytest.mark.parametrize("setting", SETTINGS)
def test_parts_change_nothing(monkeypatch, setting, given):
    def fitted():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return PegasosClassifier(**SETTINGS[setting], **given).fit(X, Y, WEIGHTS)

    whole = fitted()
    monkeypatch.setattr(parts, "columns_at_once", lambda rows, most: 3)
    cut = fitted()
    name = "dual_coef_" if hasattr(cut, "dual_coef_") else "coef_"
    assert_allclose(getattr(cut, name), getattr(whole, name), rtol=1e-9, atol=1e-9)
    assert_allclose(cut.objective_, whole.objective_, rtol=1e-9)
    assert_allclose(cut.dual_gap_, whole.dual_gap_, rtol=1e-6, atol=1e-9)
    assert_array_equal(cut.t_, whole.t_)
    assert cut.history_[-1]["objective"] == pytest.approx(whole.history_[-1]["objective"], rel=1e-9)


@pytest.mark.parametrize("params", [{}, EXACT, {"kernel": "rbf", "gamma": 0.3}])
def test_parts_of_targets_change_nothing(monkeypatch, params):
    targets = X @ RNG.normal(size=(4, 7)) + 0.1 * RNG.normal(size=(N, 7))
    whole = PegasosRegressor(**params).fit(X, targets, WEIGHTS)
    monkeypatch.setattr(parts, "columns_at_once", lambda rows, most: 3)
    cut = PegasosRegressor(**params).fit(X, targets, WEIGHTS)
    assert_allclose(cut.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)
    assert_array_equal(cut.t_, whole.t_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parts_that_time_ends_are_a_model_that_goes_on(monkeypatch):
    monkeypatch.setattr(parts, "columns_at_once", lambda rows, most: 2)
    model = PegasosClassifier(solver="pegasos", lam=1e-4, max_iter=10**7, max_time=0.4).fit(X, Y)
    assert len(model.t_) == CLASSES
    assert (model.t_ < 10**7 * N).all()
    assert np.isfinite(model.coef_).all()
    model.partial_fit(X, Y)
    assert (model.t_ >= N).all()


def test_parts_share_the_time_that_is_left(monkeypatch):
    seen = []
    monkeypatch.setattr(parts, "solve", lambda job, clock, **_: seen.append(clock) or real(job, clock=clock))
    monkeypatch.setattr(parts, "columns_at_once", lambda rows, most: 2)
    PegasosClassifier(max_time=1000.0).fit(X, Y)
    assert [clock.max_time for clock in seen] == pytest.approx([1000 / left for left in (4, 3, 2, 1)], rel=0.2)


def test_a_pair_lacks_no_class_whose_rows_weigh_nothing():
    weights = np.where(Y == 2, 0.0, 1.0)
    model = PegasosClassifier(multi_class="ovo").fit(X, Y, weights)
    assert 2 not in model.classes_
    without = PegasosClassifier(multi_class="ovo").fit(X[Y != 2], Y[Y != 2])
    assert_allclose(model.coef_, without.coef_, rtol=1e-6, atol=1e-8)


def peak_of(make, n_rows, n_classes, **params):
    """Megabytes that a fit takes at most beside the rows it is given."""
    codes = np.arange(n_rows) % n_classes
    rows = RNG.normal(size=(n_rows, 5)) + 3 * RNG.normal(size=(n_classes, 5))[codes]
    model = make(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        make(**params).fit(rows[: 6 * n_classes], codes[: 6 * n_classes])  # compiled, and imported
        tracemalloc.start()
        try:
            model.fit(rows, codes)
            return tracemalloc.get_traced_memory()[1] / 1e6
        finally:
            tracemalloc.stop()


def test_memory_is_bounded_one_against_the_rest():
    # Targets of all columns are 2 MB as bytes and 16 MB as integers; so are dual variables.
    assert peak_of(PegasosClassifier, 10_000, 200, max_steps=1, cache_size=4) < 6
    assert peak_of(PegasosClassifier, 4000, 200, cache_size=4, tol=0.3) < 4


def test_memory_is_bounded_one_against_one():
    # Row sets of all 780 pairs are 0.6 MB and dual variables 5 MB; a pair has 40 rows.
    assert peak_of(PegasosClassifier, 800, 40, multi_class="ovo", cache_size=1) < 2


def test_memory_is_bounded_of_very_many_columns():
    assert peak_of(PegasosClassifier, 40_000, 400, max_steps=1, cache_size=20) < 25
    assert peak_of(PegasosClassifier, 2000, 100, multi_class="ovo", cache_size=20) < 16
    assert peak_of(pegasos.svm.SVC, 2000, 100, kernel="linear", cache_size=20) < 100
