"""Fits of `pegasos.distributed` on Dask's own threads: the optimum, the certificate, kinds of collections, errors."""

import itertools
import os
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import pegasos
import reference
import reference_losses
from pegasos.problem.columns import one_vs_rest
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows
from pegasos.rules.column import Rule
from pegasos.rules.state import State
from solving import solve

da = pytest.importorskip("dask.array")
import dask  # noqa: E402

from pegasos.distributed import PegasosClassifier, PegasosRegressor, local_solver, partitions, survey, workers  # noqa: E402
from pegasos.distributed import base as distributed_base  # noqa: E402
from pegasos.estimators.targets import recipe_of  # noqa: E402

DIGITS, DIGIT = load_digits(return_X_y=True)
DIGITS = DIGITS[:600] / 16
DIGIT = DIGIT[:600]
EVEN = np.where(DIGIT % 2 == 0, 1, -1)
LAM = 1e-2


def blocks_of(X, sizes):
    """A Dask array of CSR or dense chunks of these sizes."""
    edges = np.cumsum([0, *sizes])
    parts = [X[first:last] for first, last in itertools.pairwise(edges)]
    return da.concatenate(
        [da.from_delayed(dask.delayed(part), part.shape, dtype=X.dtype, meta=part[:0]) for part in parts]
    )


def chunked(X, y, sizes=(200, 250, 150)):
    return blocks_of(X, sizes), da.from_array(y, chunks=(tuple(sizes),))


@pytest.fixture(params=[1, 3])
def n_solvers(request, monkeypatch):
    """So many local solvers, whatever threads there are."""
    monkeypatch.setattr(workers, "blas_threads", lambda: request.param)
    return request.param


def columns_of(model, y):
    """The targets of each column of a one-vs-rest model."""
    classes = model.classes_ if len(model.classes_) > 2 else model.classes_[1:]
    return [np.where(y == label, 1.0, -1.0) for label in classes]


# --- the algorithm --------------------------------------------------------------------------------


