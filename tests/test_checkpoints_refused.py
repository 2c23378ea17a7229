"""Checkpoints that are damaged, foreign, of another fit, or cannot be written: a sentence, and the file stays."""

import errno
import os
import pickle
import stat
from contextlib import suppress

import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.metrics import pairwise

import pegasos
from checkpointed import Killed, assert_same_bits, fresh, killed_after, leave_checkpoint
from conftest import classes_problem
from pegasos import Checkpoint, CheckpointError, PegasosSearchCV
from pegasos.container import file as container
from pegasos.solver.checkpoint_file import CheckpointFile
from pegasos.utils.files import replacing
from textbook import pegasos_classifier, pegasos_regressor

X, Y = classes_problem(3, n_rows=120)
MODEL = pegasos_classifier(lam=0.01, max_iter=5, random_state=0)


@pytest.fixture
def path(tmp_path):
    """Where a checkpoint of MODEL lies."""
    path = tmp_path / "fit.checkpoint"
    leave_checkpoint(MODEL, X, Y, path)
    return path


def refused(path, *words, model=MODEL, X=X, y=Y, error=CheckpointError, **given):
    """Assert that a fit ends in one sentence with these words, and that the file and the folder stay as they are."""
    files = {place: place.read_bytes() for place in path.parent.iterdir() if place.is_file()}
    with pytest.raises(error) as raised:
        fresh(model).set_params(checkpoint=path).fit(X, y, **given)
    said = str(raised.value)
    assert str(path) in said
    assert said.endswith(".")
    for word in words:
        assert word in said
    assert {place: place.read_bytes() for place in path.parent.iterdir() if place.is_file()} == files
    return said


# --- damaged and foreign files --------------------------------------------------------------------


def test_a_file_cut_short_anywhere_is_refused(path):
    content = path.read_bytes()
    length = 8 + int.from_bytes(content[:8], "little")
    edges = [0, 1, 7, 8, 9, 36, 100, length - 1, length, length + 1, len(content) - 1]
    for size in {*edges, *np.random.default_rng(0).integers(0, len(content), 40).tolist()}:
        path.write_bytes(content[:size])
        refused(path, "no checkpoint that can be read", "Remove it to begin anew")
    path.write_bytes(content + b"\0")
    refused(path, "no checkpoint that can be read")


def test_a_byte_changed_anywhere_is_refused(path):
    content = path.read_bytes()
    for place in {*range(0, 120, 7), *np.random.default_rng(0).integers(0, len(content), 60).tolist()}:
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        refused(path)
    path.write_bytes(content)
    assert_same_bits(clone(MODEL).set_params(checkpoint=path).fit(X, Y), clone(MODEL).fit(X, Y))


def test_an_empty_file_is_refused(path):
    path.write_bytes(b"")
    refused(path, "it is empty", "Remove it to begin anew")


@pytest.mark.parametrize(
    "content", [b"some notes of mine\n", b"\x93NUMPY" + bytes(200), bytes(5000)], ids=["text", "npy", "0"]
)
def test_a_file_of_another_kind_is_refused(path, content):
    path.write_bytes(content)
    refused(path, "no checkpoint that can be read", "does not begin as one does")


def test_a_model_file_is_refused(path):
    clone(MODEL).fit(X, Y).save(path)
    refused(path, "is a model file, no checkpoint", "another file")
    assert pegasos.load(path).classes_.tolist() == [0, 1, 2]


def test_tensors_of_someone_else_are_refused(path):
    save_file({"weight": np.zeros((3, 4))}, path)
    refused(path, "no checkpoint that can be read")


def test_a_checkpoint_of_another_kind_is_refused(path, tmp_path):
    path.unlink()
    CheckpointFile(Checkpoint(path), "stream", {}).write({"passes": 3}, {"sums": np.zeros(3)})
    refused(path, "is a checkpoint of a stream, not of a fit", "remove it to begin anew")


def test_a_checkpoint_without_its_parts_is_refused(path):
    header, arrays = container.read(path)
    for name in arrays:
        container.write(path, header.document, {other: array for other, array in arrays.items() if other != name})
        refused(path, "is no checkpoint of a fit")
    for name in set(header.document["values"]) - {"whole.alpha_rows"}:  # which kernels need
        values = {other: value for other, value in header.document["values"].items() if other != name}
        container.write(path, header.document | {"values": values}, arrays)
        refused(path, "is no checkpoint of a fit")


