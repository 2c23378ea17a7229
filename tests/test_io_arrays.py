"""Files of arrays and columns: npz, HDF5 and Parquet, whole, damaged, and lying about their size."""

from __future__ import annotations

import sys
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random, save_npz

from pegasos import io
from read_back import complaint, same

X = np.array([[1.0, 2.5], [-3.0, 0.25], [0.0, 7.0]])
Y = np.array([1, 2, 1])


@pytest.fixture
def npz(tmp_path):
    """A function that writes arrays and gives the path."""

    def npz(**arrays):
        np.savez_compressed(tmp_path / "x.npz", **arrays)
        return tmp_path / "x.npz"

    return npz


def test_arrays_x_and_y_are_read(npz):
    same(io.read(npz(X=X, y=Y.astype(np.int8))), X, Y, "npz")
    same(io.read(npz(x=X, y=Y.astype(float))), X, Y, "npz")
    same(io.read(npz(X=np.asfortranarray(X), y=Y)), X, Y, "npz")
    same(io.read(npz(X=X.astype(">f8"), y=Y[:, None])), X, Y, "npz")
    assert io.read(npz(X=X, y=Y)).y.dtype == np.int64
    assert io.read(npz(X=X)).y is None


@pytest.mark.parametrize(
    "given, kept", [("f8", "f8"), ("f4", "f4"), ("f2", "f4"), ("u1", "f4"), ("i8", "f4"), ("?", "f4")]
)
def test_integers_become_single_floats_and_floats_stay(npz, given, kept):
    assert io.read(npz(X=np.ones((2, 3), given), y=[0, 1])).X.dtype == np.dtype(kept)


def test_a_test_part_and_images_are_kept(npz):
    images = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
    data = io.read(npz(x_train=images, y_train=[0, 1, 0, 1], x_test=images[:2], y_test=["a", "b"]))
    same(data, images.reshape(4, 6), [0, 1, 0, 1], "npz")
    assert data.image_shape == (2, 3)
    np.testing.assert_array_equal(data.X_test, images[:2].reshape(2, 6))
    assert data.y_test.tolist() == ["a", "b"]
    assert len(data.fingerprint) == 32


def test_sparse_parts_are_put_together(npz, tmp_path):
    matrix = random(20, 30, 0.2, format="csr", random_state=0, dtype=np.float32)
    parts = dict(data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape)
    data = io.read(npz(**parts, y=np.arange(20)))
    assert isinstance(data.X, csr_matrix)
    assert data.X.dtype == np.float32
    assert abs(data.X - matrix).nnz == 0
    np.testing.assert_array_equal(data.y, np.arange(20))
    save_npz(tmp_path / "scipy.npz", matrix)
    assert abs(io.read(tmp_path / "scipy.npz").X - matrix).nnz == 0


@pytest.mark.parametrize(
    "change, sentence",
    [
        (dict(indices=[0, 5]), "indices must be from 0 to 2, got 0 to 5"),
        (dict(indices=[0, -1]), "indices must be from 0 to 2, got -1 to 0"),
        (dict(indices=[0.0, 1.0]), "must hold whole numbers"),
        (dict(indices=[0]), "must be of one length"),
        (dict(indptr=[0, 2]), "indptr does not divide the 2 entries into 2 rows"),
        (dict(indptr=[0, 5, 2]), "indptr does not divide"),
        (dict(shape=[2, 3, 4]), "shape must be two positive numbers"),
        (dict(shape=[-2, 3]), "shape must be two positive numbers"),
        (dict(data=[1.0, np.inf]), "holds inf (row 2)"),
        (dict(y=[1, 2, 3]), "y has 3 labels for 2 rows"),
    ],
)
def test_sparse_parts_that_do_not_fit_are_named(npz, change, sentence):
    parts = dict(data=[1.0, 2.0], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 3], y=[0, 1])
    assert sentence in complaint(npz(**{**parts, **change}))


