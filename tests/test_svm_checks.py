"""The machines of `pegasos.svm` as scikit-learn's estimators: its common checks, signatures, parameters."""

import inspect

import pytest
import sklearn.svm
from sklearn.utils.estimator_checks import parametrize_with_checks

import pegasos.svm
from pegasos.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

MACHINES = [
    SVC(),
    SVC(kernel="precomputed"),
    NuSVC(),
    SVR(),
    SVR(kernel="precomputed"),
    NuSVR(),
    OneClassSVM(),
    OneClassSVM(kernel="linear"),
    OneClassSVM(n_landmarks=5),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive"),
]


WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def expected_failed_checks(machine):
    """Checks that a machine cannot pass, with the reason: those of scikit-learn's own machines, or fewer."""
    if isinstance(machine, LinearSVC | LinearSVR) and getattr(machine, "multi_class", "ovr") == "ovr":
        return {}
    found = dict.fromkeys(WEIGHT_CHECKS, "gamma='scale' is that of rows as they are, and solvers stop at tol")
    if isinstance(machine, NuSVC):
        found["check_class_weight_classifiers"] = "class_weight is ignored, as in scikit-learn"
        found["check_classifiers_one_label_sample_weights"] = "nu is infeasible"
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the checks set max_iter as they please
@pytest.mark.filterwarnings("ignore:The largest absolute values")
@pytest.mark.filterwarnings("ignore:All kernel values between")
@parametrize_with_checks(MACHINES, expected_failed_checks=expected_failed_checks)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", pegasos.svm.__all__)
def test_the_parameters_are_those_of_scikit_learn_and_ours_come_after_them(name):
    theirs = inspect.signature(getattr(sklearn.svm, name)).parameters
    ours = inspect.signature(getattr(pegasos.svm, name)).parameters
    assert list(ours)[: len(theirs)] == list(theirs)
    for key, parameter in theirs.items():
        assert ours[key].default == parameter.default
        assert ours[key].kind == parameter.kind
    assert list(ours)[len(theirs) :][:2] == ["max_time", "n_jobs"]


@pytest.mark.parametrize("name", pegasos.svm.__all__)
def test_the_public_attributes_are_those_of_scikit_learn(name, binary):
    X, y = binary
    theirs, ours = (getattr(library, name)().fit(X, y) for library in (sklearn.svm, pegasos.svm))
    public = {key for key in dir(theirs) if not key.startswith("_")} - {"unused_param"}
    assert {key for key in public if key.endswith("_") or callable(getattr(theirs, key))} <= set(dir(ours))
