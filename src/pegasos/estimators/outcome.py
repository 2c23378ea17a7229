"""How a fit ended: the fitted attributes that say so, and the warnings where it is not what was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.estimators.solving import DEFAULT_TOL, is_textbook
from pegasos.estimators.validation import warn_unconverged

ABOVE_ZERO = 1 + 1e-6  # times the zero model's objective


def certified_attributes(certificate, tol: float | None) -> dict[str, Any]:
    """The fitted attributes that a certificate gives."""
    gap = certificate.relative_gap
    return {
        "objective_": certificate.objective,
        "dual_gap_": certificate.gap,
        "relative_gap_": gap,
        "converged_": converged(gap, tol),
    }


def converged(gap: np.ndarray, tol: float | None) -> np.ndarray:
    """Whether relative gaps are at most `tol`, or its default where there is none."""
    return gap <= (DEFAULT_TOL if tol is None else tol)


def advice_for(estimator) -> str:
    """What would help a fit with these parameters to come nearer to its optimum."""
    limit = "max_iter" if estimator.max_steps is None else "max_steps"
    less = "lower C" if estimator.lam is None else "raise lam"
    if estimator.solver == "pegasos":
        return f"Raise {limit}, {less}, or use the default solver='auto', which ends at the optimum."
    return f"Raise {limit} or {less}." if is_textbook(estimator) else f"Raise {limit} or tol, or {less}."


def warn_if_missed(solution, *, tol: float | None, advice: str) -> None:
    """Warn where a solve ended early, with a gap above `tol`, or worse than the model that is 0 everywhere."""
    certificate, steps = solution.certificate, int(solution.steps.max())
    if solution.interrupted:
        gap = certificate.relative_gap.max()
        known = "is not known" if np.isnan(gap) else f"is at most {gap:.3g}"
        warn_unconverged(f"Interrupted after {steps} steps: the model is the one reached; its relative gap {known}.")
    elif solution.timed_out and solution.steps.min() == 0:
        warn_unconverged("max_time ended the fit before every column took a step.")
    elif solution.timed_out and np.isnan(certificate.objective).any():
        warn_unconverged(f"max_time left no time for a certificate after {steps} steps: the gap is not known.")
    if solution.diverged is not None:
        warn_unconverged(
            f"The fit diverged{_in_columns(solution.diverged)}, and ended at the last numbers that are not too large: "
            "the kernel is indefinite, and this loss does not bound the steps. Use loss='hinge', or another kernel."
        )
        return
    if certificate is None:
        return
    zero, gap = certificate.zero, certificate.relative_gap
    above = certificate.objective > ABOVE_ZERO * zero
    if above.any():
        worst = int(np.argmax(np.where(above, certificate.objective - zero, -np.inf)))
        known = "" if tol is None or np.isnan(gap[worst]) else f", with a relative gap of {gap[worst]:.3g}"
        warn_unconverged(
            f"The objective is {certificate.objective[worst]:.3g} after {steps} steps, worse than the "
            f"{zero[worst]:.3g} of a model that is 0 everywhere{_in_columns(above)}{known}. {advice}"
        )
    elif tol is not None and (gap > tol).any() and not solution.interrupted:
        ended = "max_time ended the fit" if solution.timed_out else "The fit ended"
        warn_unconverged(
            f"{ended} after {steps} steps with a relative gap of {np.nanmax(gap):.3g}, above "
            f"tol={tol:g}{_in_columns(gap > tol)}. {advice}"
        )


def _in_columns(which: np.ndarray) -> str:
    return "" if len(which) == 1 else f" in {np.count_nonzero(which)} of {len(which)} columns"
