"""Which solver takes a fit to its optimum, and that few features with little regularisation are no obstacle."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from pegasos import PegasosClassifier, PegasosRegressor, datasets
from pegasos.losses import Loss
from pegasos.problem.columns import Problems, one_vs_rest
from pegasos.problem.job import Job
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows, SparseRows
from pegasos.rules.column import Rule
from pegasos.solver import relay, small_columns
from pegasos.solver.choice import NEWTON_UP_TO, method_for
from pegasos.solver.monitor import Hooks
from pegasos.solver.solve import solve
from reference import hinge_optimum
from reference_losses import objective, optimum_of

EPSILON = 0.2
KINKS = ["hinge", "epsilon_insensitive"]
SMOOTH = ["squared_hinge", "log_loss", "squared_epsilon_insensitive"]

kinks = pytest.mark.parametrize("loss", KINKS)
losses = pytest.mark.parametrize("loss", KINKS + SMOOTH)


def problem(loss, n_rows=60, seed=0):
    """Rows of features of different sizes, and targets with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)) * np.logspace(-1, 1, 5)
    score = X @ rng.normal(size=5) + rng.normal(size=n_rows) * 3
    return X, score if loss.endswith("epsilon_insensitive") else np.sign(score)


def job_of(X, targets, loss, lams, method="relay", **schedule):
    """A column for each lam, over dense or CSR rows."""
    rows = (SparseRows if sparse.issparse(X) else DenseRows)(X, 1.0)
    problems = Problems(
        labelings=targets[:, None], row_sets=np.ones((len(targets), 1), bool), columns=np.zeros((1, 2), np.intp),
        lam=np.array([0.1]), weights=None, n_classes=2, epsilon=EPSILON,
        scheme="regression" if loss.endswith("epsilon_insensitive") else "binary",
    ).over_grid(lams)  # fmt: skip
    return Job(rows, problems, Schedule(**schedule), Rule.SDCA, Loss[loss], method=method)


def descend_for(monkeypatch, passes):
    """Let columns descend for so many passes, and those of a large lam not at all."""
    found = lambda rows, loss, pulls: (np.where(pulls < 1.0, 0.0, passes),) * 2
    monkeypatch.setattr(relay, "passes_of_descent", found)


def optimum(X, targets, loss, lam):
    """By a solver of the tests' own."""
    K = X @ X.T + 1.0
    return hinge_optimum(K, targets, lam) if loss == "hinge" else optimum_of(loss, K, targets, lam, epsilon=EPSILON)


