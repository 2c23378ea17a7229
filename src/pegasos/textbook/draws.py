"""The rows that are drawn: the same ones that the estimators draw from the same seed."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from pegasos.problem.sampling import Stream


def draws_of(n_rows: int, steps: int, sampling: str = "replacement", random_state=0, k: int = 1) -> np.ndarray:
    """The rows that the steps of ``PegasosClassifier(sampling=..., random_state=...)`` draw.

    Parameters
    ----------
    n_rows : int
        Rows to draw from.
    steps : int
        T.
    sampling : {"replacement", "shuffle", "cyclic", "subsets"}
        With replacement, each pass in a new order, in the order of the rows, or k different rows at each step.
    random_state : int, RandomState instance or None
    k : int
        Rows of one step.

    Returns
    -------
    ndarray of shape (steps, k)
    """
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    stream = Stream(np.arange(n_rows), sampling, seed, k)
    return np.array([stream.take(k, k) for _ in range(steps)])
