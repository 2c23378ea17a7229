"""Numbers at the edge of what arithmetic holds: a sentence, or the right result; never NaN."""

import warnings

import numpy as np
import pytest

from pegasos import PegasosClassifier, PegasosRegressor, PegasosSearchCV
from textbook import pegasos_classifier

DTYPES = [np.float32, np.float64]


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal(size=(60, 4))
    return X, (X[:, 0] > 0).astype(int)


def fitted_or_refused(X, y, **parameters):
    """A model, or None and why there is none."""
    try:
        return pegasos_classifier(**parameters, random_state=0).fit(X, y), ""
    except ValueError as error:
        return None, str(error)


# --- kernels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("gamma", [1e20, 1e39, 1e200, 1e300, 1e307, 1e308])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "sigmoid", "poly"])
@pytest.mark.parametrize("rows_behind", [0, 400])  # many values of float32 go through a compiled loop
def test_a_large_gamma_is_refused_or_gives_finite_scores(rows, kernel, gamma, dtype, rows_behind):
    X, y = rows
    X = X.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        model, sentence = fitted_or_refused(X, y, kernel=kernel, gamma=gamma)
        if model is None:
            assert "gamma" in sentence or "kernel values" in sentence
            return
        far = np.vstack([X, np.full((rows_behind, 4), 2.0, dtype), 1e3 * X])
        scores = model.decision_function(far)
    assert np.isfinite(scores).all()
    assert (scores[: len(X)] != 0).any()
    if kernel == "laplacian":  # rows are like themselves only
        assert model.score(X, y) == 1.0
    if kernel in ("rbf", "laplacian"):
        assert np.abs(scores[-len(X) :] - model.intercept_).max() < 1e-20


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("n_rows", [3, 2000])
def test_rows_of_overflowing_norm_are_like_no_other(rows, kernel, dtype, n_rows):
    X, y = rows
    model = pegasos_classifier(kernel=kernel, random_state=0).fit(X.astype(dtype), y)
    far = np.full((n_rows, 4), np.finfo(dtype).max / 8, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of the overflow
        np.testing.assert_allclose(model.decision_function(far), model.intercept_[0], atol=1e-20)


def test_a_large_gamma_for_small_features_is_ordinary(rows):
    X, y = rows
    expected = pegasos_classifier(kernel="rbf", gamma=1.0, random_state=0).fit(X, y).decision_function(X)
    with pytest.warns(UserWarning, match="scale"):
        model = pegasos_classifier(kernel="rbf", gamma=2.0**400, random_state=0).fit(2.0**-200 * X, y)
    np.testing.assert_array_equal(model.decision_function(2.0**-200 * X), expected)


@pytest.mark.parametrize("name", ["gamma", "coef0"])
def test_a_kernel_parameter_beyond_the_type_of_the_rows_is_refused(rows, name):
    X, y = rows
    with pytest.raises(ValueError, match=f"{name}=1e\\+39 is too large for float32"):
        pegasos_classifier(kernel="sigmoid", **{name: 1e39}).fit(X.astype(np.float32), y)


# --- integers that are no float -----------------------------------------------------------------------------------

HUGE = 10**400
BY_ESTIMATOR = [
    (PegasosClassifier, {"kernel": "rbf"}, ["lam", "C", "gamma", "tol", "max_time", "cache_size", "max_iter"]),
    (PegasosClassifier, {"kernel": "poly"}, ["coef0", "degree"]),
    (PegasosClassifier, {}, ["intercept_scaling", "max_steps", "batch_size"]),
    (PegasosRegressor, {}, ["epsilon", "max_iter"]),
]


@pytest.mark.parametrize(
    ("kind", "others", "name"), [(kind, others, name) for kind, others, names in BY_ESTIMATOR for name in names]
)
def test_an_integer_beyond_all_floats_is_refused_by_name(rows, kind, others, name):
    with pytest.raises(ValueError, match=f"{name}.* is too large"):
        kind(**others, **{name: HUGE}).fit(*rows)


def test_a_class_weight_beyond_all_floats_is_refused_by_name(rows):
    with pytest.raises(ValueError, match="class_weight is too large"):
        PegasosClassifier(class_weight=dict.fromkeys(np.unique(rows[1]).tolist(), HUGE)).fit(*rows)


# --- steps that lead to ever larger numbers -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch_size", [1, 5, "all"])
def test_a_fit_that_diverges_ends_at_finite_numbers_and_says_so(dtype, batch_size):
    """The kernel is indefinite and squares of the hinge loss pull ever harder: the objective was nan in float32."""
    X = np.random.default_rng(1).normal(size=(100, 5)).astype(dtype)
    y = np.array([X[:, 0] > 0, X[:, 1] > 0]).T @ [1, 2]
    model = pegasos_classifier(
        kernel="sigmoid", gamma=3.0, coef0=-2.0, loss="squared_hinge", max_iter=800, batch_size=batch_size,
        random_state=0,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="The fit diverged|worse than the 1 of a model that is 0 everywhere") as said:
        model.fit(X, y)
    assert not [one for one in said if one.category is RuntimeWarning]
    assert np.isfinite(model.objective_).all()
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.t_ <= 800 * len(X)).all()


def test_a_search_refuses_it_by_name_too(rows):
    with pytest.raises(ValueError, match="lam.* is too large"):
        PegasosSearchCV(pegasos_classifier(), {"lam": [1, HUGE]}, cv=2, error_score="raise").fit(*rows)


@pytest.mark.parametrize("number", [2**63, 2**64, 2**70, 10**300])
@pytest.mark.parametrize("name", ["max_iter", "max_steps"])
@pytest.mark.parametrize("batch_size", [1, 7, "all"])
def test_limits_beyond_64_bits_are_as_good_as_none(rows, name, number, batch_size):
    other = {"max_iter": "max_steps", "max_steps": "max_iter"}[name]
    parameters = {other: 3, "batch_size": batch_size, "random_state": 0, "solver": "pegasos"}
    expected = pegasos_classifier(**parameters, **{name: 10**6}).fit(*rows)
    found = pegasos_classifier(**parameters, **{name: number}).fit(*rows)
    assert (found.coef_ == expected.coef_).all()
    assert found.n_iter_ == expected.n_iter_
