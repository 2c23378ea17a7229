"""Losses beyond the hinge: `dual_gap_` bounds the true suboptimality, whatever the loss, the rule and its settings."""

import warnings
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from pegasos import PegasosClassifier, PegasosRegressor
from reference_losses import kernel_objective, linear_objective, objective, optimum_of
from textbook import pegasos_regressor

ROUNDING = 1e-9
SEEDS = 50
SETTINGS_PER_SEED = 4
SCALING = 1.5

AVERAGES = (False, "uniform", "weighted", "suffix")
SAMPLINGS = ("shuffle", "replacement", "cyclic")
SETTINGS = [
    dict(solver="pegasos", sampling=sampling, average=average, batch_size=batch_size, project=project)
    for sampling, average, batch_size, project in product(SAMPLINGS, AVERAGES, (1, 7, "all"), (False, True))
] + [dict(solver="sdca", sampling=sampling, average=average) for sampling, average in product(SAMPLINGS, AVERAGES)]

LOSSES = ("squared_hinge", "log_loss", "epsilon_insensitive", "squared_epsilon_insensitive", "crammer_singer")
REGRESSIONS = ("epsilon_insensitive", "squared_epsilon_insensitive")
losses = pytest.mark.parametrize("loss", LOSSES)
seeds = pytest.mark.parametrize("seed", range(SEEDS))


@dataclass(frozen=True)
class Column:
    """One problem of a fit: its rows, its target on them, and lam. A Crammer-Singer group is one problem."""

    rows: np.ndarray
    y: np.ndarray
    lam: float


@dataclass(frozen=True)
class RandomProblem:
    """A random data set with the parameters to fit it, and what the fit is to solve."""

    loss: str
    params: dict
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    K: np.ndarray  # the penalised bias in it
    columns: list
    epsilon: float = 0.0
    n_classes: int = 0

    def fit(self, **settings):
        """A fitted estimator; every third problem is given as CSR."""
        kind = PegasosRegressor if self.loss in REGRESSIONS else PegasosClassifier
        seed = self.params["random_state"]
        X = sparse.csr_matrix(self.X) if seed % 3 == 0 else self.X
        return kind(**self.params, **settings).fit(X, self.y, sample_weight=self.weights)

    def own(self, column):
        """Kernel matrix, and weights, of the rows of a column."""
        return self.K[np.ix_(column.rows, column.rows)], None if self.weights is None else self.weights[column.rows]