def test_fields_of_a_column_are_found_by_name(path):
    header, arrays = container.read(path)
    values = header.document["values"]
    fields, n_numbers = values["whole.fields"], len(arrays["whole.numbers"])
    container.write(path, header.document | {"values": values | {"whole.fields": ["x", *fields[1:]]}}, arrays)
    refused(path, "is no checkpoint of a fit; remove it to begin anew")
    turned = [*fields[:n_numbers][::-1], *fields[n_numbers:]]
    arrays["whole.numbers"] = arrays["whole.numbers"][::-1]
    container.write(path, header.document | {"values": values | {"whole.fields": turned}}, arrays)
    assert_same_bits(clone(MODEL).set_params(checkpoint=path).fit(X, Y), clone(MODEL).fit(X, Y))


def test_a_checkpoint_is_no_model_to_load(path):
    with pytest.raises(pegasos.ModelFormatError, match="is no model file that can be loaded"):
        pegasos.load(path)


# --- places that cannot be written ----------------------------------------------------------------


def test_a_folder_is_no_file(path):
    refused(path.parent, "is a folder", error=IsADirectoryError)


def test_a_folder_that_does_not_exist_is_named_before_the_fit_begins(path):
    with pytest.raises(FileNotFoundError, match="none does not exist"):
        clone(MODEL).set_params(checkpoint=path.parent / "none" / "fit").fit(X, Y)


@pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written by root")
def test_a_folder_that_cannot_be_written_is_named_before_the_fit_begins(path):
    path.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(PermissionError, match="cannot be written: permission denied"):
            clone(MODEL).set_params(checkpoint=path).fit(X, Y)
    finally:
        path.parent.chmod(stat.S_IRWXU)


@pytest.mark.parametrize("writes", [1, 3])
def test_a_full_disk_names_the_file_and_leaves_the_checkpoint_before_it_whole(path, writes):
    path.unlink()
    write, count = container.write, [0]

    def full(place, document, tensors):
        count[0] += 1
        if count[0] <= writes:
            write(place, document, tensors)
            return
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("builtins.open", limited(open))
            write(place, document, tensors)

    fitted = clone(MODEL).fit(X, Y)
    before = fitted.coef_.copy()
    with killed_after(None), pytest.MonkeyPatch.context() as patch:
        patch.setattr(container, "write", full)
        with pytest.raises(OSError, match="No space left on device") as raised:
            fitted.set_params(checkpoint=path).fit(X, Y)
    assert raised.value.filename == str(path)
    np.testing.assert_array_equal(fitted.coef_, before)
    assert [place.name for place in path.parent.iterdir()] == [path.name], "no part of a file is left"
    assert_same_bits(clone(MODEL).set_params(checkpoint=path).fit(X, Y), clone(MODEL).fit(X, Y))


