"""Sparse rows whose parts do not fit together are refused before any loop reads them, ours or scipy's."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from pegasos import PegasosSearchCV
from textbook import pegasos_classifier, pegasos_regressor

N_ROWS, WIDTH = 60, 5


@pytest.fixture
def rows():
    X = sparse.random(N_ROWS, WIDTH, density=0.6, format="csr", random_state=0)
    return X, np.arange(N_ROWS) % 2


def beyond(X):
    X.indices[3] = X.shape[X.format != "csc"]


def far_beyond(X):
    X.indices[-1] = 2**30


def negative(X):
    X.indices[0] = -1


def falling_ends(X):
    X.indptr[2] = X.nnz + 1000


def too_few_ends(X):
    X.indptr = X.indptr[:-3]


def ends_beyond_the_entries(X):
    X.indptr[-1] = len(X.indices) + 1000


def begins_late(X):
    X.indptr[0] = -5


DAMAGE = [beyond, far_beyond, negative, falling_ends, too_few_ends, ends_beyond_the_entries, begins_late]
KINDS = [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array, sparse.bsr_matrix]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_broken_matrix_is_refused_wherever_rows_enter(rows, kind, damage):
    X, y = rows
    good, bad = kind(X), kind(X, copy=True)
    damage(bad)
    model = pegasos_classifier(lam=0.1, max_iter=1).fit(good, y)
    before = model.coef_.copy()
    for call in (
        lambda: pegasos_classifier().fit(bad, y),
        lambda: pegasos_classifier(kernel="rbf", max_iter=1).fit(bad, y),
        lambda: pegasos_regressor().fit(bad, y),
        lambda: model.partial_fit(bad, y),
        lambda: model.predict(bad),
        lambda: model.decision_function(bad),
        lambda: model.score(bad, y),
        lambda: PegasosSearchCV(pegasos_classifier(max_iter=1), {"lam": [0.1]}, cv=2).fit(bad, y),
    ):
        with pytest.raises(ValueError, match="sparse matrix .* (indices|indptr)"):
            call()
    assert (model.coef_ == before).all()


@pytest.mark.parametrize("place", ["row", "col"])
@pytest.mark.parametrize("value", [-1, 2**20])
def test_a_broken_matrix_of_coordinates_is_refused(rows, place, value):
    X, y = rows
    X = X.tocoo()
    getattr(X, place)[0] = value
    with pytest.raises(ValueError, match="sparse matrix .* indices"):
        pegasos_classifier().fit(X, y)


def test_room_behind_the_entries_is_not_looked_at(rows):
    X, y = rows
    roomy = X.copy()
    roomy.data, roomy.indices = np.append(X.data, [np.pi] * 3), np.append(X.indices, [2**30, -7, 99]).astype(np.int32)
    expected = pegasos_classifier(random_state=0).fit(X, y)
    found = pegasos_classifier(random_state=0).fit(roomy, y)
    assert (found.coef_ == expected.coef_).all()


@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_indices_of_another_byte_order_are_read(rows, kernel, kind):
    X, y = rows
    swapped = X.copy()
    swapped.indices, swapped.indptr = X.indices.astype(">" + kind), X.indptr.astype(">" + kind)
    parameters = {"kernel": kernel, "random_state": 0, "max_iter": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = pegasos_classifier(**parameters).fit(X, y)
        found = pegasos_classifier(**parameters).fit(swapped, y)
        np.testing.assert_array_equal(found.decision_function(swapped), expected.decision_function(X))
    assert swapped.indices.dtype == np.dtype(">" + kind)


@pytest.mark.parametrize("broken", ["indices", "indptr"])
def test_indices_that_are_no_whole_numbers_are_refused(rows, broken):
    X, y = rows
    setattr(X, broken, getattr(X, broken).astype(np.float64))
    with pytest.raises(ValueError, match="whole numbers"):
        pegasos_classifier().fit(X, y)


def test_a_broken_block_on_a_cluster_names_its_partition(rows):
    dask = pytest.importorskip("dask")
    from pegasos.distributed.partitions import make_partition

    assert dask
    X, y = rows
    X.indices[0] = WIDTH
    part = make_partition(X, y, None, 3, True)
    assert "partition 3 cannot be used" in str(part)
    assert "indices" in str(part)
