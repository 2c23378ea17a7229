"""Dual coordinate ascent over landmarks whose features are not kept: rows of a block meet through the kernel itself.

A block of 512 draws begins with the scores of the features; within it a pull moves the scores of later rows by kernel
values, which are more than the inner products of features. Every block raises the dual objective; single steps of one
may lower it.
"""

import warnings

import numpy as np
import pytest
from sklearn.metrics import pairwise

import naive
import naive_crammer_singer
import reference
from conftest import classes_problem
from nystroem import spanned
from pegasos import PegasosClassifier, PegasosRegressor
from pegasos.problem.sampling import Stream

N, PASSES, BLOCK = 600, 3, 512
X, Y = classes_problem(3, n_rows=N)
TARGETS = X @ [1.0, -0.5, 0.2, 0.0] + 0.3 * Y
WEIGHTS = np.where(np.arange(N) % 9 == 4, 0.0, np.linspace(0.3, 2.0, N))
KERNELS = {
    "rbf": lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.3),
    "laplacian": lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.3),
}
EPSILON = naive.EPSILON


def estimator(make=PegasosClassifier, **params):
    """An estimator that ascends the dual over landmarks without keeping their features."""
    given = dict(
        kernel="rbf", gamma=0.3, lam=0.005, n_landmarks=25, cache_size=0, solver="sdca", average=False,
        max_iter=PASSES, random_state=0,
    )  # fmt: skip
    return make(**(given | params))


class Textbook:
    """The rows of a fitted model, their kernel matrices, and the blocks they were drawn in."""

    def __init__(self, model, weights=None):
        function, bias = KERNELS[model.kernel], model.intercept_scaling if model.fit_intercept is True else 0.0
        self.used = np.arange(N) if weights is None else np.flatnonzero(weights)
        self.K = function(X, X) + bias**2
        self.G = spanned(function, X, X[model.support_]) + bias**2
        seed = np.random.RandomState(model.random_state).randint(np.iinfo(np.int32).max)
        stream, self.blocks = Stream(self.used, model.sampling, seed), []
        for _ in range(PASSES):
            draws = stream.take(N)
            self.blocks += [draws[:BLOCK], draws[BLOCK:]]

    def column(self, members):
        """The same for a column that has these rows only."""
        place = np.full(N, -1)
        place[members] = np.arange(len(members))
        blocks = [place[block][place[block] >= 0] for block in self.blocks]
        square = np.ix_(members, members)
        return self.G[square], self.K[square], blocks


def ascended(G, K, y, s, lam, blocks, loss, steps=None):
    """All iterates (coefficients), the dual variables after each step, and after which steps blocks end."""
    n, loss = len(y), naive.LOSSES[loss]
    sign = y if loss.signed else np.ones(n)
    beta = np.zeros(n)
    betas, ends = [beta], []
    for block in blocks:
        scores, moved = G @ (sign * beta), np.zeros(n)
        for i in block:
            if len(betas) - 1 == steps:
                break
            f = (scores[i] + K[i] @ moved) / (lam * n)
            new = naive._maximise_dual(loss, beta[i], y[i], s[i], sign[i] * f, K[i, i] / (lam * n))
            moved[i] += sign[i] * (new - beta[i])
            beta = beta.copy()
            beta[i] = new
            betas.append(beta)
        ends.append(len(betas) - 1)
    return [sign * beta / (lam * n) for beta in betas], betas, ends


def ascended_groups(G, K, labels, n_classes, s, lam, blocks):
    """The same for Crammer–Singer."""
    n = len(labels)
    beta = np.zeros((n, n_classes))
    for block in blocks:
        scores, moved = G @ beta, np.zeros_like(beta)
        for i in block:
            f, q, own = (scores[i] + K[i] @ moved) / (lam * n), K[i, i] / (lam * n), np.eye(n_classes)[labels[i]]
            new = naive_crammer_singer._maximise_dual(q * beta[i] - f + own, s[i] * own, q)
            moved[i] += new - beta[i]
            beta[i] = new
    return beta / (lam * n), beta


def assert_close(found, expected, tolerance=1e-8):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


# --- the rule -------------------------------------------------------------------------------------

RULES = {
    "hinge": (dict(), None),
    "laplacian": (dict(kernel="laplacian"), None),
    "weights": (dict(fit_intercept=True, intercept_scaling=0.7), WEIGHTS),
    "replacement": (dict(sampling="replacement"), None),
    "cyclic": (dict(sampling="cyclic", average="weighted"), None),
    "average": (dict(average="weighted"), WEIGHTS),
    "within a block": (dict(max_steps=1333), None),
    "squared_hinge": (dict(loss="squared_hinge"), WEIGHTS),
    "log_loss": (dict(loss="log_loss", kernel="laplacian"), None),
}


@pytest.mark.parametrize("rule", RULES)
def test_steps_equal_the_textbook_loop_of_the_rule(rule):
    params, weights = RULES[rule]
    model, y = estimator(**params), np.where(Y == 1, 1.0, -1.0)
    model.fit(X, Y == 1, sample_weight=weights)
    textbook, loss = Textbook(model, weights), params.get("loss", "hinge")
    used = textbook.used
    s = np.ones(N) if weights is None else weights / weights[used].mean()
    given = *textbook.column(used)[:2], y[used], s[used], model.lam, textbook.column(used)[2], loss
    iterates, betas, _ = ascended(*given, params.get("max_steps"))
    a = naive.average_of(iterates, model.average, "sdca", len(used))
    G, _, y, s = given[:4]
    assert model.t_[0] == len(betas) - 1
    assert_close(model.decision_function(X[used]), G @ a)
    objective = naive.primal(G, y, s, model.lam, a, loss)
    assert model.objective_[0] == pytest.approx(objective, rel=1e-9)
    assert model.dual_gap_[0] == pytest.approx(objective - naive.dual(G, y, s, model.lam, betas[-1], loss), abs=1e-9)


