"""scikit-learn's common checks for the regressor, the other losses, Crammer–Singer, and whatever has partial_fit."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import expected_failed_checks
from pegasos import PegasosClassifier, PegasosRegressor

# A row twice and a row of weight 2 give the same model only where the order of the rows does not matter.
EXACT = dict(solver="sdca", tol=1e-10, average=False, max_iter=2_000)
ORDER_FREE = [
    PegasosRegressor(batch_size="all", max_iter=500),
    PegasosRegressor(**EXACT),
    PegasosClassifier(loss="log_loss", batch_size="all"),
    PegasosClassifier(multi_class="crammer_singer", **EXACT),
]
# One check (check_class_weight_classifiers) asks for a good bias after 1000 single steps on raw features of size 50:
# the last iterate gets there at small lam. The squared hinge begins with steps as small as the longest row asks, and
# gets there where the constant feature is of the size of the others.
ORDER_BOUND = [
    PegasosRegressor(),
    PegasosRegressor(solver="sdca"),
    PegasosRegressor(kernel="rbf"),
    PegasosRegressor(kernel="precomputed"),
    PegasosRegressor(lam=0.01),
    PegasosClassifier(loss="log_loss", average=False),
    PegasosClassifier(loss="log_loss", solver="sdca"),
    PegasosClassifier(loss="squared_hinge", intercept_scaling=50.0),
    PegasosClassifier(loss="squared_hinge", solver="sdca"),
    PegasosClassifier(multi_class="crammer_singer", average=False),
    PegasosClassifier(multi_class="crammer_singer", solver="sdca"),
    PegasosClassifier(lam=1e-3, average=False),
    PegasosClassifier(lam=1e-3, multi_class="ovo", average=False),
    PegasosClassifier(lam=1e-3, multi_class="crammer_singer", average=False),
    PegasosClassifier(lam=1e-3, loss="log_loss", average=False),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the checks set max_iter as they please
@pytest.mark.filterwarnings("ignore:.*positive semi-definite")
@parametrize_with_checks(ORDER_FREE + ORDER_BOUND, expected_failed_checks=expected_failed_checks)
def test_scikit_learn_check(estimator, check):
    check(estimator)
