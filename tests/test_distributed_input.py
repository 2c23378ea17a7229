"""What fits on Dask take, what they refuse and how they say it, and what they give back: threads, no cluster."""

import importlib
import pickle
import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import pegasos
from conftest import classes_problem
from distributed_fits import assert_same_problem, chunked, n_solvers
from pegasos.distributed import PegasosClassifier, PegasosRegressor
from pegasos.distributed.partitions import make_partition

X, Y = classes_problem(3)
NAMES = ["a", "b", "c", "d"]
PARAMS = dict(lam=0.05, tol=1e-4, random_state=0)


def fitted(X, y, sample_weight=None, kind=PegasosClassifier, **params):
    with n_solvers(3):
        return kind(**PARAMS | params).fit(X, y, sample_weight)


@pytest.fixture(scope="module")
def expected():
    return pegasos.PegasosClassifier(lam=0.05, tol=1e-5, solver="sdca", average=False, random_state=0).fit(X, Y)


def unknown_chunks(array):
    """The same Dask array as one whose lengths Dask does not know."""
    return array[da.from_array(np.ones(array.shape[0], bool), chunks=array.chunks[0])]


def frame(X=X, y=Y, names=NAMES, partitions=4):
    table = pd.DataFrame(X, columns=names)
    table["label"] = y
    return dd.from_pandas(table, npartitions=partitions)


