"""Streamed fits: one run of Pegasos over all rows, however they are cut into chunks and windows."""

import signal
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import naive
import pegasos
from conftest import classes_problem
from pegasos import PegasosClassifier, PegasosRegressor, streaming
from pegasos.io import DataError, open_source
from pegasos.io.source import InMemorySource
from pegasos.streaming import run as running
from pegasos.streaming.prepare import Split
from pegasos.streaming.training import fit_stream
from streams import csv, libsvm, streamed
from textbook import pegasos_classifier, pegasos_regressor

SETTINGS = dict(lam=0.05, sampling="cyclic", random_state=0, max_iter=3)
WINDOWS = pytest.mark.parametrize("window", [1, 2000, 1 << 25], ids=["a chunk", "some chunks", "the file"])

CLASSIFIERS = {
    "binary": (2, dict()),
    "ovr": (4, dict()),
    "ovo": (4, dict(multi_class="ovo")),
    "crammer_singer": (4, dict(multi_class="crammer_singer")),
    "log_loss": (4, dict(loss="log_loss")),
    "squared_hinge": (4, dict(loss="squared_hinge")),
    "C": (4, dict(lam=None, C=2.0)),
    "ovo with C": (4, dict(lam=None, C=2.0, multi_class="ovo")),
    "balanced": (4, dict(class_weight="balanced", lam=None, C=0.5)),
    "ovo balanced": (4, dict(class_weight="balanced", multi_class="ovo")),
    "weights": (4, dict(class_weight={0: 3.0, 2: 0.5}, project=True, lam=1e-3)),
    "a class of no weight": (4, dict(class_weight={1: 0.0})),
    "last iterate": (4, dict(average=False)),
    "uniform": (4, dict(average="uniform")),
    "projected": (4, dict(project=True, lam=1e-3)),
    "without intercept": (2, dict(fit_intercept=False)),
    "steps": (4, dict(max_steps=77)),
    "steps of pairs": (4, dict(max_steps=77, multi_class="ovo")),
    "part of a pass": (4, dict(max_iter=1.6)),
    "less than a pass": (2, dict(max_iter=0.4)),
}


def problem(kind, n_rows=60):
    """Rows and labels that are not in order of their classes, and a classifier."""
    n_classes, params = CLASSIFIERS[kind]
    X, y = classes_problem(n_classes, n_rows=n_rows)
    if params.get("loss") == "squared_hinge":  # steps begin as small as the longest row asks
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X, y, pegasos_classifier(**SETTINGS | params)


def assert_same_model(model, expected, tolerance=1e-12):
    for name in ("coef_", "intercept_"):
        allowed = tolerance * max(1, abs(getattr(expected, name)).max())
        np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=0, atol=allowed)
    np.testing.assert_array_equal(model.t_, expected.t_)
    assert model.n_iter_ == expected.n_iter_
    if hasattr(expected, "classes_"):
        np.testing.assert_array_equal(model.classes_, expected.classes_)


# --- exactness ----------------------------------------------------------------------------------


@WINDOWS
@pytest.mark.parametrize("layout", ["csv", "libsvm"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_stream_in_the_order_of_the_file_gives_the_model_and_certificate_of_fit(
    kind, layout, window, write, monkeypatch
):
    X, y, model = problem(kind)
    path = write(csv(X, y) if layout == "csv" else libsvm(X, y), "rows.txt")
    expected = clone(model).fit(X if layout == "csv" else sparse.csr_matrix(X), y)
    found = streamed(model, path, window=window, monkeypatch=monkeypatch, scored=True)
    assert_same_model(model, expected)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-12)
    weighs = np.isin(y, model.classes_)
    assert found.score == pytest.approx(expected.score(X[weighs], y[weighs]), abs=1e-12)
    assert model.history_[-1]["step"] == model.n_iter_
    assert model.history_[-1]["gap"] == model.dual_gap_.max()
    linear = model.loss == "hinge" and model.max_iter >= 1 and model.max_steps is None
    if linear:  # else coefficients of single rows would be needed
        np.testing.assert_allclose(model.dual_gap_, expected.dual_gap_, rtol=1e-9, atol=1e-14)


@WINDOWS
@pytest.mark.parametrize("params", [dict(), dict(project=True, lam=1e-3), dict(lam=None, C=0.3)], ids=str)
def test_regression_on_a_stream_is_that_of_fit(params, window, write, monkeypatch):
    X, codes = classes_problem(4)
    y = X @ [1.0, -0.5, 0.2, 0.0] + 0.1 * codes
    model = pegasos_regressor(**SETTINGS | params)
    expected = clone(model).fit(X, y)
    found = streamed(model, write(csv(X, y)), window=window, monkeypatch=monkeypatch, scored=True)
    assert_same_model(model, expected)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-12)
    assert found.score == pytest.approx(expected.score(X, y), abs=1e-10)
    best = clone(model).set_params(solver="sdca", project=False, max_iter=100).fit(X, y)
    assert model.dual_gap_[0] >= model.objective_[0] - best.objective_[0]


