"""The certificate: `dual_gap_` bounds the true suboptimality, and the convergence bounds of Pegasos hold."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from conftest import classes_problem
from reference import hinge_objective, hinge_optimum
from textbook import pegasos_classifier

ROUNDING = 1e-9


def random_problem(seed):
    """(estimator parameters, X, y in {-1, 1}, weights or None, kernel matrix with the bias in it, lam)."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.integers(12, 70)), int(rng.integers(1, 7))
    X = rng.normal(size=(n_rows, n_features))
    y = np.where(X @ rng.normal(size=n_features) + rng.normal(size=n_rows) > 0, 1, -1)
    y[:2] = -1, 1
    weights = rng.uniform(0.1, 4.0, n_rows) if rng.random() < 0.5 else None
    lam = float(10 ** rng.uniform(-3, 0))
    kernel = ("linear", "rbf")[seed % 2]
    gamma = float(10 ** rng.uniform(-1, 0.5))
    bias = bool(rng.random() < 0.5)
    K = linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=gamma)
    params = dict(kernel=kernel, gamma=gamma, lam=lam, fit_intercept=bias, random_state=seed)
    return params, X, y, weights, K + bias, lam


def random_settings(seed):
    """One way of running the solver; the 50 seeds meet every rule, sampling, average and kind of batch."""
    rng = np.random.default_rng(1000 + seed)
    average = (False, "uniform", "weighted", "suffix")[seed // 2 % 4]
    length = {"max_iter": int(rng.integers(1, 30))} if rng.random() < 0.5 else {"max_steps": int(rng.integers(1, 400))}
    if seed % 5 == 4:
        return dict(solver="sdca", average=average, **length)
    return dict(
        solver="pegasos",
        average=average,
        sampling=("shuffle", "replacement", "cyclic")[seed % 3],
        batch_size=(1, 7, "all")[int(rng.integers(3))],
        project=bool(rng.random() < 0.3),
        **length,
    )


@pytest.mark.parametrize("seed", range(50))
def test_gap_is_at_least_the_true_suboptimality(seed):
    params, X, y, weights, K, lam = random_problem(seed)
    model = pegasos_classifier(**params, **random_settings(seed)).fit(X, y, sample_weight=weights)
    optimum = hinge_optimum(K, y, lam, weights=weights)
    assert model.objective_[0] >= optimum.dual - ROUNDING, "no model is better than the optimum"
    assert model.dual_gap_[0] >= model.objective_[0] - optimum.objective - ROUNDING


@pytest.mark.parametrize("seed", range(50))
def test_objective_is_that_of_the_returned_model(seed):
    params, X, y, weights, _, lam = random_problem(seed)
    model = pegasos_classifier(**params, **random_settings(seed)).fit(X, y, sample_weight=weights)
    if params["kernel"] == "linear":
        squared_norm = float(np.sum(model.coef_**2) + model.intercept_[0] ** 2)
    else:
        alpha = model.dual_coef_[0]
        K = rbf_kernel(model.support_vectors_, gamma=params["gamma"]) + params["fit_intercept"]
        squared_norm = float(alpha @ K @ alpha)
    expected = hinge_objective(model.decision_function(X), y, lam, squared_norm, weights)
    assert model.objective_[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(50))
def test_sdca_falls_below_the_gap_asked_for_and_is_that_close_to_the_optimum(seed):
    params, X, y, weights, K, lam = random_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = pegasos_classifier(**params, solver="sdca", average=False, tol=1e-3, max_iter=20_000)
        model.fit(X, y, sample_weight=weights)
    assert -ROUNDING <= model.dual_gap_[0] < 1e-3
    assert model.objective_[0] - hinge_optimum(K, y, lam, weights=weights).dual < 1e-3 + ROUNDING


@pytest.mark.parametrize("sampling", ["shuffle", "cyclic"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_pegasos_stops_at_the_gap_asked_for(binary, kernel, sampling):
    X, y = binary
    model = pegasos_classifier(kernel=kernel, lam=0.1, tol=0.02, sampling=sampling, random_state=0).fit(X, y)
    assert model.dual_gap_[0] <= 0.02
    assert model.n_iter_ < 1000 * len(y), "it stopped because of tol, not of the passes"


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
def test_every_column_has_its_own_certificate(multiclass, multi_class, solver):
    X, y = multiclass
    model = pegasos_classifier(
        kernel="rbf", gamma=0.5, lam=0.05, multi_class=multi_class, solver=solver, random_state=0
    )
    model.fit(X, y)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    columns = [(None, c) for c in range(4)] if multi_class == "ovr" else pairs
    assert model.dual_gap_.shape == model.objective_.shape == (len(columns),)
    for (other, positive), objective, gap in zip(columns, model.objective_, model.dual_gap_, strict=True):
        rows = np.full(len(y), True) if other is None else (y == other) | (y == positive)
        target = np.where(y[rows] == positive, 1, -1)
        optimum = hinge_optimum(rbf_kernel(X[rows], gamma=0.5), target, 0.05)
        assert objective >= optimum.dual - ROUNDING
        assert gap >= objective - optimum.objective - ROUNDING


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("max_steps", [1, 10, 100, 1000])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_full_batch_uniform_average_keeps_the_bound_of_pegasos(kernel, max_steps, lam):
    X, y = classes_problem(2, seed=3)
    K = linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=0.5)
    radius = np.sqrt(K.diagonal().max())
    model = pegasos_classifier(
        kernel=kernel,
        gamma=0.5,
        lam=lam,
        batch_size="all",
        average="uniform",
        fit_intercept=False,
        max_steps=max_steps,
    ).fit(X, y)
    assert model.n_iter_ == max_steps
    suboptimality = model.objective_[0] - hinge_optimum(K, np.where(y == 1, 1, -1), lam).objective
    assert suboptimality <= 2 * radius**2 * (1 + np.log(max_steps)) / (lam * max_steps)


@pytest.mark.parametrize("average", [False, "uniform", "suffix", "weighted"])
@pytest.mark.parametrize("batch_size", [1, 7, "all"])
@pytest.mark.parametrize("max_steps", [1, 10, 300])
def test_norm_never_exceeds_radius_over_lam(binary, average, batch_size, max_steps):
    X, y = binary
    radius, lam = np.linalg.norm(X, axis=1).max(), 0.01
    model = pegasos_classifier(
        lam=lam, average=average, batch_size=batch_size, max_steps=max_steps, fit_intercept=False, random_state=0
    ).fit(X, y)
    assert np.linalg.norm(model.coef_) <= radius / lam * (1 + 1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_projection_keeps_the_last_iterate_in_the_ball(binary, kernel, lam):
    X, y = binary
    model = pegasos_classifier(
        kernel=kernel, gamma=0.5, lam=lam, project=True, average=False, max_steps=50, random_state=0
    )
    model.fit(X, y)
    if kernel == "linear":
        squared_norm = np.sum(model.coef_**2) + model.intercept_[0] ** 2
    else:
        alpha = model.dual_coef_[0]
        squared_norm = alpha @ rbf_kernel(model.support_vectors_, gamma=0.5) @ alpha
    assert squared_norm <= 1 / lam * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_missed_tol_warns_with_the_gap_reached(binary, solver, kernel):
    X, y = binary
    model = pegasos_classifier(kernel=kernel, solver=solver, lam=1e-3, tol=1e-9, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="gap") as caught:
        model.fit(X, y)
    (text,) = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    numbers = [float(number) for number in re.findall(r"\d+\.?\d*(?:[eE][+-]?\d+)?", text)]
    assert any(number == pytest.approx(model.dual_gap_.max(), rel=0.05) for number in numbers), text


def test_no_warning_without_tol(binary):
    X, y = binary
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pegasos_classifier(lam=100.0, max_steps=30, random_state=0).fit(X, y)


def test_an_objective_above_that_of_zero_warns_without_a_tol(binary):
    X, y = binary
    with pytest.warns(ConvergenceWarning, match="worse than the 1 of a model that is 0 everywhere"):
        pegasos_classifier(lam=1e-3, max_steps=1, random_state=0).fit(X, y)


def test_sigmoid_kernel_has_no_certificate(binary):
    X, y = binary
    model = pegasos_classifier(kernel="sigmoid", gamma=0.1, coef0=-0.5, lam=0.1, random_state=0).fit(X, y)
    assert np.isnan(model.dual_gap_).all()
    assert np.isfinite(model.objective_).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_tol_with_the_sigmoid_kernel_is_refused(binary):
    with pytest.raises(ValueError, match=r"(?s)(tol.*sigmoid|sigmoid.*tol)"):
        pegasos_classifier(kernel="sigmoid", tol=1e-2).fit(*binary)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_history_ends_with_the_certificate_of_the_model(multiclass, kernel):
    X, y = multiclass
    model = pegasos_classifier(kernel=kernel, solver="sdca", average=False, lam=0.1, tol=1e-4, random_state=0).fit(X, y)
    for name in ("step", "seconds"):
        values = [record[name] for record in model.history_]
        assert values == sorted(values)
    last = model.history_[-1]
    assert last["step"] == model.n_iter_
    assert last["objective"] == pytest.approx(model.objective_.mean())
    assert last["gap"] == pytest.approx(model.dual_gap_.max())