COLLECTIONS = {
    "dense": lambda: (chunked(X, 4), chunked(Y, 4)),
    "labels in memory": lambda: (chunked(X, 4), Y),
    "labels in a list": lambda: (chunked(X, 4), Y.tolist()),
    "labels in a series": lambda: (chunked(X, 4), pd.Series(Y, index=range(100, 160))),
    "labels in other chunks": lambda: (chunked(X, 4), chunked(Y, 7)),
    "CSR": lambda: (chunked(sparse.csr_matrix(X), 4), chunked(Y, 4)),
    "CSR arrays": lambda: (chunked(X, 4).map_blocks(sparse.csr_array), Y),
    "CSC": lambda: (chunked(sparse.csr_matrix(X), 4).map_blocks(sparse.csc_matrix), Y),
    "some sparse, some dense": lambda: (da.concatenate([chunked(sparse.csr_matrix(X[:30]), 2), chunked(X[30:], 2)]), Y),
    "blocks of columns": lambda: (chunked(X, 4).rechunk((15, 3)), Y),
    "unknown lengths": lambda: (unknown_chunks(chunked(X, 4)), unknown_chunks(chunked(Y, 4))),
    "dataframe": lambda: (frame()[NAMES], frame()["label"]),
    "dataframe and array": lambda: (frame()[NAMES], frame()["label"].values),
    "a query": lambda: (frame(partitions=6).query("a < 1.5 or a >= 1.5")[NAMES], frame(partitions=6)["label"]),
    "in memory": lambda: (X, Y),
    "CSR in memory": lambda: (sparse.csr_matrix(X), Y),
    "pandas in memory": lambda: (pd.DataFrame(X, columns=NAMES), pd.Series(Y)),
    "one partition": lambda: (chunked(X, 1), Y),
    "a row a partition": lambda: (chunked(X, 60), Y),
    "Fortran order": lambda: (chunked(X, 4).map_blocks(np.asfortranarray), Y),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_collections_of_all_kinds_pose_the_same_problem(name, expected):
    given, labels = COLLECTIONS[name]()
    found = fitted(given, labels)
    assert_same_problem(found, expected)
    assert found.n_features_in_ == 4
    assert hasattr(found, "feature_names_in_") == ("a" in getattr(given, "columns", []))


def test_partitions_without_rows_are_fine(expected):
    parts = [chunked(X[:20], 2), da.zeros((0, 4), chunks=(1, 4)), chunked(X[20:], 3)]
    labels = [chunked(Y[:20], 2), da.zeros(0, int, chunks=1), chunked(Y[20:], 3)]
    assert_same_problem(fitted(da.concatenate(parts), da.concatenate(labels)), expected)
    empty = frame(partitions=3)
    empty = dd.concat([empty, empty.query("a > 1e9")])
    assert_same_problem(fitted(empty[NAMES], empty["label"]), expected)


@pytest.mark.parametrize("how", ["array", "series", "in memory"])
def test_weights_come_in_the_same_ways(how):
    weights = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
    given = {"array": chunked(weights, 4), "in memory": weights}.get(how)
    data = (chunked(X, 4), Y)
    if how == "series":
        table = frame(y=Y)
        data = (table[NAMES], table["label"])
        given = dd.from_pandas(pd.Series(weights), npartitions=4)
    found = fitted(*data, given)
    local = pegasos.PegasosClassifier(lam=0.05, tol=1e-5, solver="sdca", average=False).fit(X, Y, weights)
    assert_same_problem(found, local)


@pytest.mark.parametrize(
    "labels", [np.array(["x", "yy", "zzz"]), np.array(["x", "yy", "zzz"], object), [1.0, 2.0, 7.0]]
)
def test_labels_of_any_one_type(labels):
    y = np.asarray(labels)[Y]
    found = fitted(chunked(X, 4), y)
    assert found.classes_.tolist() == list(labels)
    assert set(found.predict(X)) <= set(labels)
    assert found.predict(chunked(X, 4)).compute().tolist() == found.predict(X).tolist()


def test_strings_of_a_dataframe_are_labels():
    table = frame(y=np.array(["x", "yy", "zzz"])[Y])
    found = fitted(table[NAMES], table["label"])
    assert found.classes_.tolist() == ["x", "yy", "zzz"]
    assert found.score(table[NAMES], table["label"]) > 0.7


def test_float32_stays_and_integers_become_float64():
    assert fitted(chunked(X.astype(np.float32), 4), Y).coef_.dtype == np.float32
    assert fitted(chunked((4 * X).astype(int), 4), Y).coef_.dtype == np.float64
    mixed = da.concatenate([chunked(X[:30].astype(np.float32), 2), chunked(X[30:], 2)])
    assert fitted(mixed, Y).coef_.dtype == np.float64


# --- refused ----------------------------------------------------------------------------------------------------------


def with_value(value):
    changed = X.copy()
    changed[40, 2] = value
    return chunked(changed, 4)


def _later_as_text(y, block_info=None):
    later = block_info and block_info[0]["chunk-location"][0] > 0
    return y.astype(str) if later else y


def delayed_parts(*parts):
    """A Dask array that says all of its parts are 4 wide."""
    return da.concatenate([da.from_delayed(dask.delayed(part), (len(part), 4), float) for part in parts])


REFUSED = {
    "NaN": (lambda: (with_value(np.nan), Y), r"X holds NaN or infinity.*\(partition 2\)\."),
    "infinity": (lambda: (chunked(sparse.csr_matrix(X) * np.inf, 2), Y), "X holds NaN or infinity"),
    "too large": (lambda: (with_value(1e200), Y), "The features are too large"),
    "one class": (
        lambda: (chunked(X, 4), np.zeros(60, int)),
        r"needs at least 2 classes, but the data have 1 class: \[0\]",
    ),
    "continuous": (lambda: (chunked(X, 4), X[:, 0]), "Unknown label type: continuous"),
    "labels of two types": (
        lambda: (chunked(X, 2), chunked(Y, 2).map_blocks(_later_as_text, dtype=int)),
        "text in some partitions and numbers in others",
    ),
    "labels of two columns": (lambda: (chunked(X, 4), np.column_stack([Y, Y])), "one for each row"),
    "NaN labels": (lambda: (chunked(X, 4), np.where(Y == 1, np.nan, Y)), "The labels y hold NaN"),
    "length": (lambda: (chunked(X, 4), Y[:50]), "X has 60 rows and y 50; both must have the same"),
    "length of an array": (lambda: (chunked(X, 4), chunked(Y[:50], 4)), "X has 60 rows and y 50"),
    "length of a partition": (
        lambda: (unknown_chunks(chunked(X, 4)), unknown_chunks(chunked(Y[:50], 4))),
        "partition 0 cannot be used: X has 15 rows there and y 12.",
    ),
    "partitions": (
        lambda: (unknown_chunks(chunked(X, 4)), unknown_chunks(chunked(Y, 5))),
        "X has 4 partitions and y 5; both must have the same, with the same rows.",
    ),
    "labels in memory beside unknown lengths": (
        lambda: (unknown_chunks(chunked(X, 4)), Y),
        "y is in memory, but how many rows each partition of X has is not known",
    ),
    "widths": (lambda: (delayed_parts(X[:30], X[30:, :3]), Y), "The partitions of X have 3 to 4 features"),
    "no rows": (lambda: (da.zeros((0, 4), chunks=(1, 4)), da.zeros(0, int, chunks=1)), "X holds no rows"),
    "no features": (lambda: (da.zeros((60, 0), chunks=(20, 1)), Y), r"X has 0 feature\(s\)"),
    "one dimension": (lambda: (chunked(Y, 4), Y), "must be a matrix of rows × features"),
    "no targets": (lambda: (chunked(X, 4), None), "the target y is None"),
    "a bag": (lambda: (dask.delayed(X), Y), "X must be a Dask array or dataframe"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_said_in_a_sentence(name):
    make, said = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=said):
        fitted(*make())


@pytest.mark.parametrize(
    "weights, said",
    [
        (-np.ones(60), r"sample_weight must not be negative, and holds -1 \(partition 0\)\."),
        (np.full(60, np.nan), "sample_weight holds NaN or infinity"),
        (np.zeros(60), "sample_weight is zero for every row"),
        (np.ones(50), "X has 60 rows and sample_weight 50"),
        (np.where(Y == 0, 1.0, 0.0), "needs at least 2 classes, but the data have 1 class"),
    ],
)
def test_weights_that_cannot_be_used_are_said_in_a_sentence(weights, said):
    with pytest.raises(ValueError, match=said):
        fitted(chunked(X, 4), Y, weights)


def test_features_that_are_no_numbers_are_said_in_a_sentence():
    table = frame()
    table["b"] = table["b"].map(lambda value: f"about {value}", meta=("b", object))
    with pytest.raises(ValueError, match="partition 0 cannot be used: its features are no numbers"):
        fitted(table[NAMES], table["label"])


@pytest.mark.parametrize(
    "params, said",
    [
        (dict(kernel="rbf"), "kernel='rbf' needs n_landmarks here"),
        (dict(n_landmarks=5), "n_landmarks=5 is for kernels"),
        (dict(multi_class="crammer_singer", loss="log_loss"), "takes loss='hinge'"),
        (dict(tol=None), "The 'tol' parameter"),
        (dict(max_rounds=0), "The 'max_rounds' parameter"),
        (dict(local_passes=0), "The 'local_passes' parameter"),
        (dict(kernel="precomputed"), "The 'kernel' parameter"),
        (dict(client=5), "client must be a dask.distributed Client, a cluster"),
        (dict(class_weight={0: -1.0}), "class_weight must be finite and not negative"),
    ],
)
def test_parameters_that_cannot_be_used_are_said_in_a_sentence(params, said):
    with pytest.raises((ValueError, TypeError), match=said):
        fitted(chunked(X, 4), Y, **params)


@pytest.mark.parametrize(
    "y, said", [(np.full(60, np.inf), "hold NaN or inf"), (np.array(["x"] * 60), "are no numbers")]
)
def test_targets_of_a_regression_that_cannot_be_used(y, said):
    with pytest.raises(ValueError, match=said):
        fitted(chunked(X, 4), y, kind=PegasosRegressor)


def test_an_error_while_partitions_are_read_is_the_users_own():
    def broken(part):
        raise FileNotFoundError("no such file: part 7")

    rows = chunked(X, 4).map_blocks(broken, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(FileNotFoundError, match="part 7"):
        fitted(rows, Y)


def test_without_dask_the_import_says_what_to_install():
    program = (
        "import sys; sys.modules['dask'] = None\ntry:\n import pegasos.distributed\nexcept ImportError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == (
        "pegasos.distributed needs Dask, which is not installed: pip install 'pegasos[dask]'."
    )


def test_importing_pegasos_imports_no_dask():
    program = "import sys, pegasos; pegasos.PegasosClassifier; print('dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"
    assert importlib.import_module("pegasos.distributed").__dir__().count("PegasosClassifier") == 1


# --- given back -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
@pytest.mark.parametrize("kind", ["array", "CSR", "dataframe", "unknown", "blocks of columns", "empty partition"])
def test_predictions_of_collections_are_lazy(method, kind):
    model = fitted(chunked(X, 4), Y, loss="log_loss")
    given = {
        "array": chunked(X, 4), "CSR": chunked(sparse.csr_matrix(X), 4), "unknown": unknown_chunks(chunked(X, 4)),
        "blocks of columns": chunked(X, 4).rechunk((15, 3)), "dataframe": frame()[NAMES],
        "empty partition": da.concatenate([da.zeros((0, 4), chunks=(1, 4)), chunked(X, 3)]),
    }[kind]  # fmt: skip
    if kind == "dataframe":
        model = fitted(given, frame()["label"], loss="log_loss")
    found = getattr(model, method)(given)
    assert isinstance(found, da.Array)
    expected = getattr(model, method)(pd.DataFrame(X, columns=NAMES) if kind == "dataframe" else X)
    assert found.dtype == expected.dtype
    assert found.shape[1:] == expected.shape[1:]
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-12)


def test_scores_of_collections_are_those_of_their_rows():
    model = fitted(chunked(X, 4), Y)
    weights = np.arange(60.0)
    assert model.score(chunked(X, 4), chunked(Y, 4)) == model.score(X, Y)
    assert model.score(chunked(X, 4), Y, weights) == pytest.approx(model.score(X, Y, weights))
    targets = X @ [1.0, 2.0, 3.0, 4.0]
    regressor = fitted(chunked(X, 4), targets, kind=PegasosRegressor)
    assert regressor.score(chunked(X, 4), chunked(targets, 4)) == pytest.approx(regressor.score(X, targets))


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf", gamma=0.1, n_landmarks=20)])
def test_a_model_is_saved_as_an_ordinary_one(tmp_path, params):
    for kind, targets in ((PegasosClassifier, Y), (PegasosRegressor, X @ [1.0, 2.0, 3.0, 4.0])):
        model = fitted(chunked(X, 4), targets, kind=kind, **params)
        model.save(tmp_path / "model.safetensors")
        back = pegasos.load(tmp_path / "model.safetensors")
        assert type(back) is getattr(pegasos, kind.__name__)
        np.testing.assert_array_equal(back.predict(X), model.predict(X))
        np.testing.assert_array_equal(back.dual_gap_, model.dual_gap_)
        pegasos.save(model, tmp_path / "again.safetensors")
        np.testing.assert_array_equal(pegasos.load(tmp_path / "again.safetensors").predict(X), model.predict(X))


def test_it_is_an_estimator_by_the_book():
    marker = object()
    model = PegasosClassifier(lam=0.1, client=marker)
    assert model.get_params()["client"] is marker
    assert clone(model).client is marker
    assert clone(model).get_params() == model.get_params()
    assert clone(PegasosRegressor(epsilon=0.5)).epsilon == 0.5
    assert PegasosClassifier().set_params(max_rounds=3).max_rounds == 3
    with pytest.raises(NotFittedError):
        model.predict(chunked(X, 4))
    with pytest.raises(AttributeError, match="no partial_fit"):
        model.partial_fit(X, Y)
    with pytest.raises(AttributeError, match="no predict_proba"):
        fitted(chunked(X, 4), Y).predict_proba(X)
    back = pickle.loads(pickle.dumps(fitted(chunked(X, 4), Y).set_params(client="tcp://nobody:1")))
    assert back.client is None
    assert back.predict(X).shape == (60,)


def test_a_local_model_needs_no_dask():
    model = fitted(frame()[NAMES], frame()["label"])
    local = model.local_model()
    assert type(local) is pegasos.PegasosClassifier
    assert local.get_params()["lam"] == 0.05
    assert local.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(local.coef_, model.coef_)


def test_a_part_says_what_is_wrong_with_it():
    part = make_partition(np.zeros((3, 2)), np.zeros(2), None, 7, True)
    assert part.problem == "partition 7 cannot be used: X has 3 rows there and y 2"
    assert make_partition(np.zeros((3, 2)), np.zeros(3), None, 7, True).problem is None
    assert "complex" in str(make_partition(np.zeros((3, 2), complex), np.zeros(3), None, 0, True).problem)
