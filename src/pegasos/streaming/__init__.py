"""Training on files larger than memory: chunks are read ahead of the solver, several times over.

A first reading, the survey, finds the classes, the features and the number of rows. Then the rows come to the solver
in windows: each pass reads the chunks of the file in a new random order, several chunks make a window, and the rows of
a window are shuffled. What is in memory does not depend on the size of the file.

| module | what it does |
| --- | --- |
| training | fit an estimator: survey, scaler, run, fitted attributes |
| survey | the first reading: totals of all rows |
| setting | the problem of all rows, and the part of a window in it |
| run | the passes over all windows, and the certificate |
| evaluate | objective, bound and score of a model over all rows |
| windows, prefetch, prepare | chunks: read ahead, prepared, joined to windows |
| checkpoint, progress | the state of a run in a file; how far it is |
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["fit"]


def fit(estimator, path: str | os.PathLike, *, label: str | int | None = None):
    """Train an estimator on the rows of a file that need not fit into memory.

    The result is one run of Pegasos over all rows, as `fit` of the estimator gives it on rows in memory, in another
    order: ``sampling="shuffle"`` shuffles the chunks of the file, and the rows that are in memory together;
    "replacement" draws from these; "cyclic" keeps the order of the file, and the model is that of `fit`. With
    `batch_size` above 1 the last batch of the rows in memory may be short, and the number of passes is a whole one. For
    "squared_hinge" the step size follows the longest row so far. One more reading of the file certifies the result: for
    the hinge and batches of one row `dual_gap_` is what `fit` would find; for others it follows from the slope of the
    objective, and is the objective itself where that tells less. `max_time` includes the first reading of the file.
    Ctrl-C ends the steps and keeps the model reached, without a certificate.

    Parameters
    ----------
    estimator : PegasosClassifier, PegasosRegressor or Pipeline
        With `solver` "auto" or "pegasos", which both take the steps of Pegasos here, "auto" until `tol` is reached or
        20 passes are done; and ``kernel="linear"`` or `n_landmarks`, which are chosen among the first rows that are in
        memory together. A pipeline is a scaler with `partial_fit`, such as StandardScaler, and an estimator; the
        scaler takes a reading of the file of its own.
    path : str or path-like
        LIBSVM text, a table (CSV and others), also packed by gzip, bz2 or xz; Parquet; npz of arrays that are not
        compressed; HDF5. Files that are not packed are read in random order, others from their beginning.
    label : str or int, default=None
        The label column of a table: a name, or a number counted from 0; None: the last one.

    Returns
    -------
    estimator
        The same one, fitted.

    Examples
    --------
    >>> from sklearn.datasets import dump_svmlight_file, load_digits
    >>> from pegasos import PegasosClassifier, streaming
    >>> X, y = load_digits(return_X_y=True)
    >>> dump_svmlight_file(X / 16, y, "big.svm", zero_based=False)
    >>> model = streaming.fit(PegasosClassifier(solver="pegasos", lam=1e-3, random_state=0), "big.svm")
    >>> bool(model.score(X / 16, y) > 0.95)
    True
    """
    from sklearn.base import clone

    from pegasos.io import open_source
    from pegasos.streaming.training import fit_stream

    scaler, svm = _steps(estimator)
    scaler_for = lambda found: None if scaler is None else clone(scaler)
    found = fit_stream(svm, open_source(path, label=label), scaler_for=scaler_for, scaling=repr(scaler))
    if scaler is not None:
        vars(scaler).update(vars(found.scaler))
    return estimator


def _steps(estimator) -> tuple[Any, Any]:
    """The scaler of a pipeline, or None, and its estimator."""
    from sklearn.pipeline import Pipeline

    if not isinstance(estimator, Pipeline):
        return None, estimator
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    if len(steps) > 2 or (len(steps) == 2 and not hasattr(steps[0], "partial_fit")):
        raise ValueError("A pipeline for a stream is one scaler with partial_fit, such as StandardScaler, and one SVM.")
    return steps[0] if len(steps) == 2 else None, steps[-1]