@pytest.mark.parametrize("n_targets", [2, 66])  # from 64 columns on blocks go in parts
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_regression_and_many_columns_equal_the_textbook_loop_of_the_rule(fit_intercept, n_targets):
    targets = TARGETS[:, None] * np.linspace(1, -2, n_targets)
    model = estimator(PegasosRegressor, epsilon=EPSILON, fit_intercept=fit_intercept).fit(X, targets)
    G, K, blocks = Textbook(model).column(np.arange(N))
    for column in (0, n_targets - 1):
        y = targets[:, column]
        iterates, betas, _ = ascended(G, K, y, np.ones(N), model.lam, blocks, "epsilon_insensitive")
        assert_close(model.predict(X)[:, column], G @ iterates[-1])
        dual = naive.dual(G, y, np.ones(N), model.lam, betas[-1], "epsilon_insensitive")
        assert model.objective_[column] - model.dual_gap_[column] == pytest.approx(dual, rel=1e-9)


def test_pairs_of_classes_equal_the_textbook_loop_of_the_rule():
    model = estimator(multi_class="ovo").fit(X, Y)
    textbook, scores = Textbook(model), model._scores(X)
    for column, pair in enumerate([(0, 1), (0, 2), (1, 2)]):
        members = np.flatnonzero(np.isin(Y, pair))
        G, K, blocks = textbook.column(members)
        y = np.where(Y[members] == pair[0], 1.0, -1.0)
        y = y if np.sign(scores[members, column] @ y) > 0 else -y
        iterates, _, _ = ascended(G, K, y, np.ones(len(y)), model.lam, blocks, "hinge")
        assert_close(scores[members, column], G @ iterates[-1])


def test_crammer_singer_equals_the_textbook_loop_of_the_rule():
    model = estimator(multi_class="crammer_singer").fit(X, Y)
    G, K, blocks = Textbook(model).column(np.arange(N))
    A, beta = ascended_groups(G, K, Y, 3, np.ones(N), model.lam, blocks)
    assert_close(model.decision_function(X), G @ A)
    objective = naive_crammer_singer.primal(G, Y, np.ones(N), model.lam, A)
    dual = naive_crammer_singer.dual(G, Y, np.ones(N), model.lam, beta)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-9)
    np.testing.assert_allclose(model.dual_gap_, objective - dual, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kept_features_meet_by_themselves(kernel):
    """The judge of the tests above: with features kept, the loop is the usual one, and another model."""
    model, y = estimator(kernel=kernel, cache_size=None).fit(X, Y == 1), np.where(Y == 1, 1.0, -1.0)
    textbook = Textbook(model)
    order = np.concatenate(textbook.blocks)
    iterates, _ = naive.sdca(textbook.G, y, np.ones(N), model.lam, order, PASSES * N)
    assert_close(model.decision_function(X), textbook.G @ iterates[-1])
    computed = estimator(kernel=kernel).fit(X, Y == 1)
    assert np.abs(computed.decision_function(X) - model.decision_function(X)).max() > 1e-3


# --- what it claims -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
@pytest.mark.parametrize("lam", [0.1, 0.002])
def test_the_dual_objective_never_falls_from_block_to_block(lam, loss):
    model, y = estimator(lam=lam, loss=loss, n_landmarks=5).fit(X, Y == 1), np.where(Y == 1, 1.0, -1.0)
    G, K, blocks = Textbook(model).column(np.arange(N))
    _, betas, ends = ascended(G, K, y, np.ones(N), lam, blocks, loss)
    duals = np.array([naive.dual(G, y, np.ones(N), lam, beta, loss) for beta in betas])
    assert (np.diff(duals[[0, *ends]]) > 0).all()
    begun = np.repeat([0, *ends[:-1]], np.diff([0, *ends]))
    assert (duals[1:] >= duals[begun] - 1e-12).all(), "wherever in a block a fit ends, the block has done no harm"


@pytest.mark.parametrize("max_steps", [1, 100, 512, 600, 1100, 5000])
def test_the_certificate_bounds_the_distance_from_the_optimum(max_steps):
    y = np.where(Y == 1, 1.0, -1.0)
    for average in (False, "weighted"):
        model = estimator(max_steps=max_steps, average=average, max_iter=None).fit(X, Y == 1)
        optimum = reference.hinge_optimum(Textbook(model).G, y, model.lam)
        distance = model.objective_[0] - optimum.objective
        assert -1e-9 < distance <= model.dual_gap_[0] + 1e-9


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "params", [dict(), dict(kernel="laplacian", multi_class="ovo"), dict(multi_class="crammer_singer")], ids=str
)
def test_it_converges_to_the_objective_of_kept_features(params, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        computed, kept = (
            estimator(tol=1e-4, max_iter=500, lam=0.02, cache_size=size, **params).fit(X.astype(dtype), Y)
            for size in (0, None)
        )
    assert (computed.dual_gap_ <= 1e-4).all()
    np.testing.assert_allclose(computed.objective_, kept.objective_, atol=1e-4)