def limited(real):
    """An `open` of files that take no byte."""

    def opened(place, mode="r", **how):
        file = real(place, mode, **how)
        if "w" not in mode:
            return file

        class Full:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                file.close()

            def write(self, content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return Full()

    return opened


def half_written(path):
    """The file that a process has left which was killed while writing."""
    with suppress(Killed), replacing(path) as part:
        left = part.with_name(f"{part.stem}x.part")
        left.write_bytes(b"half of it")
        raise Killed
    return left


def test_parts_that_a_killed_run_has_left_do_not_pile_up(path):
    left = [half_written(path), half_written(path)]
    other = half_written(path.parent / "other")
    assert len({*left, other}) == 3
    with killed_after(2), pytest.raises(Killed):
        clone(MODEL).set_params(checkpoint=path).fit(X, Y)
    assert sorted(path.parent.iterdir()) == sorted([path, other])


def test_parts_are_gone_when_the_fit_is_done(path):
    """This fit is done before another write is due."""
    half_written(path)
    clone(MODEL).set_params(checkpoint=path).fit(X, Y)
    assert not list(path.parent.iterdir())


def test_parts_beside_the_file_that_a_link_points_to_do_not_pile_up(path, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    place = path.rename(folder / "real.checkpoint")
    path.symlink_to(place)
    half_written(place)
    with killed_after(2), pytest.raises(Killed):
        clone(MODEL).set_params(checkpoint=path).fit(X, Y)
    assert path.is_symlink()
    assert list(folder.iterdir()) == [place]


# --- another fit ----------------------------------------------------------------------------------


def changed(array, place=(0, 0), by=1e-9):
    array = array.copy()
    array[place] += by
    return array


OTHER_DATA = {
    "an entry": (changed(X), Y, {}),
    "the type": (X.astype(np.float32), Y, {}),
    "a row less": (X[:-1], Y[:-1], {}),
    "the order": (X[::-1], Y[::-1], {}),
    "a label": (X, np.where(np.arange(len(Y)) == 5, (Y + 1) % 3, Y), {}),
    "weights": (X, Y, {"sample_weight": np.linspace(1, 2, len(Y))}),
}


@pytest.mark.parametrize("change", OTHER_DATA)
def test_other_data_is_named(path, change):
    rows, labels, given = OTHER_DATA[change]
    refused(path, "the checkpoint of another fit", "the data changed", "remove", X=rows, y=labels, **given)


OTHER_PARAMETERS = {
    "kernel": "rbf", "lam": 0.02, "loss": "log_loss", "multi_class": "ovo", "solver": "sdca", "max_steps": 77,
    "max_iter": 6, "tol": 0.5, "batch_size": 2, "sampling": "cyclic", "average": "uniform", "project": True,
    "fit_intercept": False, "intercept_scaling": 2.0, "class_weight": {0: 1.0, 1: 2.0, 2: 1.0}, "cache_size": 7,
    "random_state": 1,
}  # fmt: skip
KERNEL_PARAMETERS = {"gamma": 0.4, "degree": 2, "coef0": 0.5, "n_landmarks": 11, "landmarks": "k-means++"}


@pytest.mark.parametrize("name", OTHER_PARAMETERS)
def test_another_value_of_a_parameter_is_named(path, name):
    other = clone(MODEL).set_params(**{name: OTHER_PARAMETERS[name]})
    refused(path, "the checkpoint of another fit", f"the parameter {name} changed", model=other)


@pytest.mark.parametrize("name", KERNEL_PARAMETERS)
def test_another_value_of_a_parameter_of_the_kernel_is_named(tmp_path, name):
    path, model = tmp_path / "fit", clone(MODEL).set_params(kernel="poly", gamma=0.3, n_landmarks=10)
    leave_checkpoint(model, X, Y, path)
    refused(path, f"the parameter {name} changed", model=model.set_params(**{name: KERNEL_PARAMETERS[name]}))


def test_weights_the_kind_of_model_and_versions_are_named(tmp_path, monkeypatch):
    path, regressor = tmp_path / "fit", pegasos_regressor(lam=0.01, max_iter=5, random_state=0)
    leave_checkpoint(regressor, X, Y, path)
    refused(path, model=clone(MODEL))
    refused(path, "the parameter epsilon changed", model=clone(regressor).set_params(epsilon=0.2))
    refused(path, "the data changed", model=regressor, y=changed(Y.astype(float), 3))
    monkeypatch.setattr("pegasos.solver.checkpoint_file.version", lambda name: "99")
    refused(path, "the version of pegasos or NumPy changed", model=regressor)


def test_another_kernel_function_is_named(tmp_path):
    path, model = tmp_path / "fit", clone(MODEL).set_params(kernel=pairwise.rbf_kernel, kernel_params={"gamma": 0.1})
    leave_checkpoint(model, X, Y, path)
    refused(path, "the parameter kernel changed", model=clone(model).set_params(kernel=pairwise.laplacian_kernel))
    refused(path, "kernel_params changed", model=clone(model).set_params(kernel_params={"gamma": 0.2}))
    assert_same_bits(clone(model).set_params(checkpoint=path).fit(X, Y), model.fit(X, Y))


class Bell:
    """A kernel of the user with a parameter of its own."""

    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, A, B):
        return pairwise.rbf_kernel(A, B, gamma=self.gamma)


def test_a_kernel_that_is_an_object_goes_on_in_another_process(tmp_path):
    """There it is the same object at another address."""
    path, model = tmp_path / "fit", clone(MODEL).set_params(kernel=Bell(0.1))
    leave_checkpoint(model, X, Y, path)
    elsewhere = pickle.loads(pickle.dumps(model)).set_params(checkpoint=path)
    assert_same_bits(elsewhere.fit(X, Y), fresh(model).fit(X, Y))


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
def test_other_features_of_the_same_landmarks_are_refused_or_do_no_harm(tmp_path, monkeypatch, solver):
    """On another machine, or with other threads, eigenvectors may turn: a state is one of the features it knew."""
    path, model = tmp_path / "fit", clone(MODEL).set_params(kernel="rbf", gamma=0.5, n_landmarks=20, solver=solver)
    whole = fresh(model).fit(X, Y)
    leave_checkpoint(model, X, Y, path)
    turn = np.where(np.arange(20) % 2, 1.0, -1.0)
    monkeypatch.setattr("pegasos.kernels.nystroem.eigh", lambda *given, **how: turned(eigh(*given, **how), turn))
    with suppress(CheckpointError):
        found = fresh(model).set_params(checkpoint=path).fit(X, Y)
        np.testing.assert_allclose(found.objective_, whole.objective_, rtol=1e-6)


def turned(found, turn):
    """Eigenvalues and eigenvectors, some of which point the other way."""
    values, vectors = found
    return values, vectors * turn


def test_a_fit_before_that_is_missing_or_another_one_is_named(tmp_path):
    path, model = tmp_path / "fit", clone(MODEL).set_params(warm_start=True).fit(X, Y)
    leave_checkpoint(model, X, Y, path)
    refused(path, "the fit before changed", model=fresh(model).fit(X, Y))
    refused(path, "the fit before changed", model=clone(model))
    refused(path, "the fit before changed", model=clone(model).set_params(warm_start=False))
    assert_same_bits(fresh(model).set_params(checkpoint=path).fit(X, Y), fresh(model).fit(X, Y))


@pytest.mark.parametrize(
    "change", [dict(verbose=1), dict(max_time=1e6), dict(checkpoint="other"), dict(warm_start=True)], ids=str
)
def test_what_no_step_depends_on_may_change(path, change):
    if "checkpoint" in change:
        change = {"checkpoint": Checkpoint(path, every=3.0, keep=True)}
    model = clone(MODEL).set_params(**({"checkpoint": path} | change)).fit(X, Y)
    expected = clone(MODEL).fit(X, Y)
    np.testing.assert_array_equal(model.t_, expected.t_)
    if "max_time" in change:  # the length of a stretch of draws follows the clock, and rounding with it
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_array_equal(model.coef_, expected.coef_)


# --- the parameter --------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [3, b"bytes", ["a"]])
def test_what_is_no_path_is_refused_by_name(given):
    with pytest.raises(ValueError, match="checkpoint"):
        clone(MODEL).set_params(checkpoint=given).fit(X, Y)
    with pytest.raises(TypeError, match="path of a checkpoint must be a path"):
        Checkpoint(given)


@pytest.mark.parametrize("every", [0, -1.0, float("inf"), float("nan"), "60", None])
def test_seconds_between_writes_are_a_number_above_0(every):
    with pytest.raises(ValueError, match="every must be a number of seconds above 0"):
        Checkpoint("fit", every=every)


def test_names_are_public_and_errors_are_value_errors():
    assert {"Checkpoint", "CheckpointError"} <= set(pegasos.__all__) & set(dir(pegasos))
    assert issubclass(CheckpointError, ValueError)
    assert Checkpoint("fit") == Checkpoint("fit", every=60.0, resume=True, keep=False)


def test_estimators_with_a_checkpoint_are_cloned_pickled_and_stored_without_its_path(tmp_path):
    secret = tmp_path / "a-secret-place"
    for given in (str(secret), secret, Checkpoint(secret, every=2.0)):
        model = clone(MODEL).set_params(checkpoint=given)
        for copy in (clone(model), pickle.loads(pickle.dumps(model))):
            assert copy.get_params()["checkpoint"] == given
            assert repr(copy) == repr(model)
        model.fit(X, Y).save(tmp_path / "model")
        assert b"a-secret-place" not in (tmp_path / "model").read_bytes()
        found = pegasos.load(tmp_path / "model")
        assert found.checkpoint is None
        np.testing.assert_array_equal(found.predict(X), model.predict(X))


def test_only_the_last_fit_of_a_search_uses_the_checkpoint(tmp_path):
    path, model = tmp_path / "fit", clone(MODEL).set_params(sampling="cyclic")
    search = PegasosSearchCV(clone(model).set_params(checkpoint=path), {"lam": [0.1, 0.01]}, cv=3)
    with killed_after(3), pytest.raises(Killed):
        clone(search).fit(X, Y)
    assert path.exists()
    found, expected = search.fit(X, Y), PegasosSearchCV(model, {"lam": [0.1, 0.01]}, cv=3).fit(X, Y)
    assert not path.exists()
    assert_same_bits(found.best_estimator_, expected.best_estimator_)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


def test_partial_fit_uses_none(tmp_path):
    with killed_after(1):
        clone(MODEL).set_params(checkpoint=tmp_path / "fit").partial_fit(X, Y, classes=[0, 1, 2])
    assert not list(tmp_path.iterdir())
