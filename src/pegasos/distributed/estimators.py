"""The estimators for Dask: PegasosClassifier and PegasosRegressor, with the parameters of a cluster."""

from __future__ import annotations

import numpy as np
from sklearn.base import _fit_context
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from pegasos import estimators as local
from pegasos.distributed.base import CONSTRAINTS, DistributedBase
from pegasos.distributed.partitions import is_collection
from pegasos.estimators.probabilities import missing_for_probabilities
from pegasos.estimators.validation import check_label_types
from pegasos.estimators.warm_start import offered_if, unharmed_by_errors


class PegasosClassifier(DistributedBase, local.PegasosClassifier):
    """`pegasos.PegasosClassifier` on the workers of a Dask client, with the duality gap certified across all of them.

    Rows stay on the workers. Each worker has one local solver over all partitions it holds; a round is some passes of
    dual coordinate ascent by each and the sum of what they changed (CoCoA+), and brings the objective and the dual
    objective over all rows. Bytes of a round: twice the model (features × columns) for each worker. Without a client
    Dask's own threads compute the partitions, and the local solvers are threads of this process.

    A worker that is lost is replaced, its partitions computed again by Dask, and the fit goes on to the same `tol`. A
    lost scheduler is a ConnectionError; with a `checkpoint` a fit on a new cluster goes on where this one was. Ctrl-C
    keeps the model reached, with its gap and a warning.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian"} or callable, default="linear"
        All but "linear" need `n_landmarks`.
    gamma, degree, coef0, lam, C, loss, multi_class, break_ties, fit_intercept, intercept_scaling, class_weight
        As in `pegasos.PegasosClassifier`; "scale", "balanced", C and weights refer to the rows of all workers.
    tol : float, default=1e-3
        The gap at which a column ends, as a fraction of its objective, and of the zero model's (1 for the hinge), which
        may be far above it: as in linear fits of `pegasos.PegasosClassifier`. Objectives are that close to the optimum.
    max_rounds : int, default=1000
    local_passes : float, default=2
        Passes of each worker over its rows in one round. More make rounds fewer and longer; they pay where rows are
        dense or lam is small, and where the network is slow.
    max_time : float, default=None
        Stop after so many seconds.
    n_landmarks : int, default=None
        Nyström: so many rows, a sample over all workers, come to the driver and become landmarks; see
        `pegasos.PegasosClassifier`.
    landmarks : {"uniform", "k-means++"}, default="uniform"
        "k-means++" chooses among 20 times as many rows, which come to the driver.
    random_state : int, RandomState instance or None, default=None
        The model depends on it, and on which worker holds which partition; not on the order in which workers finish.
    verbose : int, default=0
        1 shows a progress bar; where the output is no terminal, a line for each round.
    checkpoint : str, path-like or Checkpoint, default=None
        A file that the driver writes between two rounds, once a minute by default: the model and all dual variables, a
        number for each row and column. A later fit of the same partitions goes on from it, on any cluster; it ends
        in the same model where as many workers hold the same partitions, and rows have not changed workers.
    shuffle : {"auto", True, False}, default="auto"
        Whether rows change workers, with their dual variables: "auto" before the first round where partitions look
        different (sorted rows), and later where the gap does not halve in four rounds; True before the first round in
        any case; False never. A worker then has three times its rows in memory for a while.
    client : distributed.Client, cluster or str, default=None
        The client, a cluster, or the address of a scheduler. None: the active client; without one, Dask's own threads.

    Attributes
    ----------
    classes_, coef_, intercept_, support_, support_vectors_, dual_coef_, n_support_, n_features_in_, feature_names_in_
        As in `pegasos.PegasosClassifier`; the last ones of the support are those of the landmarks.
    objective_, dual_gap_ : ndarray of shape (n_columns,)
        Objective of each column over the rows of all workers, and a bound on its distance from the optimum.
    relative_gap_, converged_ : ndarray of shape (n_columns,)
        The bound as a fraction of the zero model's objective, and whether that is at most `tol`.
    n_rounds_ : int
        Rounds whose changes are in the model.
    n_recoveries_ : int
        How often workers were lost and replaced.
    n_shuffles_ : int
        How often rows have changed workers.
    t_ : ndarray of int, shape (n_columns,)
        Steps of each column, those of all workers added up; `n_iter_` is the largest.
    history_ : list of dict
        Records of round, step, objective (mean over the columns, the best so far), gap (largest), seconds, and bytes
        that the round sent and received.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from pegasos.distributed import PegasosClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = da.from_array(X / 16, chunks=(500, -1)), da.from_array(y, chunks=500)
    >>> model = PegasosClassifier(lam=1e-3, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.predict(X)  # lazy
    dask.array<concatenate, shape=(1797,), dtype=int64, chunksize=(500,), chunktype=numpy.ndarray>
    """

    _local_class = local.PegasosClassifier
    _parameter_constraints: dict = CONSTRAINTS | {
        name: local.PegasosClassifier._parameter_constraints[name]
        for name in ("loss", "multi_class", "break_ties", "class_weight")
    }

    def __init__(
        self,
        *,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1.0,
        lam=None,
        C=1.0,
        loss="hinge",
        multi_class="ovr",
        break_ties=True,
        tol=1e-3,
        max_rounds=1000,
        local_passes=2,
        max_time=None,
        fit_intercept="auto",
        intercept_scaling=1.0,
        class_weight=None,
        n_landmarks=None,
        landmarks="uniform",
        random_state=None,
        verbose=0,
        checkpoint=None,
        shuffle="auto",
        client=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.lam = lam
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.break_ties = break_ties
        self.tol = tol
        self.max_rounds = max_rounds
        self.local_passes = local_passes
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.shuffle = shuffle
        self.client = client

    @_fit_context(prefer_skip_nested_validation=True)
    @unharmed_by_errors
    def fit(self, X, y, sample_weight=None):
        """Train on the rows of X.

        Parameters
        ----------
        X : Dask array or dataframe of shape (n_samples, n_features)
            Chunks are dense, CSR or pandas, their lengths known or not. Blocks of columns are put side by side. Rows
            in memory are cut into as many partitions as there are workers.
        y : Dask array, series or array-like of shape (n_samples,)
            Labels of any one type, in the partitions that X has where lengths are not known.
        sample_weight : Dask array, series or array-like of shape (n_samples,), default=None
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight)
        return self

    def decision_function(self, X):
        """Scores of the rows of X, as in the local estimator; of a Dask collection a Dask array, nothing computed."""
        check_is_fitted(self, "classes_")
        return self._lazy("decision_function", X) if is_collection(X) else super().decision_function(X)

    def predict(self, X):
        """Labels of the rows of X; of a Dask collection a Dask array, nothing computed."""
        check_is_fitted(self, "classes_")
        return self._lazy("predict", X) if is_collection(X) else super().predict(X)

    @offered_if(missing_for_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes for "log_loss"; of a Dask collection a Dask array, nothing computed."""
        check_is_fitted(self, "classes_")
        return self._lazy("predict_proba", X) if is_collection(X) else self.local_model().predict_proba(X)

    def _score_of(self, y: np.ndarray, predicted: np.ndarray, sample_weight) -> float:
        return float(accuracy_score(check_label_types(y), predicted, sample_weight=sample_weight))


class PegasosRegressor(DistributedBase, local.PegasosRegressor):
    """`pegasos.PegasosRegressor` on the workers of a Dask client, with the duality gap certified across all of them.

    Everything said of `pegasos.distributed.PegasosClassifier` holds here.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian"} or callable, default="linear"
        All but "linear" need `n_landmarks`.
    gamma, degree, coef0, lam, C, loss, epsilon, fit_intercept, intercept_scaling
        As in `pegasos.PegasosRegressor`; "scale", C and weights refer to the rows of all workers.
    tol : float, default=1e-3
        The gap at which a column ends, as a fraction of its objective, and of the zero model's:
        ``mean (|y| - epsilon)₊``.
    max_rounds, local_passes, max_time, n_landmarks, landmarks, random_state, verbose, checkpoint, shuffle, client
        As in `pegasos.distributed.PegasosClassifier`.

    Attributes
    ----------
    coef_, intercept_, support_, support_vectors_, dual_coef_, n_features_in_, feature_names_in_
        As in `pegasos.PegasosRegressor`; those of the support are the landmarks.
    objective_, dual_gap_, relative_gap_, converged_, n_rounds_, n_recoveries_, n_shuffles_, t_, n_iter_, history_
        As in `pegasos.distributed.PegasosClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from pegasos.distributed import PegasosRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = da.from_array(scale(X), chunks=(200, -1)), da.from_array(scale(y), chunks=200)
    >>> model = PegasosRegressor(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.45)
    True
    """

    _local_class = local.PegasosRegressor
    _parameter_constraints: dict = CONSTRAINTS | {
        name: local.PegasosRegressor._parameter_constraints[name] for name in ("loss", "epsilon")
    }

    def __init__(
        self,
        *,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1.0,
        lam=None,
        C=1.0,
        loss="epsilon_insensitive",
        epsilon=0.1,
        tol=1e-3,
        max_rounds=1000,
        local_passes=2,
        max_time=None,
        fit_intercept="auto",
        intercept_scaling=1.0,
        n_landmarks=None,
        landmarks="uniform",
        random_state=None,
        verbose=0,
        checkpoint=None,
        shuffle="auto",
        client=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.lam = lam
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.tol = tol
        self.max_rounds = max_rounds
        self.local_passes = local_passes
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.shuffle = shuffle
        self.client = client

    @_fit_context(prefer_skip_nested_validation=True)
    @unharmed_by_errors
    def fit(self, X, y, sample_weight=None):
        """Train on the rows of X.

        Parameters
        ----------
        X : Dask array or dataframe of shape (n_samples, n_features)
            As in `pegasos.distributed.PegasosClassifier`.
        y : Dask array, series, dataframe or array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : Dask array, series or array-like of shape (n_samples,), default=None
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight)
        return self

    def predict(self, X):
        """Predicted targets of the rows of X; of a Dask collection a Dask array, nothing computed."""
        check_is_fitted(self, "intercept_")
        return self._lazy("predict", X) if is_collection(X) else super().predict(X)

    def _score_of(self, y: np.ndarray, predicted: np.ndarray, sample_weight) -> float:
        return float(r2_score(y, predicted, sample_weight=sample_weight))
