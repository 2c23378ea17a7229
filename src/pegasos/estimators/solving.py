"""Which algorithm the parameters of an estimator choose, how many passes it may take, and where it stops."""

from __future__ import annotations

import numpy as np

from pegasos.kernels import kernel_class

DEFAULT_TOL = 1e-3
TEXTBOOK_PASSES = 20
MOST_PASSES = 1000  # of a fit that ends at `tol`
STREAMS = ("pegasos", "sdca")  # solvers that take steps of drawn rows, on the CPU and on GPUs
STEPS_OF_PEGASOS = {  # parameters that only the textbook algorithm has; one that is not its default chooses it
    "max_steps": None,
    "batch_size": 1,
    "sampling": "shuffle",
    "average": "weighted",
    "project": False,
}


def is_textbook(estimator) -> bool:
    """Whether the estimator asks for the steps of Pegasos, 20 passes of them, and not for the optimum."""
    if estimator.solver != "auto":
        return estimator.solver == "pegasos"
    if any(getattr(estimator, name) != default for name, default in STEPS_OF_PEGASOS.items()):
        return True
    return estimator.n_landmarks is None and kernel_class(estimator.kernel).definite is False  # there is no gap


def solved_on_cpu(estimator) -> bool:
    """Whether the fit is one for solvers that work on the CPU only, which a stream of draws would take far longer for.

    Linear models go to their optimum by descent that leaves rows out, and by Newton's method.
    """
    if estimator.solver != "auto":
        return estimator.solver not in STREAMS
    grouped = getattr(estimator, "multi_class", None) == "crammer_singer"
    return estimator.kernel == "linear" and not grouped and not is_textbook(estimator)


def tol_of(estimator, textbook: bool) -> float | None:
    """The relative gap at which a fit ends; None: it takes all its passes. The default is not for the textbook's."""
    return None if textbook and estimator.tol == DEFAULT_TOL else estimator.tol


def passes_of(estimator, textbook: bool) -> float:
    """Passes that a fit may take."""
    if estimator.max_iter is not None:
        return estimator.max_iter
    if estimator.max_steps is not None:
        return np.inf
    return TEXTBOOK_PASSES if textbook and tol_of(estimator, textbook) is None else MOST_PASSES