def test_a_round_of_one_local_solver_is_a_pass_of_the_solver_itself():
    part = partitions.Partition(DIGITS, EVEN, None)
    model = PegasosClassifier(lam=LAM)
    surveyed = survey.survey_partition(part, survey.SurveyRequest(True, 1.0, False))
    found = distributed_base.plan_of(recipe_of(model), survey.DataSurvey([surveyed]), weighted=False)
    solver = local_solver.LocalSolver([part], found)
    duals = local_solver.DualVariables(solver)
    none = np.zeros((found.n_state, 1))
    request = local_solver.RoundRequest(1, np.ones(1, bool), none, None, np.ones(1), np.ones(1), 2.0, 7)
    change = solver.round(duals, request).change
    problems = one_vs_rest((EVEN > 0).astype(int), 2).with_lam(LAM)
    schedule = Schedule(seed=local_solver.seed_of(7, 1, 0), max_passes=2, certified=False)
    expected = solve(DenseRows(DIGITS, 1.0), problems, Rule.SDCA, schedule)
    np.testing.assert_allclose(change, expected.model, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(duals.alpha, expected.state.alpha, rtol=1e-10, atol=1e-12)


def test_a_state_from_duals_goes_on_from_its_model():
    problems = one_vs_rest((EVEN > 0).astype(int), 2).with_lam(LAM)
    once = solve(DenseRows(DIGITS, 0.0), problems, Rule.SDCA, Schedule(seed=1, max_passes=1, certified=False)).state
    state = State.from_duals(once.sums, once.alpha, problems.lam)
    again = solve(DenseRows(DIGITS, 0.0), problems, Rule.SDCA, Schedule(seed=2, max_passes=30), state=state)
    best = reference.hinge_optimum(DIGITS @ DIGITS.T, EVEN.astype(float), LAM)
    assert again.certificate.objective[0] <= 1.01 * best.objective


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_within_a_hundredth_of_the_optimum_and_the_gap_is_true(loss, weighted, n_solvers):
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(EVEN)) if weighted else None
    model = PegasosClassifier(lam=LAM, loss=loss, tol=1e-3, fit_intercept=False, random_state=0)
    given = None if weights is None else da.from_array(weights, chunks=100)
    model.fit(*chunked(DIGITS, EVEN), sample_weight=given)
    gram, signs = DIGITS @ DIGITS.T, EVEN.astype(float)
    if loss == "hinge":
        best = reference.hinge_optimum(gram, signs, LAM, weights=weights)
    else:
        best = reference_losses.optimum_of(loss, gram, signs, LAM, weights=weights)
    scores = DIGITS @ model.coef_[0]
    reached = reference_losses.objective(loss, scores, EVEN, LAM, float(model.coef_[0] @ model.coef_[0]), weights)
    assert model.objective_[0] == pytest.approx(reached, rel=1e-9)
    assert reached <= 1.01 * best.objective
    assert reached - best.objective <= model.dual_gap_[0] + 1e-9
    assert model.dual_gap_[0] <= 1e-3
    assert model.history_[-1]["gap"] == model.dual_gap_[0]
    assert model.n_rounds_ == model.history_[-1]["round"]


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
def test_all_schemes_of_classes_reach_their_optimum(scheme, n_solvers):
    ours = PegasosClassifier(lam=LAM, multi_class=scheme, tol=3e-3, random_state=0).fit(*chunked(DIGITS, DIGIT))
    alone = pegasos.PegasosClassifier(lam=LAM, multi_class=scheme, solver="sdca", tol=1e-4, random_state=0)
    alone.fit(DIGITS, DIGIT)
    assert ours.coef_.shape == alone.coef_.shape
    assert (ours.objective_ <= alone.objective_ + 3e-3).all()
    assert (ours.dual_gap_ <= 3e-3 + 1e-12).all()
    assert ours.score(DIGITS, DIGIT) == pytest.approx(alone.score(DIGITS, DIGIT), abs=0.02)


def test_class_weights_and_zero_weights_count_over_all_workers():
    weights = np.ones(len(DIGIT))
    weights[:150] = 0.0
    ours = PegasosClassifier(lam=LAM, tol=1e-3, class_weight="balanced", random_state=0)
    ours.fit(*chunked(DIGITS, EVEN), sample_weight=weights)
    alone = pegasos.PegasosClassifier(lam=LAM, tol=1e-4, class_weight="balanced", solver="sdca", random_state=0)
    alone.fit(DIGITS[150:], EVEN[150:])
    assert ours.objective_[0] == pytest.approx(alone.objective_[0], abs=2e-3)


def test_C_refers_to_the_rows_of_all_workers():
    ours = PegasosClassifier(C=0.1, tol=1e-3, random_state=0).fit(*chunked(DIGITS, EVEN))
    alone = pegasos.PegasosClassifier(C=0.1, tol=1e-4, solver="sdca", random_state=0).fit(DIGITS, EVEN)
    assert ours.objective_[0] == pytest.approx(alone.objective_[0], abs=2e-3)


def test_regression_with_one_target_and_with_several(n_solvers):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), scale(y)
    for targets in (y, np.c_[y, -2 * y]):
        ours = PegasosRegressor(lam=LAM, tol=2e-3, random_state=0).fit(*_two_chunks(X, targets))
        alone = pegasos.PegasosRegressor(lam=LAM, tol=1e-4, solver="sdca", random_state=0).fit(X, targets)
        assert (ours.objective_ <= 1.01 * alone.objective_).all()
        assert ours.predict(X).shape == targets.shape
        assert ours.score(X, targets) == pytest.approx(alone.score(X, targets), abs=0.02)


def _two_chunks(X, y):
    return da.from_array(X, chunks=(300, -1)), da.from_array(y, chunks=(300, -1) if y.ndim == 2 else 300)


