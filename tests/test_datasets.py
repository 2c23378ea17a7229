"""Data sets by name: embedded, in the folder that PEGASOS_DATA names, downloaded, or nowhere."""

from __future__ import annotations

import os
from urllib.error import URLError

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from pegasos import datasets
from pegasos.io import DataError


@pytest.fixture
def no_folder(monkeypatch):
    """No data folder, and no network."""
    monkeypatch.delenv("PEGASOS_DATA", raising=False)

    def refuse(**_):
        raise URLError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)


def complaint(name, **wish):
    with pytest.raises(DataError) as caught:
        datasets.load(name, **wish)
    return str(caught.value)


def test_embedded_sets_are_loaded(digits):
    data = datasets.load("digits")
    np.testing.assert_array_equal(data.X, digits[0])
    np.testing.assert_array_equal(data.y, digits[1])
    assert data.image_shape == (8, 8)
    assert data.X.max() == 1.0
    assert (data.name, data.source, data.format) == ("digits", "embedded in scikit-learn", "embedded")
    for name, loader in (("breast-cancer", load_breast_cancer), ("iris", load_iris), ("wine", load_wine)):
        data = datasets.load(name)
        np.testing.assert_array_equal(data.X, loader().data)
        np.testing.assert_array_equal(data.y, loader().target)
        assert data.feature_names == list(loader().feature_names)
        assert data.X.flags.c_contiguous


def test_an_unknown_name_is_answered_with_those_that_are_known():
    sentence = complaint("uspss")
    assert sentence.startswith("'uspss' is neither a file nor a known data set; did you mean 'usps'? Known: digits, ")
    assert "did you mean 'fashion-mnist'?" in complaint("Fashion_MNIST")
    assert complaint("qqq").startswith("'qqq' is neither a file nor a known data set; known: digits, breast-cancer")


def test_a_known_name_has_its_own_labels_and_features():
    assert "the labels of a known data set are its own" in complaint("iris", label="x")
    assert complaint("iris", n_features=5) == "iris has 4 columns, but the model has 5 features."
    assert datasets.load("iris", n_features=4).n_features == 4


def test_a_file_is_read_and_a_name_comes_before_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("digits", "own"):
        (tmp_path / name).write_text("1,2,3\n4,5,6\n")
    assert datasets.load("own").X.shape == (2, 2)
    assert datasets.load("own", label=0).y.tolist() == [1, 4]
    assert datasets.load("digits").n_features == 64
    assert datasets.load(f".{os.sep}digits").n_features == 2
    assert datasets.load(tmp_path / "digits").n_features == 2
    with pytest.raises(FileNotFoundError, match="does not exist"):
        datasets.load(f".{os.sep}nothing")


def test_a_set_that_is_nowhere_says_what_to_do(no_folder, monkeypatch, tmp_path):
    assert complaint("usps") == (
        "The data set 'usps' is in no folder (PEGASOS_DATA is not set) and could not be downloaded (no route to host); "
        "put usps.h5 into a folder and set PEGASOS_DATA to it."
    )
    monkeypatch.setenv("PEGASOS_DATA", str(tmp_path))
    assert complaint("usps") == (
        "The data set 'usps' is not in the folder that PEGASOS_DATA names (usps.h5) and could not be downloaded "
        "(no route to host); put usps.h5 into a folder and set PEGASOS_DATA to it."
    )
    assert "(a9a_train.npz and a9a_test.npz) and could not be downloaded" in complaint("adult")
    for name, like in (("cs303", "cs303-like"), ("breast-ljubljana", "breast-like")):
        sentence = complaint(name)
        assert "and has no download; it is " in sentence
        assert f"'{like}' is generated in its likeness; put " in sentence


def test_stand_ins_are_like_what_they_stand_for(no_folder):
    data = datasets.load_or_stand_in("cs303")
    assert (data.name, data.X.shape, np.bincount(data.y + 1).tolist()) == ("cs303-like", (1334, 10), [704, 0, 630])
    assert abs(data.X).max() <= 10
    assert LinearSVC(C=10, max_iter=20_000).fit(data.X, data.y).score(data.X, data.y) == 1.0, "separable with a bias"
    assert LinearSVC(C=10, fit_intercept=False).fit(data.X, data.y).score(data.X, data.y) < 1.0, "not without"
    data = datasets.load_or_stand_in("breast-ljubljana")
    assert (data.name, data.X.shape, np.bincount(data.y + 1).tolist()) == ("breast-like", (277, 9), [196, 0, 81])
    _, counts = np.unique(data.X, axis=0, return_counts=True)
    assert (counts > 1).any(), "some rows are alike"
    assert 0.65 < LinearSVC().fit(data.X, data.y).score(data.X, data.y) < 0.85


def test_raw_leaves_features_as_they_are(digits):
    np.testing.assert_array_equal(datasets.load("digits", raw=True).X, digits[0] * 16)
    assert datasets.load("digits", raw=True).scaling is None


