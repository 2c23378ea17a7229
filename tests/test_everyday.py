"""The everyday fit: who sets no parameter gets the optimum, the same each time, or a warning that says what to do."""

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, cpu_count, delayed
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import pegasos
from conftest import classes_problem
from pegasos import Checkpoint, PegasosClassifier, PegasosRegressor, PegasosSearchCV
from pegasos.backends.threads import blas_threads, threads_limited
from pegasos.estimators import training
from pegasos.estimators.solving import is_textbook
from pegasos.solver import checkpoint_file, choice
from pegasos.solver.solve import SOLVERS
from reference import hinge_optimum
from reference_losses import smooth_optimum

FIXTURES = Path(__file__).parent / "fixtures"
X, Y = classes_problem(3)
ONE, TWO = classes_problem(2)
TARGETS = ONE[:, 0] + 0.1 * ONE[:, 1] ** 2


def fitted_in_silence(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y)


# --- the default ends at the optimum ----------------------------------------------------------------------------------

CASES = {
    "linear": {},
    "squared hinge": {"loss": "squared_hinge"},
    "log loss": {"loss": "log_loss"},
    "one-vs-one": {"multi_class": "ovo"},
    "Crammer–Singer": {"multi_class": "crammer_singer"},
    "rbf": {"kernel": "rbf"},
    "rbf, log loss": {"kernel": "rbf", "loss": "log_loss"},
    "poly": {"kernel": "poly"},
    "landmarks": {"kernel": "rbf", "n_landmarks": 20},
    "balanced": {"class_weight": "balanced", "C": 10.0},
    "large C": {"C": 100.0},
    "small lam": {"lam": 1e-4},
}


@pytest.mark.parametrize("params", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix, np.float32], ids=["dense", "CSR", "float32"])
def test_a_fit_ends_at_the_optimum_in_silence(params, rows):
    model = fitted_in_silence(PegasosClassifier(**params), rows(X), Y)
    assert model.converged_.all()
    assert (model.relative_gap_ <= 1e-3).all()
    zero = np.log(2) if model.loss == "log_loss" else 1.0
    np.testing.assert_allclose(zero * model.relative_gap_, model.dual_gap_, rtol=1e-6)


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}, {"loss": "squared_epsilon_insensitive"}, {"C": 100.0}])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_regression_ends_at_the_optimum_in_silence(params, n_targets):
    targets = TARGETS if n_targets == 1 else np.column_stack([TARGETS, -TARGETS])
    model = fitted_in_silence(PegasosRegressor(**params), ONE, targets)
    assert model.converged_.shape == (n_targets,)
    assert model.converged_.all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_optimum_is_that_of_an_independent_solver(loss, C, kernel):
    model = fitted_in_silence(PegasosClassifier(kernel=kernel, gamma=0.3, loss=loss, C=C), ONE, TWO)
    y = np.where(TWO == 1, 1.0, -1.0)
    K = ONE @ ONE.T + 1 if kernel == "linear" else np.exp(-0.3 * ((ONE[:, None] - ONE[None]) ** 2).sum(axis=2))
    best = (hinge_optimum if loss == "hinge" else partial(smooth_optimum, loss))(K, y, 1 / (C * len(y)))
    zero = np.log(2) if loss == "log_loss" else 1.0
    assert best.dual - 1e-9 <= model.objective_[0] <= best.objective + 1e-3 * zero + 1e-9