@cache
def random_problem(loss, seed):
    """Even seeds are linear, odd ones rbf; half of them have weights, and most have several columns."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.integers(28, 60)), int(rng.integers(1, 7))
    X = rng.normal(size=(n_rows, n_features))
    weights = rng.uniform(0.1, 4.0, n_rows) if rng.random() < 0.5 else None
    kernel, gamma = ("linear", "rbf")[seed % 2], float(10 ** rng.uniform(-1, 0.5))
    bias = bool(rng.random() < 0.5)
    K = linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=gamma)
    params = dict(kernel=kernel, gamma=gamma, fit_intercept=bias, intercept_scaling=SCALING, random_state=seed)
    strength = float(10 ** rng.uniform(-3, 0))
    by_C = rng.random() < 0.5
    params |= dict(C=1.0 / (strength * n_rows)) if by_C else dict(lam=strength)

    def column(rows, y):
        total = rows.sum() if weights is None else weights[rows].sum()
        return Column(np.flatnonzero(rows), y[rows], 1.0 / (params["C"] * total) if by_C else strength)

    common = dict(loss=loss, X=X, weights=weights, K=K + bias * SCALING**2)
    every = np.ones(n_rows, bool)
    scores = X @ rng.normal(size=n_features) + rng.normal(size=n_rows)
    if loss in REGRESSIONS:
        y = np.column_stack([scores, rng.uniform(-3, 3) + 2 * np.abs(scores)])[:, : int(rng.integers(1, 3))]
        epsilon = float(rng.choice([0.0, 0.1, 0.5]))
        columns = [column(every, target) for target in y.T]
        params = params | dict(loss=loss, epsilon=epsilon)
        return RandomProblem(params=params, y=y, columns=columns, epsilon=epsilon, **common)
    n_classes = int(rng.integers(2, 5))
    y = np.argsort(np.argsort(scores)) * n_classes // n_rows
    if loss == "crammer_singer":
        params = params | dict(multi_class=loss)
        return RandomProblem(params=params, y=y, columns=[column(every, y)], n_classes=n_classes, **common)
    params = params | dict(loss=loss, multi_class=("ovr", "ovo")[seed // 2 % 2])
    if params["multi_class"] == "ovo" or n_classes == 2:
        pairs = combinations(range(n_classes), 2)
        columns = [column((y == a) | (y == b), np.where(y == b, 1, -1)) for a, b in pairs]
    else:
        columns = [column(every, np.where(y == positive, 1, -1)) for positive in range(n_classes)]
    return RandomProblem(params=params, y=y, columns=columns, **common)


@cache
def optima(loss, seed):
    """The certified optimum of each column."""
    problem = random_problem(loss, seed)
    found = []
    for column in problem.columns:
        K, weights = problem.own(column)
        about = dict(weights=weights, epsilon=problem.epsilon, n_classes=problem.n_classes)
        found.append(optimum_of(loss, K, column.y, column.lam, **about))
    return found


@cache
def fits(loss, seed):
    """Fits of a random problem; the seeds of each kernel meet all settings, for short and for longer runs."""
    rng = np.random.default_rng(1000 + seed)
    fitted = []
    for place in places_of_settings(seed):
        settings = SETTINGS[place]
        limit = ("max_iter", "max_steps")[int(rng.integers(2))]
        length = {limit: int(rng.integers(1, 30 if limit == "max_iter" else 400))}
        fitted.append((settings | length, random_problem(loss, seed).fit(**settings, **length)))
    return fitted


def coefficients(model, n_rows):
    """`dual_coef_` of all rows, (n_rows, n_columns)."""
    alpha = np.zeros((n_rows, len(model.dual_coef_)))
    alpha[model.support_] = model.dual_coef_.T
    return alpha


def objectives(problem, model):
    """The objective of each column of a fitted model, computed from its coefficients."""
    found = []
    for place, column in enumerate(problem.columns):
        K, weights = problem.own(column)
        chosen = slice(None) if problem.loss == "crammer_singer" else place
        about = dict(weights=weights, epsilon=problem.epsilon)
        if problem.params["kernel"] == "linear":
            about |= dict(intercept=model.intercept_[chosen], intercept_scaling=SCALING)
            coef = model.coef_[chosen]
            found.append(linear_objective(problem.loss, problem.X[column.rows], column.y, coef, column.lam, **about))
        else:
            alpha = coefficients(model, len(problem.X))[:, chosen]
            others = np.delete(alpha, column.rows, axis=0)
            assert not others.any(), "rows that are not of the column have no part in it"
            found.append(kernel_objective(problem.loss, K, column.y, alpha[column.rows], column.lam, **about))
    return found


def places_of_settings(seed):
    """Which settings a seed is run with: two seeds, one for each kernel, share theirs."""
    return [(seed // 2 + place * (SEEDS // 2)) % len(SETTINGS) for place in range(SETTINGS_PER_SEED)]


@pytest.mark.parametrize("kernel", [0, 1], ids=["linear", "rbf"])
def test_the_seeds_meet_every_setting(kernel):
    met = {place for seed in range(kernel, SEEDS, 2) for place in places_of_settings(seed)}
    assert met == set(range(len(SETTINGS)))


@seeds
@losses
def test_gap_is_at_least_the_true_suboptimality(loss, seed):
    for settings, model in fits(loss, seed):
        for place, optimum in enumerate(optima(loss, seed)):
            scale = max(1.0, optimum.objective)
            reached, gap = model.objective_[place], model.dual_gap_[place]
            assert reached >= optimum.dual - ROUNDING * scale, f"no model is better than the optimum: {settings}"
            assert gap >= reached - optimum.objective - ROUNDING * scale, settings


@seeds
@losses
def test_objective_is_that_of_the_returned_model(loss, seed):
    problem = random_problem(loss, seed)
    for settings, model in fits(loss, seed):
        expected = objectives(problem, model)
        if loss == "crammer_singer":
            expected = np.full(problem.n_classes, expected[0])
            assert np.ptp(model.dual_gap_) == 0, "the columns of a group share their gap"
        np.testing.assert_allclose(model.objective_, expected, rtol=1e-9, err_msg=str(settings))


@seeds
@losses
def test_sdca_falls_below_the_gap_asked_for_and_is_that_close_to_the_optimum(loss, seed):
    problem = random_problem(loss, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = problem.fit(solver="sdca", average=False, tol=1e-3, max_iter=20_000)
    for place, (column, optimum) in enumerate(zip(problem.columns, optima(loss, seed), strict=True)):
        _, weights = problem.own(column)
        zeros = np.zeros((len(column.y), problem.n_classes) if loss == "crammer_singer" else len(column.y))
        zero = objective(loss, zeros, column.y, column.lam, 0.0, weights, problem.epsilon)
        allowed = 1e-3 * zero + ROUNDING
        assert 0 <= model.dual_gap_[place] <= allowed
        assert model.objective_[place] - optimum.dual <= allowed


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("seed", range(1, SEEDS, 2))
def test_mean_of_the_targets_taken_off_is_part_of_the_certified_problem(seed, solver):
    problem = random_problem("epsilon_insensitive", seed)
    params = problem.params | dict(fit_intercept="auto")
    model = pegasos_regressor(**params, solver=solver, max_iter=10).fit(problem.X, problem.y, problem.weights)
    K = rbf_kernel(problem.X, gamma=params["gamma"])
    means = np.average(problem.y, axis=0, weights=problem.weights)
    np.testing.assert_allclose(model.intercept_, means)
    for place, column in enumerate(problem.columns):
        about = dict(weights=problem.weights, epsilon=problem.epsilon)
        alpha = coefficients(model, len(problem.X))[:, place]
        centred = column.y - means[place]
        expected = kernel_objective("epsilon_insensitive", K, centred, alpha, column.lam, **about)
        assert model.objective_[place] == pytest.approx(expected, rel=1e-9)
        optimum = optimum_of("epsilon_insensitive", K, centred, column.lam, **about)
        assert model.dual_gap_[place] >= expected - optimum.objective - ROUNDING


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("seed", range(0, SEEDS, 5))
@losses
def test_float32_certificates_hold_up_to_its_rounding(loss, seed, solver):
    problem = random_problem(loss, seed)
    kind = PegasosRegressor if loss in REGRESSIONS else PegasosClassifier
    model = kind(**problem.params, solver=solver, max_iter=50)
    model.fit(problem.X.astype(np.float32), problem.y, problem.weights)
    np.testing.assert_allclose(model.objective_[: len(problem.columns)], objectives(problem, model), rtol=1e-4)
    for place, optimum in enumerate(optima(loss, seed)):
        rounding = 1e-4 * max(1.0, optimum.objective)
        assert model.dual_gap_[place] >= model.objective_[place] - optimum.objective - rounding


@losses
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_tol_is_met_by_pegasos_too(loss, kernel):
    seed = {"linear": 8, "rbf": 9}[kernel]
    problem = random_problem(loss, seed)
    params = {name: value for name, value in problem.params.items() if name not in ("C", "lam")}
    kind = PegasosRegressor if loss in REGRESSIONS else PegasosClassifier
    model = kind(**params, lam=0.3, tol=0.02, max_iter=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(problem.X, problem.y, problem.weights)
    assert model.n_iter_ < 5000 * max(len(column.rows) for column in problem.columns)


@losses
def test_without_a_whole_pass_the_gap_still_bounds(loss):
    problem = random_problem(loss, 7)
    for batch_size, max_steps in product((1, 3, 7), (1, 2, 5)):
        model = problem.fit(batch_size=batch_size, max_steps=max_steps, average=False)
        for place, optimum in enumerate(optima(loss, 7)):
            gap = model.dual_gap_[place]
            assert gap >= model.objective_[place] - optimum.objective - ROUNDING
            assert gap <= model.objective_[place] + ROUNDING, "the zero dual point is always at hand"