@pytest.mark.parametrize("how", ["uniform", "k-means++"])
def test_landmarks_are_chosen_over_all_partitions_and_predict_alone(how, n_solvers):
    params = dict(kernel="rbf", gamma=0.1, lam=1e-3, n_landmarks=120, landmarks=how, random_state=0)
    ours = PegasosClassifier(**params, tol=1e-2).fit(*chunked(DIGITS, DIGIT))
    alone = pegasos.PegasosClassifier(**params, solver="sdca", tol=1e-2).fit(DIGITS, DIGIT)
    assert ours.support_vectors_.shape == (120, 64)
    np.testing.assert_array_equal(ours.support_vectors_, DIGITS[ours.support_])
    assert ours.n_support_.sum() == 120
    assert len(np.unique(np.digitize(ours.support_, [200, 450]))) == 3
    assert ours.score(DIGITS, DIGIT) == pytest.approx(alone.score(DIGITS, DIGIT), abs=0.03)


def test_the_same_seed_gives_the_same_model(n_solvers):
    first, second = (PegasosClassifier(lam=LAM, random_state=3).fit(*chunked(DIGITS, DIGIT)) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.dual_gap_, second.dual_gap_)


# --- collections ----------------------------------------------------------------------------------


def test_dense_and_csr_chunks_and_blocks_of_columns_reach_the_same_objective():
    model = PegasosClassifier(lam=LAM, random_state=0)
    dense = clone(model).fit(*chunked(DIGITS, DIGIT))
    rows, labels = chunked(DIGITS, DIGIT)
    for X in (blocks_of(sparse.csr_matrix(DIGITS), (200, 250, 150)), rows.rechunk({1: 20})):
        other = clone(model).fit(X, labels)
        np.testing.assert_allclose(other.objective_, dense.objective_, atol=1e-3)
    assert dense.predict(rows).compute().tolist() == dense.predict(DIGITS).tolist()


def test_labels_in_other_chunks_and_in_memory_are_cut_as_the_rows_are():
    rows, labels = chunked(DIGITS, DIGIT)
    expected = PegasosClassifier(lam=LAM, random_state=0).fit(rows, labels).coef_
    for y in (labels.rechunk(77), DIGIT, DIGIT.tolist()):
        found = PegasosClassifier(lam=LAM, random_state=0).fit(rows, y).coef_
        np.testing.assert_array_equal(found, expected)


def test_dataframes_keep_the_names_of_their_features_and_text_labels():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(DIGITS, columns=[f"pixel {i}" for i in range(64)])
    frame["label"] = np.array(["odd", "even"])[(EVEN > 0).astype(int)]
    table = dd.from_pandas(frame, npartitions=3)
    X = table.drop(columns="label")
    model = PegasosClassifier(lam=LAM, random_state=0).fit(X, table["label"])
    assert model.feature_names_in_.tolist() == list(frame.columns[:-1])
    assert model.classes_.tolist() == ["even", "odd"]
    predicted = model.predict(X).compute()
    assert (predicted == frame["label"].to_numpy(object)).mean() > 0.85
    assert model.score(X, table["label"]) == pytest.approx((predicted == frame["label"].to_numpy(object)).mean())


def test_chunks_of_unknown_length_and_empty_ones_are_fine():
    rows, labels = chunked(DIGITS, DIGIT)
    kept = da.from_array(DIGIT < 8, chunks=labels.chunks) & (labels != 3)
    X, y = rows[kept], labels[kept]
    assert np.isnan(X.shape[0])
    model = PegasosClassifier(lam=LAM, random_state=0).fit(X, y)
    inside = (DIGIT < 8) & (DIGIT != 3)
    assert model.score(DIGITS[inside], DIGIT[inside]) > 0.9
    some = da.from_array(np.arange(600) >= 200, chunks=labels.chunks)  # the first partition is left without rows
    assert PegasosClassifier(lam=LAM, random_state=0).fit(rows[some], labels[some]).t_.min() > 0