@pytest.mark.parametrize(
    "loss, n_features, expected",
    [
        ("hinge", 5, "newton"),
        ("epsilon_insensitive", 5, "newton"),
        ("squared_hinge", 5, "newton"),
        ("log_loss", NEWTON_UP_TO, "relay"),
        ("squared_epsilon_insensitive", NEWTON_UP_TO, "relay"),
        ("hinge", NEWTON_UP_TO, "relay"),
        ("hinge", NEWTON_UP_TO + 1, "dcd"),
        ("squared_hinge", NEWTON_UP_TO + 1, "dcd"),
        ("crammer_singer", 5, "stream"),
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_the_method_of_a_fit(loss, n_features, expected, container):
    X, classes = container(np.ones((6, n_features))), np.array([0, 1, 2, 0, 1, 2])
    rows, problems = (SparseRows if sparse.issparse(X) else DenseRows)(X, 1.0), one_vs_rest(classes, 3)
    assert method_for("auto", rows, problems, Loss[loss]) == expected
    assert method_for("pegasos", rows, problems, Loss[loss]) == "stream"
    assert method_for("auto", rows, problems, Loss[loss], in_stream=True) == "stream"


@losses
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("passes", [0, 1, 10, 100])
def test_columns_that_descend_slowly_are_handed_to_newton_s_method(loss, container, passes, monkeypatch):
    descend_for(monkeypatch, passes)
    X, targets = problem(loss)
    lams = (1e-6, 1e-3, 10.0)
    job = job_of(container(X), targets, loss, lams, tol=1e-6, max_passes=1000)
    found, descent = solve(job), solve(job_of(container(X), targets, loss, lams, "dcd", tol=1e-6, max_passes=1000))
    assert not (descent.certificate.relative_gap <= 1e-6).all()
    assert (found.certificate.relative_gap <= 1e-6).all()
    for column, lam in enumerate(lams):
        w = found.model[:, column]
        reached = objective(loss, X @ w[:-1] + w[-1], targets, lam, w @ w, None, EPSILON)
        best = optimum(X, targets, loss, lam)
        assert found.certificate.objective[column] == pytest.approx(reached, rel=1e-9)
        assert reached - best.objective <= found.certificate.gap[column] + 1e-8
        assert found.certificate.dual[column] <= best.objective + 1e-8


@losses
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_little_regularisation_puts_descent_on_trial(loss, container, monkeypatch):
    monkeypatch.setattr(small_columns, "MOST_FEATURES", 0)
    X, targets = problem(loss)
    job = job_of(container(X), targets, loss, (1.0,))
    passes, trial = relay.passes_of_descent(job.rows, job.loss, np.array([1e-2, 1e6]))
    assert passes[0] == trial[0] == passes[1]
    assert 1 <= trial[1] < passes[1]


@pytest.mark.parametrize("separable", [True, False])
def test_a_trial_goes_on_where_gaps_fall_fast(separable, monkeypatch):
    X, targets = problem("hinge")
    X = np.random.default_rng(1).normal(size=X.shape) + 3 * targets[:, None] if separable else X
    monkeypatch.setattr(relay, "passes_of_descent", lambda rows, loss, pulls: (np.full(1, 300.0), np.full(1, 5.0)))
    given = X, targets, "hinge", (1e-5,)
    found, descent = (solve(job_of(*given, method, tol=1e-3, max_passes=1000)) for method in ("relay", "dcd"))
    assert found.certificate.relative_gap[0] <= 1e-3
    assert np.array_equal(found.model, descent.model) == separable


def test_columns_that_are_done_before_newton_s_method_begins(monkeypatch):
    """The first descends to its optimum; the second has no need to move, which the look at its rows shows."""
    descend_for(monkeypatch, 1000)
    X, targets = problem("epsilon_insensitive")
    found = solve(job_of(X, np.clip(targets, -EPSILON, EPSILON), "epsilon_insensitive", (1.0, 1e3), tol=1e-3))
    assert found.certificate.gap.max() <= 1e-3
    assert not found.model.any()


@kinks
def test_columns_that_descend_soon_are_as_descent_leaves_them(loss, monkeypatch):
    monkeypatch.setattr(relay, "passes_of_descent", lambda rows, loss, pulls: (np.full(len(pulls), 500.0),) * 2)
    X, targets = problem(loss)
    given = X, targets, loss, (0.1, 1.0)
    found = solve(job_of(*given, tol=1e-3, max_passes=1000))
    descent = solve(job_of(*given, "dcd", tol=1e-3, max_passes=1000))
    np.testing.assert_array_equal(found.model, descent.model)
    np.testing.assert_array_equal(found.steps, descent.steps)


@losses
def test_limits_and_callbacks_hold_across_the_hand_over(loss, monkeypatch):
    descend_for(monkeypatch, 5)
    X, targets = problem(loss)
    passes = []
    after = lambda number, model: passes.append((number, model().shape))
    job = job_of(X, targets, loss, (1e-6,), tol=1e-9, max_passes=20)
    found = solve(job, hooks=Hooks(after_pass=after))
    assert [number for number, _ in passes] == list(range(1, len(passes) + 1))
    assert found.steps[0] <= 20 * len(X)
    best = optimum(X, targets, loss, 1e-6)
    assert found.certificate.dual[0] <= best.objective + 1e-8
    for number in (3, 7):  # while descending, and after
        stopped = solve(job, hooks=Hooks(after_pass=lambda done, model, last=number: done == last))
        assert stopped.steps[0] <= number * len(X)
        assert stopped.certificate.dual[0] <= best.objective + 1e-8


@kinks
@pytest.mark.parametrize("method", ["dcd", "relay", "stream"])
def test_a_dual_solver_goes_on_from_newton_s_method_with_bounds_that_hold(loss, method):
    X, targets = problem(loss)
    first = solve(job_of(X, targets, loss, (0.001,), "newton", tol=0.05))
    best = optimum(X, targets, loss, 0.001)
    for n_passes in (1, 5, 300):
        job = job_of(X, targets, loss, (0.001,), method, tol=1e-9, max_passes=n_passes)
        again = solve(job, start=first.state)
        assert again.certificate.dual[0] <= best.objective + 1e-9
        assert again.certificate.objective[0] >= best.objective - 1e-9


@pytest.mark.parametrize("lam", [0.1, 1e-3, 1e-5])
def test_newton_s_method_recovers_from_a_model_far_from_the_optimum(data_folder, lam):
    found = datasets.load("covtype")
    X, targets = found.X[:300].astype(float), np.where(found.y[:300] == 2, 1.0, -1.0)
    start = solve(job_of(X, targets, "hinge", (lam,), "dcd", tol=1e-9, max_passes=15)).state
    again = solve(job_of(X, targets, "hinge", (lam,), "newton", tol=1e-3, max_passes=60), start=start)
    assert again.certificate.relative_gap[0] <= 1e-3


@pytest.mark.parametrize(
    "load", [load_breast_cancer, load_wine, load_iris, load_diabetes], ids=lambda load: load.__name__
)
@pytest.mark.parametrize("scaled", [True, False], ids=["standardised", "raw"])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
def test_tables_of_few_features_end_at_their_optimum_whatever_C(load, scaled, C):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X) if scaled else X
    kind = PegasosRegressor if load is load_diabetes else PegasosClassifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ConvergenceWarning)
        model = kind(C=C).fit(X, y)
    assert np.all(model.converged_)
    exact = kind(C=C, solver="newton", tol=1e-7).fit(X, y)
    excess = np.asarray(model.objective_) - np.asarray(exact.objective_)
    assert np.all(excess <= model.dual_gap_ + 1e-9 * np.abs(exact.objective_))


@pytest.mark.parametrize("tol", [None, 1e-12])
@pytest.mark.parametrize("passes", [1, 0.3, 3])
def test_a_share_of_an_odd_number_of_steps_ends(tol, passes):
    """Descent takes half of the steps: of 61 rows and one pass that is none that a column can stop at."""
    X, targets = problem("hinge", n_rows=61)
    solution = solve(job_of(X, targets, "hinge", [1e-3], max_passes=passes, tol=tol))
    assert solution.steps.max() <= max(1, passes * 61)
