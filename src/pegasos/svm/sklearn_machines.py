"""Fitted machines of `sklearn.svm` as ours, and ours as those of `sklearn.svm`."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.svm
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from pegasos.kernels import make_kernel
from pegasos.svm import state
from pegasos.svm.linear import LinearMachine, LinearSVC, LinearSVR
from pegasos.svm.one_class import OneClassSVM
from pegasos.svm.svc import SVC, NuSVC
from pegasos.svm.svr import SVR, NuSVR

KINDS: dict[str, Any] = {kind.__name__: kind for kind in (SVC, NuSVC, LinearSVC, SVR, NuSVR, LinearSVR, OneClassSVM)}


def from_sklearn(machine):
    """One of the seven machines of `sklearn.svm`, fitted, as the class of `pegasos.svm` of the same name.

    Predictions stay; nothing is trained. The result can be saved, exported and fitted anew. It has no certificate
    (`dual_gap_` and what goes with it), which only a fit gives.

    Parameters
    ----------
    machine : fitted SVC, NuSVC, LinearSVC, SVR, NuSVR, LinearSVR or OneClassSVM of scikit-learn

    Returns
    -------
    The machine of `pegasos.svm` of the same name.

    Examples
    --------
    >>> import pegasos, sklearn.svm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> theirs = sklearn.svm.SVC().fit(X, y)
    >>> ours = pegasos.from_sklearn(theirs)
    >>> type(ours).__module__, bool((ours.predict(X) == theirs.predict(X)).all())
    ('pegasos.svm.svc', True)
    >>> ours.save("theirs.safetensors")
    """
    name = type(machine).__name__
    if type(machine) is not getattr(sklearn.svm, name, None) or name not in KINDS:
        raise TypeError(f"from_sklearn takes a fitted {', '.join(KINDS)} of sklearn.svm; got {name}.")
    check_is_fitted(machine, "n_iter_")
    ours = KINDS[name]()
    known = ours.get_params(deep=False)
    ours.set_params(**{key: value for key, value in machine.get_params(deep=False).items() if key in known})
    _copy_attributes(machine, ours)
    if isinstance(ours, LinearMachine):
        arrays = {"coef_": machine.coef_}
        if machine.fit_intercept:
            arrays["intercept_"] = np.atleast_1d(machine.intercept_)
        state.restore_linear(ours, arrays, int(machine.n_iter_))
        return ours
    if callable(machine.kernel):
        raise TypeError("A machine whose kernel is a Python function cannot be taken over; fit it here.")
    parameters = {"gamma": float(machine._gamma), "degree": machine.degree, "coef0": machine.coef0}
    coefficients: Any = machine.dual_coef_
    names = ("support_", "intercept_", "class_weight_") if hasattr(ours, "classes_") else ("support_", "intercept_")
    arrays = {key: np.array(getattr(machine, key)) for key in names}
    arrays["dual_coef_"] = coefficients.toarray() if issparse(coefficients) else coefficients.copy()
    arrays["n_support_"] = machine.n_support_.astype(np.int32)
    arrays["n_iter_"] = np.atleast_1d(machine.n_iter_).astype(np.int64)
    if machine._probA.size and hasattr(ours, "classes_"):
        arrays |= {"probA_": machine._probA.copy(), "probB_": machine._probB.copy()}
    vectors = machine.support_vectors_
    if issparse(vectors):
        vectors = vectors.copy()
        vectors.sort_indices()
    kernel = make_kernel(machine.kernel, **parameters)
    parts = state.FittedMachine(kernel, vectors, tuple(machine.shape_fit_), machine.fit_status_, arrays)
    state.restore(ours, parts)
    return ours


def to_sklearn(machine):
    """A fitted machine of `pegasos.svm` as the one of `sklearn.svm` of the same name."""
    name = type(machine).__name__
    check_is_fitted(machine, "n_iter_")
    theirs = getattr(sklearn.svm, name)()
    known, parameters = theirs.get_params(deep=False), machine.get_params(deep=False)
    theirs.set_params(**{key: value for key, value in parameters.items() if key in known})
    _copy_attributes(machine, theirs)
    if isinstance(machine, LinearMachine):
        theirs.coef_, theirs.intercept_, theirs.n_iter_ = machine.coef_.copy(), machine.intercept_, machine.n_iter_
        return theirs
    if callable(machine.kernel):
        raise TypeError("A machine whose kernel is a Python function cannot be handed over; fit it there.")
    names = (
        "support_", "support_vectors_", "dual_coef_", "intercept_", "_dual_coef_", "_intercept_", "_probA", "_probB",
        "_gamma", "_sparse", "shape_fit_", "n_iter_",
    )  # fmt: skip
    for key in names:
        setattr(theirs, key, getattr(machine, key))
    counts = machine._n_support
    if not hasattr(machine, "classes_"):  # LIBSVM counts two classes there, too
        counts = np.array([counts[0], counts[0]], np.int32)
    theirs._n_support, theirs._num_iter = counts, machine.n_iter_
    theirs.fit_status_ = getattr(machine, "fit_status_", 0)
    if hasattr(machine, "class_weight_"):
        theirs.class_weight_ = machine.class_weight_
    theirs._effective_probability = bool(machine._probA.size)
    if isinstance(machine, OneClassSVM):
        theirs.offset_ = machine.offset_
    return theirs


def _copy_attributes(source, target) -> None:
    """Classes and features."""
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