@pytest.mark.parametrize(
    "arrays, sentence",
    [
        (dict(a=X, b=Y), "x.npz holds the arrays a, b; needed are X and y; X_train, y_train"),
        (dict(X=X, y=Y[:2]), "y has 2 labels for 3 rows"),
        (dict(X=X, y=X), "the labels y have shape (3, 2); one label a row is needed"),
        (dict(X=Y, y=Y), "X has shape (3,); rows and columns are needed"),
        (dict(X=X[:0], y=Y[:0]), "X has shape (0, 2); rows and columns are needed"),
        (dict(X=np.where(X == 7, np.nan, X), y=Y), "column 1 of X has a missing value (row 3)"),
        (dict(X=np.where(X == 7, np.inf, X), y=Y), "column 1 of X holds inf (row 3)"),
        (dict(X=X.astype(str), y=Y), "X is of type <U32, which is no number"),
        (dict(X=X, y=[1, np.nan, 2]), "in row 2 of y, the label is nan; labels must be finite"),
        (dict(X=X, y=np.array([1, "a", None], object)), "holds Python objects, which are not read"),
        (dict(X_train=X, y_train=Y, X_test=X[:, :1], y_test=Y), "X_test has 1 columns and X_train 2"),
    ],
)
def test_arrays_that_do_not_fit_are_named(npz, arrays, sentence):
    assert sentence in complaint(npz(**arrays))


def test_the_features_of_the_model_are_asked_for(npz):
    path = npz(X=X, y=Y)
    assert io.read(path, n_features=2).n_features == 2
    assert complaint(path, n_features=3) == "x.npz has 2 columns, but the model has 3 features."
    assert "can be chosen in tables only; here the labels are the array y" in complaint(path, label="y")


def test_a_damaged_npz_is_said_to_be_damaged(npz, tmp_path):
    whole = npz(X=np.random.default_rng(0).random((50, 50)), y=np.arange(50)).read_bytes()
    path = tmp_path / "cut.npz"
    for content in (whole[:200], whole[:-30], whole[:300] + b"\x55" * 300 + whole[600:], b"PK\x03\x04"):
        path.write_bytes(content)
        complaint(path)


def test_a_zip_without_arrays_is_said_to_be_one(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("train.csv", "1,2,3\n")
    assert "is a zip archive without arrays; unpack it" in complaint(tmp_path / "x.zip")


def test_an_array_that_lies_about_its_size_is_refused(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000), }"
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\x00" * 80)
    assert "should have 8000000000000000 bytes and has" in complaint(tmp_path / "x.npz")