def test_predictions_of_collections_are_lazy_and_those_of_arrays_are_not():
    rows, labels = chunked(DIGITS, EVEN)
    model = PegasosClassifier(lam=LAM, loss="log_loss", random_state=0).fit(rows, labels)
    for method in ("predict", "decision_function", "predict_proba"):
        lazy = getattr(model, method)(rows)
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(lazy.compute(), getattr(model, method)(DIGITS), rtol=1e-12)


def test_a_saved_model_is_an_ordinary_one(tmp_path):
    model = PegasosClassifier(lam=LAM, random_state=0).fit(*chunked(DIGITS, DIGIT))
    model.save(tmp_path / "model.safetensors")
    loaded = pegasos.load(tmp_path / "model.safetensors")
    assert type(loaded) is pegasos.PegasosClassifier
    np.testing.assert_array_equal(loaded.decision_function(DIGITS), model.decision_function(DIGITS))


# --- ends and errors ------------------------------------------------------------------------------


def test_a_gap_that_is_not_reached_is_a_warning_that_says_so():
    model = PegasosClassifier(lam=1e-5, tol=1e-6, max_rounds=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"above tol=1e-06, after 2 rounds"):
        model.fit(*chunked(DIGITS, DIGIT))
    assert model.n_rounds_ == 2
    with pytest.warns(ConvergenceWarning, match="above tol"):
        PegasosClassifier(lam=1e-7, tol=1e-9, max_time=0.2, random_state=0).fit(*chunked(DIGITS, DIGIT))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda X, y: (X, y[:-1]), "length|rows"),
        (lambda X, y: (da.where(X.max() == X, np.nan, X), y), "NaN"),
        (lambda X, y: (X, da.zeros_like(y)), "at least 2 classes"),
        (lambda X, y: (X, y + 0.5), "continuous|classes"),
        (lambda X, y: (X, None), "y is None"),
    ],
)
def test_bad_collections_are_errors_in_a_sentence(change, match):
    rows, labels = chunked(DIGITS, DIGIT)
    model = PegasosClassifier(lam=LAM)
    with pytest.raises(ValueError, match=match):
        model.fit(*change(rows, labels))
    assert not hasattr(model, "coef_")


def test_a_kernel_needs_landmarks_and_negative_weights_are_refused():
    rows, labels = chunked(DIGITS, DIGIT)
    with pytest.raises(ValueError, match="n_landmarks"):
        PegasosClassifier(kernel="rbf").fit(rows, labels)
    with pytest.raises(ValueError, match="[Nn]egative"):
        PegasosClassifier().fit(rows, labels, sample_weight=-np.ones(600))
    with pytest.raises(ValueError, match="tol"):
        PegasosClassifier(tol=-1).fit(rows, labels)


def test_clones_and_parameters_follow_scikit_learn():
    model = PegasosClassifier(lam=0.5, tol=0.1, local_passes=2)
    assert clone(model).get_params() == model.get_params()
    assert "distributed" in type(model).__module__
    assert set(distributed_base.SHARED) <= set(model.get_params())


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("PEGASOS_DATA"), reason="PEGASOS_DATA is not set: rcv1 is not available")
def test_rcv1_reaches_a_gap_of_a_hundredth_in_few_rounds(n_solvers):
    found = pegasos_data("rcv1")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = PegasosClassifier(lam=1e-4, random_state=0).fit(blocks_of(found.X, _even(found.X.shape[0], 8)), found.y)
    alone = pegasos.PegasosClassifier(lam=1e-4, solver="sdca", tol=1e-4, random_state=0).fit(found.X, found.y)
    assert model.dual_gap_[0] <= 2e-3
    assert model.objective_[0] <= 1.01 * alone.objective_[0]
    assert model.n_rounds_ <= 20


def pegasos_data(name):
    from pegasos import datasets

    return datasets.load(name)


def _even(n_rows, parts):
    return np.diff(np.linspace(0, n_rows, parts + 1).astype(int)).tolist()
