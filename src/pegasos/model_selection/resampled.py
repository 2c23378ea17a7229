"""What resamples of the rows have found, and confidence intervals from it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm


@dataclass(frozen=True)
class Resampled:
    """Fits on resamples of the rows.

    Attributes
    ----------
    counts : ndarray of int, shape (n_resamples, n_rows)
        How often each row is in each resample.
    scores : ndarray of shape (n_resamples,)
        The score on the rows that are not in the resample; nan where it has all.
    coef, intercept : ndarray of shape (n_resamples, n_columns, n_features) and (n_resamples, n_columns), or None
        Of linear models.
    estimate : dict
        "coef" and "intercept" of the fit on all rows as they are, empty for kernels.
    left_out : Resampled or None
        Fits without each row in turn, for intervals that are corrected for bias and acceleration.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import bootstrap
    >>> X, y = load_iris(return_X_y=True)
    >>> found = bootstrap(PegasosClassifier(), X, y, n_resamples=50, random_state=0)
    >>> found.coef.shape, found.interval("coef").shape
    ((50, 3, 4), (2, 3, 4))
    >>> bool(found.scores.mean() > 0.8)
    True
    """

    counts: np.ndarray
    scores: np.ndarray
    coef: np.ndarray | None
    intercept: np.ndarray | None
    estimate: dict[str, np.ndarray] = field(default_factory=dict)
    left_out: Resampled | None = None

    def interval(self, of: str = "coef", confidence_level: float = 0.95, method: str = "percentile") -> np.ndarray:
        """Lower and upper ends, shape (2, ...), of a confidence interval.

        Parameters
        ----------
        of : {"coef", "intercept", "scores"}
        confidence_level : float
        method : {"percentile", "bca"}
            "bca" corrects for bias and acceleration (Efron, JASA 1987), of coefficients and intercepts; it needs a
            bootstrap with ``bca=True``.
        """
        values = getattr(self, of, None)
        if of not in ("coef", "intercept", "scores") or values is None:
            raise ValueError(f"There is no {of!r}; linear models have 'coef' and 'intercept', and all have 'scores'.")
        if not 0 < confidence_level < 1:
            raise ValueError(f"confidence_level must lie between 0 and 1, got {confidence_level!r}.")
        tails = np.array([0.5 - confidence_level / 2, 0.5 + confidence_level / 2])
        if method == "percentile":
            return np.nanquantile(values, tails, axis=0)
        if method != "bca":
            raise ValueError(f"method must be 'percentile' or 'bca', got {method!r}.")
        if of == "scores" or self.left_out is None:
            raise ValueError("method='bca' is for 'coef' and 'intercept' of a bootstrap with bca=True.")
        return bca_interval(values, self.estimate[of], getattr(self.left_out, of), tails)


def bca_interval(values: np.ndarray, estimate: np.ndarray, left_out: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Quantiles of the bootstrap distribution, corrected for bias and acceleration."""
    below = ((values < estimate).mean(axis=0) + (values <= estimate).mean(axis=0)) / 2
    away = left_out.mean(axis=0) - left_out
    spread = (away**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = np.where(spread > 0, (away**3).sum(axis=0) / (6.0 * spread**1.5), 0.0)
        bias = norm.ppf(below)
        moved = bias + norm.ppf(tails).reshape(2, *[1] * estimate.ndim)
        places = norm.cdf(bias + moved / (1 - acceleration * moved))
    places = np.where(np.isnan(places), tails.reshape(2, *[1] * estimate.ndim), places)
    ordered = np.sort(values, axis=0)
    at = places * (len(values) - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, len(values) - 1)
    lower, upper = (np.take_along_axis(ordered, place, axis=0) for place in (low, high))
    return lower + (at - low) * (upper - lower)