def downloads(monkeypatch, X, y):
    asked = []

    def fetch(**arguments):
        asked.append(arguments)
        return Bunch(data=X, target=y)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    return asked


def test_downloads_are_cut_into_training_and_test_part(no_folder, monkeypatch):
    rng = np.random.default_rng(0)
    pixels, digit = rng.integers(0, 256, (61000, 4)), rng.integers(0, 10, 61000)
    asked = downloads(monkeypatch, pixels.astype(float), digit.astype(str).astype(object))
    data = datasets.load("mnist")
    assert asked[0]["data_id"] == 554
    assert asked[0]["as_frame"] is False
    assert data.X.dtype == data.X_test.dtype == np.float32
    np.testing.assert_allclose(data.X, pixels[:60000] / 255, rtol=1e-6)
    np.testing.assert_allclose(data.X_test, pixels[60000:] / 255, rtol=1e-6)
    np.testing.assert_array_equal(data.y_test, digit[60000:])
    assert data.y.dtype == np.int64
    assert (data.source, data.format, data.name) == ("OpenML (data id 554)", "openml", "mnist")


def test_usps_of_openml_is_brought_to_the_scale_of_the_file(no_folder, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (9298, 256)), rng.integers(1, 11, 9298)
    downloads(monkeypatch, X, y.astype(str).astype(object))
    data = datasets.load("usps")
    assert data.X.shape == (7291, 256)
    assert data.X_test.shape == (2007, 256)
    np.testing.assert_allclose(data.X, (X[:7291] + 1) / 2, atol=1e-6)
    np.testing.assert_array_equal(data.y, y[:7291] - 1)
    assert data.image_shape == (16, 16)


def test_sparse_downloads_stay_sparse(no_folder, monkeypatch):
    X = csr_matrix(np.random.default_rng(0).integers(0, 3, (40, 9)).astype(float))
    downloads(monkeypatch, X, np.arange(40) % 20 + 1)
    data = datasets.load("news20")
    assert isinstance(data.X, csr_matrix)
    assert data.X.dtype == np.float32
    np.testing.assert_allclose(np.sqrt(data.X.multiply(data.X).sum(axis=1)), 1, rtol=1e-6)
    assert data.source == "OpenML (data id 1594), rows scaled to length 1"


LARGER = {
    "usps": ((7291, 256), (2007, 256), range(10)),
    "mnist": ((60000, 784), (10000, 784), range(10)),
    "fashion-mnist": ((60000, 784), (10000, 784), range(10)),
    "covtype": ((581012, 54), None, range(1, 8)),
    "adult": ((32561, 123), (16281, 123), (-1, 1)),
    "news20": ((15935, 62061), None, range(1, 21)),
    "rcv1": ((27613, 47236), None, (-1, 1)),
    "cs303": ((1334, 10), None, (-1, 1)),
}


@pytest.mark.data
@pytest.mark.parametrize("name", LARGER)
def test_larger_sets_are_found_in_the_folder(data_folder, no_folder, monkeypatch, name):
    monkeypatch.setenv("PEGASOS_DATA", str(data_folder))
    if not any(all((data_folder / file).is_file() for file in files) for files in datasets._KNOWN[name].files):
        pytest.skip(f"PEGASOS_DATA holds no file of {name}")
    data = datasets.load(name)
    shape, test_shape, labels = LARGER[name]
    assert data.X.shape == shape
    assert data.X.dtype == (np.float64 if name == "cs303" else np.float32)
    assert (None if data.X_test is None else data.X_test.shape) == test_shape
    assert np.unique(data.y).tolist() == list(labels)
    assert data.name == name
    assert data.source.startswith(str(data_folder))
    if data.image_shape is not None:
        assert data.X.min() >= 0
        assert data.X.max() <= 1
        assert data.image_shape[0] * data.image_shape[1] == data.n_features
    if issparse(data.X) and name != "adult":
        squares = np.asarray(data.X.multiply(data.X).sum(axis=1)).ravel()
        np.testing.assert_allclose(squares[squares > 0], 1, rtol=1e-5)


@pytest.mark.data
def test_adult_is_the_same_from_text_and_from_arrays(data_folder, no_folder, monkeypatch, tmp_path):
    for name in ("a9a.bz2", "a9a.t.bz2"):
        if not (data_folder / name).exists():
            pytest.skip(f"PEGASOS_DATA holds no {name}")
        (tmp_path / name).symlink_to(data_folder / name)
    monkeypatch.setenv("PEGASOS_DATA", str(data_folder))
    stored = datasets.load("adult")
    monkeypatch.setenv("PEGASOS_DATA", str(tmp_path))
    read = datasets.load("adult")
    assert read.fingerprint == stored.fingerprint
    assert read.format == "libsvm"
