"""warm_start: a fit that goes on is the one long fit, a changed lam keeps the model, another nature is refused."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import pairwise

import naive
from conftest import classes_problem
from pegasos.problem.columns import one_vs_rest
from pegasos.problem.sampling import Stream
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows
from pegasos.rules.column import Rule
from pegasos.rules.state import State
from solving import solve
from textbook import pegasos_classifier, pegasos_regressor

X4, Y4 = classes_problem(4)
KINDS = {
    "binary": (pegasos_classifier(), (Y4 > 1).astype(int)),
    "ovr": (pegasos_classifier(), Y4),
    "ovo": (pegasos_classifier(multi_class="ovo"), Y4),
    "crammer_singer": (pegasos_classifier(multi_class="crammer_singer"), Y4),
    "squared_hinge": (pegasos_classifier(loss="squared_hinge"), Y4),
    "log_loss": (pegasos_classifier(loss="log_loss"), Y4),
    "regression": (pegasos_regressor(), np.c_[X4 @ [1.0, -0.5, 0.2, 0.0], Y4 - X4[:, 0]]),
}
DATA = {
    "dense": (dict(), X4),
    "csr": (dict(), sparse.csr_matrix(X4)),
    "rbf": (dict(kernel="rbf", gamma=0.3), X4),
    "precomputed": (dict(kernel="precomputed"), pairwise.rbf_kernel(X4, gamma=0.3)),
}


def configured(kind, data="dense", **params):
    """An estimator that goes on, its rows and its targets."""
    model, y = KINDS[kind]
    kernel, X = DATA[data]
    return clone(model).set_params(**(dict(lam=0.05, random_state=0, warm_start=True) | kernel | params)), X, y


def fitted_in_turn(model, X, y, *limits):
    """The model after fits with these limits, one after the other."""
    model = clone(model)
    for limit in limits:
        model.set_params(**limit).fit(X, y)
    return model


def weights_of(model):
    return model.coef_ if model.kernel == "linear" else model.dual_coef_


def scores_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def assert_same_fit(found, whole, X, tolerance=1e-9):
    np.testing.assert_array_equal(found.t_, whole.t_)
    assert found.n_iter_ == whole.n_iter_
    np.testing.assert_allclose(scores_of(found, X), scores_of(whole, X), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.objective_, whole.objective_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.dual_gap_, whole.dual_gap_, rtol=tolerance, atol=tolerance)
    if found.kernel != "linear":
        np.testing.assert_array_equal(found.support_, whole.support_)
        if found.solver == "pegasos":  # sdca also counts changes as small as the rounding of the scores
            np.testing.assert_array_equal(found.violations_, whole.violations_)


# --- a fit that goes on is one long fit -----------------------------------------------------------


@pytest.mark.parametrize("sampling", ["shuffle", "cyclic", "replacement"])
@pytest.mark.parametrize("average", [False, "uniform", "weighted"])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
def test_going_on_equals_one_long_fit(solver, data, average, sampling):
    model, X, y = configured("ovr", data, solver=solver, average=average, sampling=sampling)
    parts = fitted_in_turn(model, X, y, dict(max_iter=2), dict(max_iter=1), dict(max_iter=4))
    assert_same_fit(parts, fitted_in_turn(model, X, y, dict(max_iter=7)), X)


@pytest.mark.parametrize("data", ["dense", "csr", "rbf"])
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("kind", KINDS)
def test_going_on_equals_one_long_fit_for_every_loss_and_scheme(kind, solver, data):
    model, X, y = configured(kind, data, solver=solver)
    parts = fitted_in_turn(model, X, y, dict(max_iter=2), dict(max_iter=3))
    assert_same_fit(parts, fitted_in_turn(model, X, y, dict(max_iter=5)), X)


@pytest.mark.parametrize("sampling", ["shuffle", "cyclic", "replacement"])
@pytest.mark.parametrize("data", ["dense", "csr", "rbf"])
@pytest.mark.parametrize("kind", ["binary", "ovr", "crammer_singer", "log_loss", "regression"])
def test_a_fit_that_ended_within_a_pass_goes_on_within_it(kind, data, sampling):
    for average in (False, "weighted"):
        model, X, y = configured(kind, data, average=average, sampling=sampling)
        parts = fitted_in_turn(
            model, X, y, dict(max_steps=37), dict(max_steps=95), dict(max_steps=1), dict(max_steps=107)
        )
        assert_same_fit(parts, fitted_in_turn(model, X, y, dict(max_steps=240)), X)


@pytest.mark.parametrize("data", ["dense", "rbf"])
@pytest.mark.parametrize("sampling", ["shuffle", "replacement"])
def test_sdca_goes_on_within_a_pass(data, sampling):
    for average in (False, "weighted"):
        model, X, y = configured("ovr", data, solver="sdca", average=average, sampling=sampling)
        parts = fitted_in_turn(model, X, y, dict(max_steps=37), dict(max_steps=95), dict(max_steps=108))
        assert_same_fit(parts, fitted_in_turn(model, X, y, dict(max_steps=240)), X)


@pytest.mark.parametrize(("first", "second"), [(2, 2), (2, 5), (1, 7), (3, 4)])
@pytest.mark.parametrize("data", ["dense", "csr", "rbf"])
def test_the_suffix_average_goes_on_where_the_second_fit_is_as_long_as_the_first(data, first, second):
    model, X, y = configured("ovr", data, average="suffix")
    parts = fitted_in_turn(model, X, y, dict(max_iter=first), dict(max_iter=second))
    assert_same_fit(parts, fitted_in_turn(model, X, y, dict(max_iter=first + second)), X)


@pytest.mark.parametrize("batch_size", [4, 7, "all"])
@pytest.mark.parametrize("data", ["dense", "csr", "rbf"])
@pytest.mark.parametrize("kind", ["ovr", "crammer_singer", "log_loss", "regression"])
def test_batches_and_projection_go_on(kind, data, batch_size):
    model, X, y = configured(kind, data, batch_size=batch_size, project=True, lam=1e-2)
    parts = fitted_in_turn(model, X, y, dict(max_steps=15), dict(max_steps=9), dict(max_steps=36))
    assert_same_fit(parts, fitted_in_turn(model, X, y, dict(max_steps=60)), X, 1e-8)


def test_weights_and_stored_models_go_on():
    weights = np.linspace(0.0, 2.0, len(Y4))
    for data in DATA:
        model, X, y = configured("ovo", data, class_weight="balanced", lam=None, C=0.3)
        first = clone(model).set_params(max_iter=2).fit(X, y, sample_weight=weights)
        second = pickle.loads(pickle.dumps(first)).set_params(max_iter=3).fit(X, y, sample_weight=weights)
        assert_same_fit(second, clone(model).set_params(max_iter=5).fit(X, y, sample_weight=weights), X)


def test_float32_goes_on_in_float32():
    for data in ("dense", "rbf"):
        model, X, y = configured("ovr", data)
        parts = fitted_in_turn(model, X.astype(np.float32), y, dict(max_iter=2), dict(max_iter=3))
        assert weights_of(parts).dtype == np.float32
        whole = fitted_in_turn(model, X.astype(np.float32), y, dict(max_iter=5))
        np.testing.assert_allclose(parts.objective_, whole.objective_, rtol=1e-3)


def test_without_warm_start_a_fit_forgets():
    model, X, y = configured("ovr", max_iter=2)
    once = clone(model).fit(X, y)
    again = clone(model).fit(X, y).set_params(warm_start=False).fit(X, y)
    np.testing.assert_array_equal(again.coef_, once.coef_)
    np.testing.assert_array_equal(again.t_, once.t_)
    never = clone(model).set_params(warm_start=False).fit(X, y)
    np.testing.assert_array_equal(never.set_params(warm_start=False).fit(X, y).t_, once.t_)


# --- a changed lam --------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.5, 3.0])
@pytest.mark.parametrize("data", ["dense", "csr", "rbf"])
@pytest.mark.parametrize("kind", ["ovr", "crammer_singer", "squared_hinge", "log_loss", "regression"])
def test_a_changed_lam_carries_the_model_over(kind, data, factor):
    model, X, y = configured(kind, data, max_iter=50)
    model.fit(X, y)
    before, steps = scores_of(model, X), model.t_.copy()
    model.set_params(lam=factor * model.lam, max_steps=1).fit(X, y)
    np.testing.assert_array_equal(model.t_, steps + 1)
    assert np.abs(scores_of(model, X) - before).max() < 0.25 * np.abs(before).max()


@pytest.mark.parametrize("kind", ["ovr", "crammer_singer", "log_loss"])
@pytest.mark.parametrize("data", ["dense", "rbf"])
def test_sdca_keeps_its_dual_variables_when_lam_changes(data, kind):
    model, X, y = configured(kind, data, solver="sdca", max_iter=200, average=False)
    model.fit(X, y)
    converged = model.dual_gap_.max()
    model.set_params(lam=0.045, max_iter=30).fit(X, y)
    cold = clone(model).fit(X, y)
    assert model.dual_gap_.max() <= max(cold.dual_gap_.max(), 10 * converged, 1e-9)


FURTHER = [dict(max_steps=1), dict(max_steps=70), dict(max_iter=1), dict(max_iter=3)]


@pytest.mark.parametrize("sampling", ["shuffle", "replacement"])
@pytest.mark.parametrize("further", FURTHER, ids=str)
@pytest.mark.parametrize("data", ["dense", "csr", "rbf"])
@pytest.mark.parametrize("kind", ["ovr", "crammer_singer", "squared_hinge", "log_loss", "regression"])
def test_the_gap_bounds_the_distance_from_the_optimum_after_a_change_of_lam(kind, data, further, sampling):
    for solver in ("pegasos", "sdca"):
        model, X, y = configured(kind, data, solver=solver, sampling=sampling, max_iter=2)
        model.fit(X, y).set_params(max_iter=None, lam=0.02).set_params(**further).fit(X, y)
        exact = optimum(kind, data, 0.02)
        distance = model.objective_ - (exact.objective_ - exact.dual_gap_)
        assert (model.dual_gap_ >= model.objective_ - exact.objective_ - 1e-9).all()
        assert (model.dual_gap_ >= 0).all()
        assert (distance >= -1e-9).all()


OPTIMA = {}


def optimum(kind, data, lam):
    """A fit of sdca close to the optimum."""
    if (kind, data, lam) not in OPTIMA:
        model, X, y = configured(kind, data, solver="sdca", average=False, lam=lam, max_iter=300, warm_start=False)
        OPTIMA[kind, data, lam] = model.fit(X, y)
    return OPTIMA[kind, data, lam]


@pytest.mark.parametrize("kind", ["ovr", "crammer_singer", "log_loss", "regression"])
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
def test_a_path_of_lams_reaches_what_cold_fits_reach(kind, solver):
    # Pegasos keeps a share t/T of the earlier model after T steps, so each fit of its path has to outlast the last one.
    passes = (20, 200, 2000) if solver == "pegasos" else (100, 100, 100)
    model, X, y = configured(kind, solver=solver)
    for lam, further in zip((1.0, 0.3, 0.1), passes, strict=True):
        model.set_params(lam=lam, max_iter=further).fit(X, y)
        np.testing.assert_allclose(model.objective_, optimum(kind, "dense", lam).objective_, rtol=1e-2)


def test_C_may_change_as_lam_does():
    by_lam, X, y = configured("ovr", max_iter=2)
    by_C = clone(by_lam).set_params(lam=None, C=1 / (0.05 * len(y)))
    by_lam.fit(X, y).set_params(lam=0.02).fit(X, y)
    by_C.fit(X, y).set_params(C=1 / (0.02 * len(y))).fit(X, y)
    np.testing.assert_allclose(by_C.coef_, by_lam.coef_, rtol=1e-9, atol=1e-12)


# --- other rows, other natures --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ovr", "ovo", "crammer_singer", "log_loss", "squared_hinge", "regression"])
@pytest.mark.parametrize("average", [False, "uniform", "weighted"])
def test_a_linear_pegasos_goes_on_with_other_rows(kind, average):
    model, X, y = configured(kind, average=average, sampling="cyclic", max_iter=30)
    model.fit(X, y)
    before, steps = model.coef_, model.t_.copy()
    model.set_params(max_steps=1, max_iter=None).fit(3 * X[::-1] + 0.1, y[::-1])
    np.testing.assert_array_equal(model.t_, steps + 1)
    assert np.abs(model.coef_ - before).max() < 0.25 * np.abs(before).max()
    model.set_params(max_steps=None, max_iter=1, sampling="cyclic").fit(X[:40], y[:40])
    assert np.isfinite(model.dual_gap_).all()
    exact = clone(model).set_params(warm_start=False, solver="sdca", max_iter=300, average=False).fit(X[:40], y[:40])
    assert (model.dual_gap_ >= model.objective_ - exact.objective_ - 1e-9).all()


@pytest.mark.parametrize("kind", ["ovr", "regression"])
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("data", ["dense", "rbf"])
def test_kernels_and_sdca_need_the_same_rows_targets_and_weights(data, solver, kind):
    if (data, solver) == ("dense", "pegasos"):
        pytest.skip("goes on with any rows")
    model, X, y = configured(kind, data, solver=solver, max_iter=2)
    model.fit(X, y)
    before = scores_of(model, X)
    for rows, targets, weights in (
        (X + 1e-9, y, None),
        (X[:-1], y[:-1], None),
        (X[::-1], y[::-1], None),
        (X, np.roll(y, 1, axis=0), None),
        (X, y, np.linspace(1, 2, len(y))),
    ):
        with pytest.raises(ValueError, match="same rows"):
            model.fit(rows, targets, sample_weight=weights)
        np.testing.assert_array_equal(scores_of(model, X), before)
    assert (model.fit(X, y).t_ == 4 * len(y)).all()


CHANGES = {
    "loss": (dict(loss="log_loss"), dict(), "loss"),
    "multi_class": (dict(multi_class="ovo"), dict(), "multi_class"),
    "solver": (dict(solver="sdca"), dict(), "solver"),
    "kernel": (dict(kernel="rbf"), dict(), "kernel"),
    "gamma": (dict(gamma=0.7), dict(kernel="rbf", gamma=0.3), r"kernel.*gamma=0\.3"),
    "degree": (dict(degree=2), dict(kernel="poly", gamma=0.3), "kernel.*degree=3"),
    "fit_intercept": (dict(fit_intercept=False), dict(), "constant feature|fit_intercept"),
    "intercept_scaling": (dict(intercept_scaling=2.0), dict(), "constant feature|intercept_scaling"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_cannot_change_is_named_and_the_model_stays_whole(name):
    change, params, match = CHANGES[name]
    model, X, y = configured("ovr", max_iter=2, **params)
    model.fit(X, y)
    before, whole = scores_of(model, X), fitted_in_turn(model, X, y, dict(max_iter=4))
    original = {parameter: getattr(model, parameter) for parameter in change}
    with pytest.raises(ValueError, match=f"(?s){match}.*warm_start=False"):
        model.set_params(**change).fit(X, y)
    np.testing.assert_array_equal(scores_of(model.set_params(**original), X), before)
    assert_same_fit(model.fit(X, y), whole, X)


def test_other_classes_features_or_targets_are_named_and_the_model_stays_whole():
    model, X, y = configured("ovr", max_iter=2)
    before = scores_of(model.fit(X, y), X)
    for rows, labels, match in ((X, y + 1, "classes"), (X[y < 3], y[y < 3], "classes"), (X[:, :2], y, "features")):
        with pytest.raises(ValueError, match=match):
            model.fit(rows, labels)
        np.testing.assert_array_equal(scores_of(model, X), before)
    model, X, y = configured("regression", max_iter=2)
    before = model.fit(X, y).predict(X)
    for targets, epsilon, match in ((y[:, 0], 0.1, "targets"), (y, 0.3, "epsilon")):
        with pytest.raises(ValueError, match=match):
            model.set_params(epsilon=epsilon).fit(X, targets)
        np.testing.assert_array_equal(model.predict(X), before)


# --- a start vector -------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, "uniform", "weighted"])
@pytest.mark.parametrize("project", [False, True])
def test_a_start_vector_counts_for_one_step_of_the_textbook_loop(project, average):
    rng = np.random.default_rng(3)
    X, lam, steps, n = rng.normal(size=(40, 3)), 0.02, 130, 40
    codes = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    y, start = np.where(codes == 1, 1.0, -1.0), rng.normal(size=n) * 0.3
    schedule = Schedule(seed=4, max_steps=steps, max_passes=np.inf, project=project, average=average)
    state = State.from_weights(X.T @ start, lam)
    found = solve(DenseRows(X), one_vs_rest(codes, 2).with_lam(lam), Rule.PEGASOS, schedule, state=state)
    stream = Stream(np.arange(n), "shuffle", 4)
    order = np.concatenate([stream.take(n) for _ in range(4)])
    K, ones = X @ X.T, np.ones(n)
    iterates, _, closest = naive.pegasos(K, y, ones, lam, order, steps, project=project, start=start, t_start=1)
    assert closest > 1e-9
    numbers = np.arange(1, steps + 2)  # the start is the model after step 1, and in no weighted average
    expected = {
        False: lambda: iterates[-1],
        "uniform": lambda: np.mean(iterates[:-1], axis=0),
        "weighted": lambda: np.average(iterates[1:], axis=0, weights=numbers[1:]),
    }[average]()
    np.testing.assert_allclose(found.model[:, 0], X.T @ expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(found.steps, steps + 1)
    np.testing.assert_allclose(state.sums[:, 0], lam * X.T @ start, rtol=1e-12, err_msg="the start is left as it is")
    best = optimum_of(X, codes, lam)
    objective = found.certificate.objective[0]
    assert found.certificate.gap[0] >= objective - best - 1e-9


def optimum_of(X, codes, lam):
    problems = one_vs_rest(codes, 2).with_lam(lam)
    return solve(DenseRows(X), problems, Rule.SDCA, Schedule(max_passes=300)).certificate.objective[0]


def test_a_start_vector_of_the_wrong_shape_or_rule_is_refused():
    X, codes = X4, (Y4 > 1).astype(int)
    problems, schedule = one_vs_rest(codes, 2).with_lam(0.1), Schedule(max_passes=1)
    for weights, match in ((np.zeros(3), "shape"), (np.zeros((4, 2)), "shape"), (np.zeros((1, 4)), "shape")):
        with pytest.raises(ValueError, match=match):
            solve(DenseRows(X), problems, Rule.PEGASOS, schedule, state=State.from_weights(weights, 0.1))
    with pytest.raises(ValueError, match="shape"):  # the constant feature is missing
        solve(DenseRows(X, 1.0), problems, Rule.PEGASOS, schedule, state=State.from_weights(np.zeros(4), 0.1))
    with pytest.raises(ValueError, match="SDCA"):
        solve(DenseRows(X), problems, Rule.SDCA, schedule, state=State.from_weights(np.zeros(4), 0.1))
    with pytest.raises(ValueError, match="steps"):
        State.from_weights(np.zeros(4), 0.1, steps=-1)