def test_unseeded_fits_are_the_same():
    one, other = (PegasosClassifier(kernel=kernel).fit(X, Y) for kernel in ("linear", "linear"))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    one, other = (PegasosClassifier(kernel="rbf").fit(X, Y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    steps = [PegasosClassifier(solver="pegasos").fit(X, Y).coef_ for _ in range(2)]
    assert (steps[0] != steps[1]).any()


def test_the_textbook_s_fit_is_twenty_passes_and_silent():
    model = fitted_in_silence(PegasosClassifier(solver="pegasos", lam=0.1, random_state=0), X, Y)
    assert model.t_.tolist() == [20 * len(Y)] * 3
    assert not fitted_in_silence(PegasosClassifier(solver="pegasos", lam=0.1, max_iter=1), X, Y).converged_.all()


def test_the_passes_of_a_fit_are_max_iter_and_its_steps_max_steps():
    with pytest.warns(ConvergenceWarning):
        model = PegasosClassifier(C=1000.0, solver="dcd", max_iter=3).fit(ONE, TWO)
    assert model.n_iter_ <= 3 * len(TWO)
    assert PegasosClassifier(max_steps=17, lam=1.0).fit(ONE, TWO).n_iter_ == 17
    assert PegasosClassifier(max_steps=17, lam=1.0, max_iter=0.1).fit(ONE, TWO).n_iter_ == 6


def test_lam_overrides_C():
    by_lam = PegasosClassifier(lam=0.01, C=123.0).fit(ONE, TWO)
    np.testing.assert_array_equal(by_lam.coef_, PegasosClassifier(lam=0.01).fit(ONE, TWO).coef_)
    np.testing.assert_allclose(by_lam.coef_, PegasosClassifier(C=1 / (0.01 * len(TWO))).fit(ONE, TWO).coef_, rtol=1e-9)


# --- which solver -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {"solver": "pegasos"}, {"batch_size": 4}, {"batch_size": "all"}, {"sampling": "cyclic"}, {"average": False},
        {"average": "uniform"}, {"project": True}, {"max_steps": 100}, {"kernel": "sigmoid"},
    ],
    ids=str,
)  # fmt: skip
def test_what_only_pegasos_has_chooses_it(params):
    model = PegasosClassifier(**params, random_state=0)
    assert is_textbook(model)
    explicit = PegasosClassifier(**{**params, "solver": "pegasos", "tol": None}, random_state=0)
    np.testing.assert_array_equal(model.fit(X, Y).decision_function(X), explicit.fit(X, Y).decision_function(X))