@pytest.mark.parametrize("window", [1, 1 << 25])
def test_a_stream_is_the_textbook_loop(window, write, monkeypatch):
    X, y, model = problem("binary")
    streamed(model.set_params(average=False), write(csv(X, y)), window=window, monkeypatch=monkeypatch)
    signs, n = np.where(y == 1, 1.0, -1.0), len(y)
    K = X @ X.T + 1.0
    order = np.tile(np.arange(n), 3)
    iterates, _, _ = naive.pegasos(K, signs, np.ones(n), model.lam, order, 3 * n)
    np.testing.assert_allclose(model.coef_[0], X.T @ iterates[-1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.intercept_[0], iterates[-1].sum(), rtol=1e-10, atol=1e-12)
    best = naive.best_dual(K, signs, np.ones(n), model.lam, iterates, 1, "cyclic")
    reached = naive.primal(K, signs, np.ones(n), model.lam, iterates[-1])
    assert model.dual_gap_[0] == pytest.approx(reached - best, rel=1e-10)


@pytest.mark.parametrize("kind", ["binary", "ovr", "ovo", "crammer_singer", "squared_hinge"])
def test_windows_in_turn_are_calls_of_partial_fit(kind, write, monkeypatch):
    X, y, model = problem(kind)
    path = write(csv(X, y))
    source = open_source(path, chunk=400)
    cuts = np.cumsum([len(task().y) for task in source.tasks()])[:-1]
    online = clone(model)
    for part in [*np.split(np.arange(len(y)), cuts)] * 3:
        online.partial_fit(X[part], y[part], classes=np.unique(y))
    streamed(model, path, window=1, monkeypatch=monkeypatch)
    assert_same_model(model, online)


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge", "hinge"])
@pytest.mark.parametrize("params", [dict(), dict(sampling="replacement"), dict(batch_size=4)], ids=str)
def test_the_gap_bounds_the_distance_from_the_optimum_whatever_the_loss_and_the_steps(loss, params, digits, write):
    X, y = digits[0][:400], digits[1][:400]
    model = pegasos_classifier(lam=0.05, loss=loss, random_state=0, max_iter=10, **params)
    streamed(model, write(csv(X, y)), chunk=20_000)
    best = pegasos_classifier(lam=0.05, loss=loss, solver="sdca", tol=1e-7, random_state=0).fit(X, y)
    assert (model.objective_ >= best.objective_ - 1e-6).all()
    assert (model.dual_gap_ >= model.objective_ - best.objective_ - 1e-6).all()
    assert (model.dual_gap_ <= model.objective_ + 1e-12).all()
    if loss == "log_loss" and not params:
        assert model.dual_gap_.max() < 0.01


def test_float32_rows_are_computed_in_float32(tmp_path):
    X, y, model = problem("ovr")
    path = tmp_path / "rows.npz"
    np.savez(path, X=X.astype(np.float32), y=y)
    expected = clone(model).fit(X.astype(np.float32), y)
    streamed(model, path, chunk=200)
    assert model.coef_.dtype == np.float32
    assert_same_model(model, expected, 1e-5)


def test_batches_that_divide_the_chunks_are_those_of_fit(tmp_path, monkeypatch):
    X, y, model = problem("ovr")
    path = tmp_path / "rows.npz"
    np.savez(path, X=X, y=y)
    model.set_params(batch_size=5)
    expected = clone(model).fit(X, y)
    streamed(model, path, chunk=10 * 4 * 8, window=1, monkeypatch=monkeypatch)
    assert_same_model(model, expected, 1e-11)


# --- orders -------------------------------------------------------------------------------------


def test_shuffled_streams_are_the_same_for_a_seed_and_reach_what_fit_reaches(digits, tmp_path, monkeypatch):
    X, y = digits
    path = tmp_path / "rows.npz"
    np.savez(path, X=X, y=y)
    models = [pegasos_classifier(lam=1e-3, max_iter=5, random_state=seed) for seed in (0, 0, 1)]
    for model in models:
        streamed(model, path, chunk=20_000, window=100_000, monkeypatch=monkeypatch)
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert abs(models[0].coef_ - models[2].coef_).max() > 0
    whole = clone(models[0]).fit(X, y)
    assert models[0].objective_.mean() == pytest.approx(whole.objective_.mean(), rel=0.05)
    assert models[0].dual_gap_.max() < 2 * whole.dual_gap_.max()


def test_a_file_in_the_order_of_its_classes_is_mixed(digits, tmp_path, monkeypatch):
    X, y = digits
    order = np.argsort(y, kind="stable")
    path = tmp_path / "rows.npz"
    np.savez(path, X=X[order], y=y[order])
    model = pegasos_classifier(lam=1e-3, max_iter=5, random_state=0)
    found = streamed(model, path, chunk=4_000, window=200_000, monkeypatch=monkeypatch, scored=True)
    assert found.score > 0.93


def test_the_order_differs_from_pass_to_pass(write, monkeypatch):
    X, y, model = problem("binary")
    model.set_params(sampling="shuffle")
    seen = []
    learn = running.StreamRun.learn
    watched = lambda self, window: (seen.append(window.X[:, 0]), learn(self, window))
    monkeypatch.setattr(running.StreamRun, "learn", watched)
    streamed(model, write(csv(X, y)), window=1, monkeypatch=monkeypatch)
    passes = np.split(np.concatenate(seen), 3)
    for one in passes:
        np.testing.assert_array_equal(np.sort(one), np.sort(X[:, 0]))
    assert not np.array_equal(passes[0], passes[1])


# --- ends ---------------------------------------------------------------------------------------


def test_tol_ends_a_stream_when_every_column_is_within_it(digits, write):
    X, y = digits[0][:300], digits[1][:300] % 3
    model = pegasos_classifier(lam=0.1, tol=0.05, random_state=0)
    found = streamed(model, write(csv(X, y)), chunk=20_000)
    assert model.dual_gap_.max() <= 0.05
    assert found.passes < 1000
    assert [record["step"] for record in model.history_] == sorted({record["step"] for record in model.history_})
    with pytest.warns(ConvergenceWarning, match="above tol=1e-09"):
        streamed(pegasos_classifier(lam=0.1, tol=1e-9, max_iter=2, random_state=0), write(csv(X, y)), chunk=20_000)


class Ticking:
    """A clock that goes on by a second whenever somebody looks."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.fixture
def ticking(monkeypatch):
    clock = Ticking()
    monkeypatch.setattr("pegasos.solver.clock.time.perf_counter", clock)
    monkeypatch.setattr("pegasos.streaming.training.time.perf_counter", clock)
    return clock


def test_max_time_ends_the_steps_and_leaves_the_certificate_out_where_there_is_no_time(ticking, write, monkeypatch):
    X, y, model = problem("ovr", n_rows=200)
    model.set_params(max_time=60, max_iter=1000)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        streamed(model, write(csv(X, y)), window=1, monkeypatch=monkeypatch)
    assert 0 < model.n_iter_ < 1000 * len(y)
    assert np.isnan(model.dual_gap_).all()
    assert model.predict(X).shape == y.shape
    assert model._ended_early


def test_max_time_leaves_room_for_the_certificate(ticking, write, monkeypatch):
    X, y, model = problem("ovr", n_rows=100)
    model.set_params(max_time=3000, max_iter=1000)
    monkeypatch.setattr(running, "SLOWER", 4.0)  # a look at the clock takes a second here
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        streamed(model, write(csv(X, y)), chunk=3000, window=1, monkeypatch=monkeypatch)
    assert len(y) < model.n_iter_ < 1000 * len(y)
    assert np.isfinite(model.dual_gap_).all()
    assert (model.objective_ <= clone(model).set_params(max_time=None, max_iter=1).fit(X, y).objective_ + 1).all()


def test_a_time_limit_that_the_first_look_exceeds_is_an_error_that_says_how_long_it_takes(ticking, write):
    X, y, model = problem("ovr", n_rows=200)
    with pytest.raises(DataError, match=r"max_time=5 was over before a first look at train\.csv was done"):
        streamed(model.set_params(max_time=5), write(csv(X, y)))
    assert not hasattr(model, "coef_")


def test_a_time_limit_that_leaves_next_to_nothing_still_gives_a_model(ticking, write):
    X, y, model = problem("ovr")
    with pytest.warns(ConvergenceWarning, match="max_time"):
        streamed(model.set_params(max_time=1), write(csv(X, y)), chunk=1 << 20)
    assert model.n_iter_ > 0


def interrupting(monkeypatch, at, times=1):
    """Press Ctrl-C while the solver is at work on the window of this number, counted over all passes."""
    over, seen = running.one_pass, []

    def one_pass(*args, **kwargs):
        seen.append(True)
        if len(seen) == at:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return over(*args, **kwargs)

    monkeypatch.setattr(running, "one_pass", one_pass)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_keeps_the_model_reached(times, write, monkeypatch):
    X, y, model = problem("ovr")
    interrupting(monkeypatch, at=8, times=times)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.warns(ConvergenceWarning, match="Interrupted after .* steps: the model is the one reached"):
        streamed(model, write(csv(X, y)), window=1, monkeypatch=monkeypatch)
    assert signal.getsignal(signal.SIGINT) is handler
    assert 0 < model.n_iter_ < 3 * len(y)
    assert np.isnan(model.dual_gap_).all()
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_the_result_is_judged_leaves_the_certificate_out(times, write, monkeypatch):
    X, y, model = problem("ovr")
    evaluate = running.objective_and_bound

    def interrupted(*args, **kwargs):
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        return evaluate(*args, **kwargs)

    monkeypatch.setattr(running, "objective_and_bound", interrupted)
    with pytest.warns(ConvergenceWarning, match="Interrupted after 180 steps.* its relative gap is not known"):
        streamed(model, write(csv(X, y)), window=1, monkeypatch=monkeypatch)
    np.testing.assert_array_equal(model.t_, 180)
    assert np.isnan(model.objective_).all()


def test_ctrl_c_before_the_first_step_leaves_the_model_before(write, monkeypatch):
    X, y, model = problem("ovr")
    model.fit(X, y)
    before = model.coef_
    interrupting(monkeypatch, at=1, times=2)
    with pytest.raises(KeyboardInterrupt):
        streamed(model, write(csv(X, y)), window=1, monkeypatch=monkeypatch)
    assert model.coef_ is before


def test_a_file_that_changes_between_passes_is_an_error_and_leaves_the_model_before(write, monkeypatch):
    X, y, model = problem("ovr")
    model.fit(X, y)
    before = dict(vars(model))
    path = write(csv(X, y))
    over, seen = running.one_pass, []

    def one_pass(*args, **kwargs):
        seen.append(True)
        if len(seen) == 3:
            path.write_text(path.read_text().replace("1", "2"))
            path.touch()
        return over(*args, **kwargs)

    monkeypatch.setattr(running, "one_pass", one_pass)
    with pytest.raises(DataError, match=r"train\.csv changed while it was being read"):
        streamed(model, path, window=1, monkeypatch=monkeypatch)
    assert dict(vars(model)) == before


# --- what goes on -------------------------------------------------------------------------------


def test_partial_fit_goes_on_from_a_stream(write):
    X, y, model = problem("ovr")
    other = clone(model).set_params(max_iter=1).fit(X, y)
    streamed(model.set_params(max_iter=1), write(csv(X, y)))
    for each in (model, other):
        each.partial_fit(X, y)
    assert_same_model(model, other)


def test_warm_start_goes_on_from_an_earlier_fit_and_proves_nothing_by_it(write):
    X, y, model = problem("ovr")
    path = write(csv(X, y))
    model.set_params(warm_start=True, max_iter=1)
    whole = clone(model).set_params(warm_start=False, max_iter=3).fit(X, y)
    for _ in range(3):
        streamed(model, path)
    assert_same_model(model, whole)
    best = clone(model).set_params(solver="sdca", max_iter=200, warm_start=False).fit(X, y)
    assert (model.dual_gap_ >= model.objective_ - best.objective_).all()
    assert (model.dual_gap_ <= model.objective_).all()
    with pytest.raises(ValueError, match="warm_start goes on from a model of"):
        streamed(model.set_params(loss="log_loss"), path)


def test_a_streamed_model_is_saved_and_loaded_and_goes_on(write, tmp_path):
    X, y, model = problem("ovr")
    streamed(model, write(csv(X, y)))
    pegasos.save(model, tmp_path / "model.safetensors")
    loaded = pegasos.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.dual_gap_, model.dual_gap_)
    assert_same_model(loaded.partial_fit(X, y), model.partial_fit(X, y))


def test_an_estimator_that_was_fitted_on_frames_forgets_their_names(write):
    pd = pytest.importorskip("pandas", reason="names of columns come from pandas")
    X, y, model = problem("ovr")
    model.fit(pd.DataFrame(X, columns=list("abcd")), y)
    streamed(model, write(csv(X[:, :3], y)))
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")


# --- scaling, splits, landmarks -----------------------------------------------------------------


@pytest.mark.parametrize("scaler, layout", [(StandardScaler(), csv), (MaxAbsScaler(), libsvm)], ids=["dense", "csr"])
def test_a_pipeline_learns_its_scaler_from_the_stream(scaler, layout, write):
    X, y, model = problem("ovr")
    X = X * [1.0, 50.0, 0.01, 3.0] + [0.0, 20.0, 0.0, 0.0]
    rows = X if layout is csv else sparse.csr_matrix(X)
    expected = make_pipeline(clone(scaler), clone(model)).fit(rows, y)
    pipeline = make_pipeline(scaler, model)
    assert streaming.fit(pipeline, write(layout(X, y), "rows.txt")) is pipeline
    assert_same_model(pipeline[-1], expected[-1], 1e-9)
    np.testing.assert_allclose(pipeline[0].scale_, expected[0].scale_, rtol=1e-12)
    np.testing.assert_array_equal(pipeline.predict(rows), expected.predict(rows))


def test_rows_that_are_held_out_are_as_if_they_were_not_there(write):
    X, y, model = problem("ovr", n_rows=300)
    path = write(csv(X, y))
    split = Split(0.4, seed=1)
    kept = np.concatenate([split.train(task()).X for task in open_source(path, chunk=400).tasks()])
    places = np.flatnonzero((X[:, None] == kept).all(axis=2).any(axis=1))
    found = streamed(model, path, split=split, scored=True)
    expected = clone(model).fit(X[places], y[places])
    assert (found.survey.n_rows, found.survey.n_test) == (len(places), 300 - len(places))
    assert_same_model(model, expected)
    assert found.score == expected.score(X[places], y[places])


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_landmarks_make_a_kernel_model_of_a_stream(kind, write, monkeypatch):
    X, codes = classes_problem(4, n_rows=300)
    y = codes if kind == "classes" else np.sin(X[:, 0]) + 10
    maker = PegasosClassifier if kind == "classes" else PegasosRegressor
    model = maker(kernel="rbf", gamma=0.5, lam=1e-3, n_landmarks=40, random_state=0, max_iter=10)
    if kind == "numbers":
        model.set_params(epsilon=0.01)
    found = streamed(model, write(csv(X, y)), chunk=2000, window=12_000, monkeypatch=monkeypatch, scored=True)
    assert model.support_vectors_.shape == (40, 4)
    assert found.score == pytest.approx(model.score(X, y))
    assert found.score > 0.8
    assert np.isfinite(model.dual_gap_).all()


def test_landmarks_of_a_file_in_memory_at_once_are_those_of_partial_fit(write):
    X, y, model = problem("ovr")
    model.set_params(kernel="rbf", gamma=0.5, n_landmarks=20, max_iter=1)
    online = clone(model).partial_fit(X, y, classes=np.unique(y))
    streamed(model, write(csv(X, y)), chunk=1 << 20)
    np.testing.assert_allclose(model.decision_function(X), online.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.n_support_, online.n_support_)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params, said",
    [
        (dict(solver="sdca"), "solver='sdca' needs all rows at once"),
        (dict(kernel="rbf"), "kernel='rbf' needs all rows at once; give n_landmarks"),
        (dict(batch_size="all"), "batch_size='all' needs all rows at once"),
        (dict(lam=-1.0), "lam"),
    ],
)
def test_parameters_that_a_stream_cannot_have_are_refused(params, said, write):
    X, y, model = problem("ovr")
    with pytest.raises(ValueError, match=said):
        streaming.fit(model.set_params(**params), write(csv(X, y)))


def test_data_that_fit_would_refuse_are_refused(write, tmp_path):
    X, y, model = problem("ovr")
    with pytest.raises(ValueError, match=r"needs at least 2 classes, but the data have 1 class: \[1\]"):
        streamed(model, write("1 1:2\n" * 20, "rows.svm"))
    with pytest.raises(DataError, match="labels such as tea, which are no numbers"):
        streamed(pegasos_regressor(), write("tea 1:2\n" * 20, "rows.svm"))
    np.savez(tmp_path / "rows.npz", X=1e20 * X.astype(np.float32), y=y)
    with pytest.raises(ValueError, match="features are too large"):
        streamed(model, tmp_path / "rows.npz")
    with pytest.raises(ValueError, match="A pipeline for a stream is one scaler"):
        streaming.fit(make_pipeline(StandardScaler(), StandardScaler(), model), write(csv(X, y)))
    assert not hasattr(model, "coef_")


def test_features_of_uneven_size_are_hinted_at_once(write):
    X, y, model = problem("ovr")
    with pytest.warns(UserWarning, match="largest absolute values of the features range") as seen:
        streamed(model, write(csv(X * [1.0, 1e5, 1.0, 1.0], y)))
    assert len([one for one in seen if "range from" in str(one.message)]) == 1


# --- real data ----------------------------------------------------------------------------------


def test_a9a_is_learnt_from_its_packed_file(data_folder, a9a):
    path = data_folder / "a9a.bz2"
    if not path.exists():
        pytest.skip("PEGASOS_DATA holds no a9a.bz2")
    X, y = a9a
    model = pegasos_classifier(lam=1e-4, max_iter=3, random_state=0)
    found = fit_stream(model, open_source(path, chunk=1 << 19), scored=True)
    whole = clone(model).fit(X.astype(np.float64), y)
    assert found.survey.n_rows == X.shape[0]
    assert model.objective_[0] == pytest.approx(whole.objective_[0], rel=0.05)
    assert found.score == pytest.approx(whole.score(X, y), abs=0.01)


def test_rows_in_memory_are_a_source_too(digits):
    X, y = digits
    model = pegasos_classifier(lam=1e-3, max_iter=2, sampling="cyclic", random_state=0)
    fit_stream(model, InMemorySource("digits", X, y, chunk=30_000))
    assert_same_model(model, clone(model).fit(X, y))
