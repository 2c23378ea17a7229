"""scikit-learn's tests of its machines on CSR rows (`sklearn/svm/tests/test_sparse.py`) on those of `pegasos.svm`."""

import pytest

import sklearn_svm

globals().update(sklearn_svm.tests_of("test_sparse"))

EXPECTED_FAILURES = {
    "test_sparse_liblinear_intercept_handling": "penalty='l1' is left to scikit-learn's LinearSVC, as the"
    " NotImplementedError says",
}


@pytest.fixture
def global_random_seed():
    return 42