def test_a_single_array_is_no_data_set(tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert "is a single NumPy array; save rows and labels together" in complaint(tmp_path / "x.npy")


def test_digits_come_back_from_npz(npz, digits):
    same(io.read(npz(X=digits[0], y=digits[1])), *digits, "npz")


@pytest.fixture
def hdf5(tmp_path):
    """A function that writes arrays and gives the path."""
    h5py = pytest.importorskip("h5py")

    def hdf5(arrays):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            for name, values in arrays.items():
                file[name] = values
        return tmp_path / "x.h5"

    return hdf5


def test_groups_and_arrays_of_hdf5_are_read(hdf5, digits):
    groups = {"train/data": X, "train/target": Y, "test/data": X[:2], "test/target": Y[:2]}
    data = io.read(hdf5(groups))
    same(data, X, Y, "hdf5")
    np.testing.assert_array_equal(data.X_test, X[:2])
    np.testing.assert_array_equal(data.y_test, Y[:2])
    same(io.read(hdf5({"X": digits[0], "y": digits[1]})), *digits, "hdf5")
    assert io.read(hdf5({"X": X, "y": [b"a", b"b", b"a"]})).y.tolist() == ["a", "b", "a"]


def test_a_damaged_or_other_hdf5_is_named(hdf5, tmp_path):
    assert "x.h5 holds the arrays a, b/c; needed are" in complaint(hdf5({"a": X, "b/c": Y}))
    whole = hdf5({"X": X, "y": Y}).read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    assert "is damaged" in complaint(tmp_path / "cut.h5")


@pytest.fixture
def parquet(tmp_path):
    """A function that writes columns and gives the path."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    def parquet(columns):
        pq.write_table(pa.table(columns), tmp_path / "x.parquet")
        return tmp_path / "x.parquet"

    return parquet


def test_columns_of_parquet_are_read(parquet):
    columns = {"a": X[:, 0], "b": X[:, 1], "class": ["u", "v", "u"]}
    data = io.read(parquet(columns))
    same(data, X, ["u", "v", "u"], "parquet")
    assert data.y.dtype.kind == "U"
    assert data.feature_names == ["a", "b"]
    assert data.label_name == "class"
    same(io.read(parquet(columns), feature_names=["b", "a"]), X[:, ::-1], ["u", "v", "u"], "parquet")
    same(io.read(parquet({"y": Y, "a": X[:, 0], "b": X[:, 1]}), label="y"), X, Y, "parquet")
    assert io.read(parquet({"a": X[:, 0], "b": X[:, 1]}), n_features=2).y is None
    narrow = io.read(parquet({"a": X[:, 0].astype("f4"), "b": np.array([1, 2, 3], "i2"), "y": Y}))
    assert narrow.X.dtype == np.float32


@pytest.mark.parametrize(
    "columns, sentence",
    [
        ({"colour": ["red", "blue"], "y": [0, 1]}, "column 'colour' holds 'red' (row 1), which is no number; encode"),
        ({"a": [1.0, None], "y": [0, 1]}, "column 'a' has a missing value (row 2); fill it in or drop the row."),
        ({"a": [1, None], "y": [0, 1]}, "column 'a' has a missing value (row 2)"),
        ({"a": [1.0, float("inf")], "y": [0, 1]}, "column 'a' holds inf (row 2); every value must be finite."),
        ({"a": [None, None], "y": [0, 1]}, "column 'a' has a missing value (row 1)"),
        ({"a": [[1], [2]], "y": [0, 1]}, "column 'a' is of type list<element: int64>, which is no number"),
        ({"a": [1, 2], "y": [None, 1]}, "in row 1, the label is missing"),
        ({"a": [1, 2]}, "has one column"),
        ({"a": [], "y": []}, "x.parquet is empty"),
    ],
)
def test_what_is_wrong_with_parquet_is_said_in_a_sentence(parquet, columns, sentence):
    assert sentence in complaint(parquet(columns))


def test_the_index_of_pandas_is_no_column(tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "y": pandas.Categorical(["u", "v", "u"])}, index=["r", "s", "t"])
    frame.to_parquet(tmp_path / "x.parquet")
    same(io.read(tmp_path / "x.parquet"), X[:, :1], ["u", "v", "u"], "parquet")


def test_a_damaged_parquet_is_said_to_be_damaged(parquet, tmp_path):
    whole = parquet({"a": X[:, 0], "y": Y}).read_bytes()
    for content in (whole[: len(whole) // 2], b"PAR1", whole[:4] + b"\x00" * 40 + whole[44:]):
        (tmp_path / "cut.parquet").write_bytes(content)
        complaint(tmp_path / "cut.parquet")


def test_digits_come_back_from_parquet(parquet, digits):
    columns = {f"p{k}": digits[0][:, k] for k in range(64)}
    same(io.read(parquet({**columns, "digit": digits[1]})), *digits, "parquet")


@pytest.mark.parametrize("module, content", [("pyarrow", b"PAR1"), ("h5py", b"\x89HDF\r\n\x1a\n")])
def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch, module, content):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "x").write_bytes(content)
    assert f"needs {module}: pip install 'pegasos[data]'." in complaint(tmp_path / "x")


@pytest.mark.data
def test_usps_is_read_from_its_file(data_folder, usps):
    data = io.read(data_folder / "usps.h5")
    for found, expected in zip((data.X, data.y, data.X_test, data.y_test), usps, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_an_archive_with_a_name_that_is_no_text_is_damaged(npz, tmp_path):
    whole = npz(X=X, y=Y).read_bytes()
    (tmp_path / "odd.npz").write_bytes(whole.replace(b"X.npy", b"\xff.npy").replace(b"\x00\x08\x00", b"\x08\x08\x00"))
    complaint(tmp_path / "odd.npz")
