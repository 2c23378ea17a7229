"""What a fitted machine consists of, for model files: taken out of it, and put into a new one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse

from pegasos.kernels import Kernel
from pegasos.svm import layout
from pegasos.svm.base import KernelMachine
from pegasos.svm.linear import LinearMachine
from pegasos.svm.one_class import OneClassSVM
from pegasos.svm.one_class_online import OnlineState

CERTIFICATE = ("objective_", "dual_gap_", "relative_gap_")
ONLINE = ("sums", "products", "numbers")


@dataclass
class FittedMachine:
    """The parts of a fitted machine.

    Attributes
    ----------
    kernel : Kernel
    support_vectors : ndarray or CSR matrix, or None
        None for linear machines.
    shape_fit : tuple of int
    status : int or None
        0 if the fit ended at `tol`, 1 if not; None after `partial_fit`.
    arrays : dict
        Fitted attributes by name, coefficients as dense ones; "online.…" is what `partial_fit` goes on from.
    """

    kernel: Kernel
    support_vectors: Any
    shape_fit: tuple[int, ...] = ()
    status: int | None = None
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def parts_of(machine: KernelMachine) -> FittedMachine:
    """The parts of a fitted kernel machine."""
    names = ("support_", "intercept_", "class_weight_", "n_support_", *CERTIFICATE)
    arrays = {name: getattr(machine, name) for name in names if hasattr(machine, name)}
    coefficients: Any = machine.dual_coef_
    arrays["dual_coef_"] = coefficients.toarray() if issparse(coefficients) else coefficients
    arrays["n_iter_"] = np.atleast_1d(machine.n_iter_).astype(np.int64)
    if hasattr(machine, "converged_"):
        arrays["converged_"] = machine.converged_.astype(np.int32)
    if machine._probA.size:
        arrays |= {"probA_": machine._probA, "probB_": machine._probB}
    online = machine._online if isinstance(machine, OneClassSVM) else None
    if online is not None:
        arrays |= {f"online.{name}": getattr(online, name) for name in ONLINE}
    status = getattr(machine, "fit_status_", None)
    return FittedMachine(machine._kernel, machine.support_vectors_, tuple(machine.shape_fit_), status, arrays)


def restore(machine: KernelMachine, parts: FittedMachine) -> None:
    """Give a machine, whose classes are known, the fitted attributes of these parts."""
    arrays = dict(parts.arrays)
    coefficients, vectors = arrays.pop("dual_coef_"), parts.support_vectors
    machine._kernel, machine._gamma, machine._rows_of_fit = parts.kernel, getattr(parts.kernel, "gamma", 0.0), None
    machine._sparse = issparse(vectors)
    machine._n_support = arrays.pop("n_support_")
    machine._probA, machine._probB = arrays.pop("probA_", np.empty(0)), arrays.pop("probB_", np.empty(0))
    binary = len(getattr(machine, "classes_", ())) == 2
    machine.dual_coef_ = layout.as_sparse(coefficients, vectors) if machine._sparse else coefficients
    machine.intercept_ = arrays.pop("intercept_")
    machine._dual_coef_ = -machine.dual_coef_ if binary else machine.dual_coef_
    machine._intercept_ = -machine.intercept_ if binary else machine.intercept_.copy()
    steps = arrays.pop("n_iter_")
    machine.n_iter_ = steps.astype(np.int32) if hasattr(machine, "classes_") else int(steps[0])
    if "converged_" in arrays:
        machine.converged_ = arrays.pop("converged_").astype(bool)
    machine.support_vectors_, machine.shape_fit_ = vectors, parts.shape_fit
    if parts.status is not None:
        machine.fit_status_ = parts.status
    online = [arrays.pop(f"online.{name}") for name in ONLINE if f"online.{name}" in arrays]
    for name, value in arrays.items():
        setattr(machine, name, value)
    if isinstance(machine, OneClassSVM):
        machine._go_on_from(OnlineState(*online) if online else None)


def linear_arrays_of(machine: LinearMachine) -> dict[str, np.ndarray]:
    """The arrays of a fitted linear machine; without an intercept there is none."""
    names = ("coef_", *CERTIFICATE)
    arrays = {name: getattr(machine, name) for name in names if hasattr(machine, name)}
    arrays["coef_"] = arrays["coef_"].toarray() if issparse(arrays["coef_"]) else arrays["coef_"]
    if hasattr(machine, "converged_"):  # not of a machine that was fitted elsewhere
        arrays["converged_"] = machine.converged_.astype(np.int32)
    if machine.fit_intercept:
        arrays["intercept_"] = machine.intercept_
    return arrays


def restore_linear(machine: LinearMachine, arrays: dict[str, np.ndarray], n_iter: int) -> None:
    """Give a linear machine these fitted attributes."""
    for name, value in arrays.items():
        setattr(machine, name, value)
    if "converged_" in arrays:
        machine.converged_ = arrays["converged_"].astype(bool)
    if "intercept_" not in arrays:
        machine.intercept_ = 0.0
    machine.n_iter_ = n_iter