@pytest.mark.parametrize("name", sorted(set(SOLVERS) - {"gram"}))  # which many fits at once take
def test_the_method_that_is_named_is_taken(name, monkeypatch):
    taken = []
    solver = SOLVERS[name]
    monkeypatch.setitem(SOLVERS, name, lambda *args, **kwargs: taken.append(name) or solver(*args, **kwargs))
    monkeypatch.setattr(choice, "TINY", 0)  # else Newton's method alone takes rows as few as these
    parameter = {"stream": "sdca", "relay": "auto"}.get(name, name)
    PegasosClassifier(solver=parameter, kernel="rbf" if name == "smo" else "linear").fit(X, Y)
    assert taken == [name]


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"solver": "dcd", "batch_size": 2}, "solver='dcd' takes batch_size=1"),
        ({"solver": "newton", "project": True}, "solver='newton' takes project=False"),
        ({"solver": "sdca", "batch_size": "all"}, "solver='sdca' takes batch_size=1"),
        ({"solver": "dcd", "kernel": "rbf"}, "for linear models; kernel='rbf' takes solver='auto' or 'sdca'"),
        ({"solver": "newton", "multi_class": "crammer_singer"}, "takes columns one by one"),
        ({"solver": "dcd", "checkpoint": "here"}, "keeps no checkpoints; use solver='auto' or 'sdca'"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
        ({"kernel": "sigmoid", "tol": 1e-2}, "kernel='sigmoid' is indefinite and has none; set tol=None"),
        ({"C": None}, "The 'C' parameter"),
        ({"max_passes": 3}, "max_passes"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(params, sentence, tmp_path):
    with pytest.raises((ValueError, TypeError), match=sentence.replace("(", r"\(")):
        PegasosClassifier(**params).fit(X, Y)


# --- warnings ---------------------------------------------------------------------------------------------------------


def warnings_of(model, X, y) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert {warning.filename for warning in caught} <= {__file__}  # the user's own line
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("params", "advice"),
    [
        ({"solver": "dcd"}, "Raise max_iter or tol, or lower C."),
        ({"solver": "sdca", "lam": 1e-6}, "Raise max_iter or tol, or raise lam."),
        ({"kernel": "rbf", "C": 1e6}, "Raise max_iter or tol, or lower C."),
        (
            {"solver": "pegasos", "tol": 1e-4, "C": 0.1},
            "Raise max_iter, lower C, or use the default solver='auto', which ends at the optimum.",
        ),
    ],
)
def test_a_missed_tol_warns_once_with_advice_that_fits(params, advice):
    (message,) = warnings_of(PegasosClassifier(**{"C": 1e4, "max_iter": 2, "random_state": 0} | params), X, Y)
    assert "with a relative gap of" in message
    assert message.endswith(advice)
    assert "of 3 columns" in message


def test_an_objective_above_the_zero_model_s_warns_whatever_was_asked_for():
    model = PegasosClassifier(solver="pegasos", lam=1e-6, average=False, max_iter=1, random_state=0)
    (message,) = warnings_of(model, ONE, TWO)
    assert "worse than the 1 of a model that is 0 everywhere" in message
    assert message.endswith("Raise max_iter, raise lam, or use the default solver='auto', which ends at the optimum.")


# --- going on ---------------------------------------------------------------------------------------------------------


def test_a_warm_start_goes_on_with_the_same_rows_and_begins_anew_with_others():
    model = PegasosClassifier(warm_start=True, C=1.0).fit(ONE, TWO)
    steps = model.n_iter_
    model.set_params(C=1.1).fit(ONE, TWO)
    assert model.n_iter_ > steps  # t goes on
    assert model.converged_.all()
    model.fit(ONE[:40], TWO[:40])
    np.testing.assert_array_equal(model.coef_, PegasosClassifier(C=1.1).fit(ONE[:40], TWO[:40]).coef_)


def test_partial_fit_goes_on_from_the_optimum():
    model = PegasosClassifier(lam=0.05, random_state=0).fit(ONE, TWO)
    steps, before = model.n_iter_, model.coef_.copy()
    assert steps > 0
    model.partial_fit(ONE, TWO)
    assert model.n_iter_ == steps + len(TWO)
    assert np.abs(model.coef_ - before).max() < 0.2 * np.abs(before).max() + 1 / (0.05 * steps)
    assert not hasattr(model, "converged_")


def test_n_jobs_limits_the_threads_of_a_fit(monkeypatch):
    seen, solved = [], training._solved
    monkeypatch.setattr(training, "_solved", lambda *args: seen.append(blas_threads()) or solved(*args))
    for n_jobs in (1, 2, -1, None):
        PegasosClassifier(n_jobs=n_jobs).fit(X, Y)
    assert seen[:2] == [1, 2]


def threads_of_a_fit(_=None) -> int:
    with threads_limited():
        return blas_threads()


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_fits_beside_each_other_in_workers_of_joblib_have_fewer_threads(backend, monkeypatch):
    """All cores are divided among the workers; a fit by itself may use them all."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)  # which would limit the workers, too
    with Parallel(n_jobs=2, backend=backend) as parallel:
        found = parallel(delayed(threads_of_a_fit)(number) for number in range(2))
    assert max(found) <= max(1, threads_of_a_fit() if backend == "threading" else cpu_count() // 2)


def test_the_model_does_not_depend_on_the_threads():
    for params in ({}, {"loss": "log_loss"}, {"kernel": "rbf"}):
        one, two = (PegasosClassifier(n_jobs=n_jobs, **params).fit(X, Y).decision_function(X) for n_jobs in (1, 2))
        np.testing.assert_array_equal(one, two)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}, {"lam": 0.05}, {"loss": "squared_hinge"}])
def test_a_saved_model_knows_how_it_ended(params, tmp_path):
    model = PegasosClassifier(**params, random_state=0).fit(X, Y)
    model.save(tmp_path / "model")
    found = pegasos.load(tmp_path / "model")
    for name in ("relative_gap_", "converged_", "objective_", "dual_gap_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(model, name))
    assert found.get_params() == model.get_params()
    if "lam" in params:
        np.testing.assert_array_equal(found.partial_fit(X, Y).coef_, model.partial_fit(X, Y).coef_)


def test_models_of_format_1_have_the_present_names_of_parameters():
    model = pegasos.load(FIXTURES / "format-1-linear.safetensors")
    known = {name: getattr(model, name) for name in ("solver", "tol", "lam", "C", "max_iter", "max_steps")}
    assert known == {"solver": "pegasos", "tol": None, "lam": 0.01, "C": 1.0, "max_iter": None, "max_steps": None}
    assert not hasattr(model, "relative_gap_")
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)  # goes on as it was meant then
    assert model.n_iter_ == 20 * len(y)


def test_a_fit_goes_on_from_a_checkpoint_of_format_1(tmp_path, monkeypatch):
    """The file was left by the last version of that format; its fit has other names of parameters now."""
    monkeypatch.setattr(checkpoint_file, "_with_versions", dict)
    path = tmp_path / "fit.part"
    path.write_bytes((FIXTURES / "format-1-checkpoint.safetensors").read_bytes())
    X, y = load_iris(return_X_y=True)
    settings = dict(solver="pegasos", lam=0.01, max_iter=20_000, random_state=3)
    resumed, unpack = [], checkpoint_file._unpack_snapshot
    monkeypatch.setattr(checkpoint_file, "_unpack_snapshot", lambda *args: resumed.append(1) or unpack(*args))
    model = PegasosClassifier(**settings, checkpoint=Checkpoint(path)).fit(X, y)
    assert resumed
    assert not path.exists()
    np.testing.assert_allclose(model.coef_, PegasosClassifier(**settings).fit(X, y).coef_, rtol=1e-9)


# --- the search -------------------------------------------------------------------------------------------------------


def test_cells_of_a_search_end_at_the_optimum_and_say_so():
    grid = {"C": [0.1, 1.0, 10.0]}
    search = fitted_in_silence(PegasosSearchCV(PegasosClassifier(), grid, cv=3), X, Y)
    assert (search.cv_results_["mean_gap"] <= 1e-3).all()
    scores = [search.cv_results_[f"split{number}_test_score"] for number in range(3)]
    for place, C in enumerate(grid["C"]):
        for number, (train, test) in enumerate(_folds(search)):
            alone = PegasosClassifier(C=C).fit(X[train], Y[train])
            assert alone.score(X[test], Y[test]) == pytest.approx(scores[number][place], abs=1.01 / len(test))


def _folds(search):
    from sklearn.model_selection import check_cv

    return check_cv(search.cv, Y, classifier=True).split(X, Y)


def test_a_search_that_misses_tol_warns_once_with_the_number_of_cells():
    model = PegasosClassifier(solver="dcd", max_iter=20)
    search = PegasosSearchCV(model, {"C": [0.01, 1e5]}, cv=3, refit=False)
    (message,) = warnings_of(search, ONE, TWO)
    assert message.startswith("3 of 6 cells ended with a relative gap above tol: cv_results_['mean_gap'] tells which.")
    small, large = search.cv_results_["mean_gap"]
    assert small <= 1e-3 < large


def test_the_textbook_s_cells_have_no_gap():
    search = PegasosSearchCV(PegasosClassifier(solver="pegasos"), {"C": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert "mean_gap" not in search.cv_results_


def test_C_in_a_grid_beside_a_lam_that_overrides_it_is_refused():
    with pytest.raises(ValueError, match="values of C, which play no part while lam=0.1; set lam=None"):
        PegasosSearchCV(PegasosClassifier(lam=0.1), {"C": [1, 10]}).fit(X, Y)


def test_steps_in_a_grid_are_the_textbook_s_and_none_of_them_the_optimum_s():
    grid = {"max_steps": [20, None], "lam": [0.01]}
    search = PegasosSearchCV(PegasosClassifier(random_state=0), grid, cv=3, refit=False).fit(X, Y)
    gaps = search.cv_results_["mean_gap"]
    assert np.isnan(gaps[0])
    assert gaps[1] <= 1e-3


def test_a_regression_like_the_one_in_the_readme_of_scikit_learn():
    rows, y = load_diabetes(return_X_y=True)
    model = fitted_in_silence(PegasosRegressor(C=10.0), scale(rows), y)
    assert model.score(scale(rows), y) > 0.45
