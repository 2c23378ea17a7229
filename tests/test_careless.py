"""What a careless user runs into: extreme weights and parameters, failed refits, changed parameters, odd matrices."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from pegasos import PegasosSearchCV
from textbook import pegasos_classifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = (X[:, 0] + 0.5 * RNG.normal(size=80) > 0).astype(int)


def halves(matrix):
    """The same CSR matrix with each entry stored as two halves."""
    rows, columns = matrix.shape
    data = np.repeat(matrix.ravel(), 2) / 2
    return sparse.csr_matrix((data, np.repeat(np.tile(np.arange(columns), rows), 2), np.arange(rows + 1) * 2 * columns))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_repeated_csr_entries_are_added_up_and_left_alone(kernel):
    twice = halves(X)
    settings = dict(kernel=kernel, lam=0.05, random_state=0)
    found = pegasos_classifier(**settings).fit(twice, Y).decision_function(twice)
    expected = pegasos_classifier(**settings).fit(sparse.csr_matrix(X), Y).decision_function(X)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert twice.nnz == 2 * X.size


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_csr_with_64_bit_indices(kernel):
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    settings = dict(kernel=kernel, lam=0.05, random_state=0)
    found = pegasos_classifier(**settings).fit(wide, Y).decision_function(wide)
    expected = pegasos_classifier(**settings).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "weights",
    [np.where(Y == 1, 1.0, 1e-60), np.full(80, 1e308), np.full(80, 1e-320)],
    ids=["far apart", "huge", "denormal"],
)
def test_extreme_sample_weights_are_refused(dtype, weights):
    with pytest.raises(ValueError, match="sample_weight"):
        pegasos_classifier().fit(X.astype(dtype), Y, sample_weight=weights)


@pytest.mark.parametrize("weight", [np.inf, np.nan, -1.0])
def test_class_weights_are_finite_and_not_negative(weight):
    with pytest.raises(ValueError, match="class_weight"):
        pegasos_classifier(class_weight={0: weight, 1: 1.0}).fit(X, Y)


def test_a_class_of_weight_zero_is_not_there():
    with pytest.raises(ValueError, match="at least 2 classes"):
        pegasos_classifier(class_weight={0: 0, 1: 1}).fit(X, Y)
    three = np.where(X[:, 1] > 1, 2, Y)
    assert pegasos_classifier(class_weight={0: 1, 1: 0, 2: 1}).fit(X, three).classes_.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("params", "named"),
    [
        (dict(lam=1e-310), "lam"),
        (dict(C=1e308), "lam"),
        (dict(intercept_scaling=1e200), "intercept_scaling"),
        (dict(kernel="poly", degree=2.5), "degree"),
        (dict(kernel="poly", coef0=-1e150), "kernel values"),
    ],
    ids=str,
)
def test_parameters_that_arithmetic_cannot_hold(params, named):
    with pytest.raises(ValueError, match=named):
        pegasos_classifier(**params).fit(X, Y)


def test_huge_precomputed_values_are_refused():
    with pytest.raises(ValueError, match="overflow float32"):
        pegasos_classifier(kernel="precomputed").fit((X @ X.T * 1e37).astype(np.float32), Y)


def test_tol_needs_a_definite_kernel():
    with pytest.raises(ValueError, match="tol"):
        pegasos_classifier(kernel="precomputed", tol=1e-2).fit(X @ X.T - 3 * np.eye(80), Y)


def test_a_fit_that_fails_leaves_the_model_before_it():
    model = pegasos_classifier(random_state=0).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="batch_size"):
        model.set_params(batch_size=1000).fit(X, np.where(Y == 1, "a", "z"))
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_first_fit_that_fails_leaves_nothing():
    model = pegasos_classifier(batch_size=1000)
    with pytest.raises(ValueError, match="batch_size"):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_another_kernel_leaves_no_attributes_of_the_last_one():
    model = pegasos_classifier().fit(X, Y)
    model.set_params(kernel="rbf").fit(X, Y)
    assert not hasattr(model, "coef_")
    model.set_params(kernel="linear").fit(X, Y)
    assert not hasattr(model, "dual_coef_")


def test_parameters_set_after_fit_wait_for_the_next_fit():
    model = pegasos_classifier(kernel="rbf").fit(X, Y)
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(kernel="precomputed").decision_function(X), before)


def test_support_rows_have_a_coefficient():
    model = pegasos_classifier(kernel="rbf", solver="sdca", average=False, lam=0.05, random_state=0).fit(X, Y)
    assert model.dual_coef_.any(axis=0).all()
    assert model.violations_.any(axis=0).all()
    assert model.n_support_.sum() == len(model.support_)


@pytest.mark.parametrize(
    "labels",
    [Y.astype(object), Y.astype("datetime64[D]"), np.array([b"no", b"yes"])[Y], Y.tolist(), Y == 1],
    ids=["object integers", "dates", "bytes", "list", "bool"],
)
def test_labels_of_any_type(labels):
    model = pegasos_classifier(lam=0.01, random_state=0).fit(X, labels)
    assert (model.predict(X) == np.asarray(labels)).mean() > 0.7


def test_bytes_beside_strings_are_refused():
    with pytest.raises(ValueError, match="label"):
        pegasos_classifier().fit(X[:2], [b"a", "b"])


def test_max_time_counts_from_the_call_and_keeps_what_it_has():
    model = pegasos_classifier(max_time=1e-9, max_iter=10_000, random_state=0)
    with pytest.warns(UserWarning, match="max_time"):
        model.fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.dual_gap_[0] == pytest.approx(1.0)


# --- targets and settings of NumPy ----------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, list, pd.Series])
def test_score_takes_whole_numbers_as_objects_as_fit_does(container):
    y = container(Y.astype(object))
    model = pegasos_classifier(random_state=0).fit(X, y)
    assert model.classes_.dtype.kind == "i"
    assert model.score(X, y) == np.mean(model.predict(X) == Y)
    search = PegasosSearchCV(model, {"lam": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.score(X, y) == search.best_estimator_.score(X, y)


@pytest.mark.parametrize("scale", [1e-30, 1e-5, 1.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "laplacian"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
def test_no_warning_of_numpy_is_needed(multiclass, kernel, loss, dtype, scale):
    """What underflows is 0, whatever ``np.seterr`` says; nothing overflows, is divided by 0 or is no number."""
    X, y = multiclass
    X = (scale * X).astype(dtype)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("ignore")
        model = pegasos_classifier(kernel=kernel, loss=loss, max_iter=2, random_state=0)
        if scale == 1e-30 and dtype == np.float32:
            with pytest.raises(ValueError, match="too small"):
                model.fit(X, y)
            return
        model.fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        if loss == "log_loss":
            assert np.isfinite(model.predict_proba(X)).all()
            model.predict_proba(1e3 * X)
        if kernel == "linear":
            model.set_params(lam=0.1).partial_fit(X, y, classes=np.unique(y))
        PegasosSearchCV(model, {"lam": [0.1, 1.0]}, cv=2).fit(X, y)
