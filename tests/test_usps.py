"""Handwritten digits, one-vs-rest with an RBF kernel: the test error that the published studies lead one to expect."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from textbook import pegasos_classifier


def error_of_rbf(average, X_train, y_train, X_test, y_test, *, max_steps):
    """Share of wrong test labels after `max_steps` steps per class."""
    model = pegasos_classifier(
        kernel="rbf",
        gamma=0.25,
        lam=1e-5,
        max_steps=max_steps,
        average=average,
        multi_class="ovr",
        fit_intercept=False,
        random_state=0,
    ).fit(X_train, y_train)
    assert model.n_iter_ == max_steps
    assert model.dual_coef_.dtype == X_train.dtype
    return np.mean(model.predict(X_test) != y_test)


@pytest.mark.data
@pytest.mark.parametrize("average", [False, "weighted"])
def test_usps_error_is_at_most_five_percent(usps, average):
    assert usps[0].dtype == np.float32
    assert usps[0].shape == (7291, 256)
    assert usps[2].shape == (2007, 256)
    assert error_of_rbf(average, *usps, max_steps=25_000) <= 0.05


@pytest.mark.parametrize("average", [False, "weighted"])
def test_digits_error_is_at_most_three_percent(digits, average):
    X, y = digits
    X_train, X_test, y_train, y_test = train_test_split(
        X.astype(np.float32), y, test_size=0.3, random_state=0, stratify=y
    )
    assert error_of_rbf(average, X_train, y_train, X_test, y_test, max_steps=5_000) <= 0.03
