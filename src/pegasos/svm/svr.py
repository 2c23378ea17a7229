"""SVR and NuSVR."""

from __future__ import annotations

from sklearn.base import RegressorMixin

from pegasos.svm import formulations
from pegasos.svm.base import KernelMachine, without


class RegressionMachine(RegressorMixin, KernelMachine):
    """Regression by one dual."""

    def predict(self, X):
        """Targets of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            For "precomputed" kernel values against the training rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(X).ravel()


class SVR(RegressionMachine):
    """Epsilon-support vector regression, with the parameters and attributes of `sklearn.svm.SVR`.

    Minimises ``½ ||w||² + C Σ sample_weight max(0, |y - f| - epsilon)``; the intercept is not penalised.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable gets two sets of rows and returns the matrix of kernel values.
    degree : int, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid". "scale" is 1 / (n_features * X.var()), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    tol : float, default=1e-3
        The violation of the optimality conditions at which the fit ends, as LIBSVM measures it.
    C : float, default=1.0
        Weight of the errors.
    epsilon : float, default=0.1
        Errors up to this are free.
    shrinking : bool, default=True
        Whether rows at their bounds are set aside while the others are worked on.
    cache_size : float, default=200
        Megabytes for kernel values.
    verbose : bool, default=False
        Whether to show a progress bar; where the output is no terminal, lines.
    max_iter : int, default=-1
        Most steps of the solver; -1: no limit.
    max_time : float, default=None
        Stop after so many seconds.
    n_jobs : int, default=None
        Threads of a fit; -1: all cores. None: as many as BLAS would use.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, n_iter_, shape_fit_
        As those of `sklearn.svm.SVR`.
    objective_, dual_gap_ : ndarray of shape (1,)
        The objective, and a bound on its distance from the optimum; nan for indefinite kernels.
    relative_gap_ : ndarray of shape (1,)
        The gap as a fraction of the zero model's objective.
    converged_ : ndarray of bool, shape (1,)
        Whether the fit ended at `tol`.

    Examples
    --------
    >>> import numpy as np
    >>> from pegasos.svm import SVR
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> SVR(C=10.0).fit(X, np.sin(X).ravel()).score(X, np.sin(X).ravel()) > 0.98
    True
    """

    _parameter_constraints = without("nu", "class_weight", "probability", "random_state")

    def __init__(
        self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, C=1.0, epsilon=0.1, shrinking=True,
        cache_size=200, verbose=False, max_iter=-1, max_time=None, n_jobs=None,
    ):  # fmt: skip
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _problems(self, y, weights):
        rows = weights.nonzero()[0]
        return [formulations.epsilon_regression(rows, y[rows], self.C * weights[rows], self.epsilon)]


class NuSVR(RegressionMachine):
    """Nu-support vector regression, with the parameters and attributes of `sklearn.svm.NuSVR`.

    As `SVR`, but epsilon is found such that a share `nu` of the rows, about, lie on its tube or outside.

    Parameters
    ----------
    nu : float, default=0.5
        At most this share of the rows lies outside the tube, and at least this share has a coefficient; in (0, 1].
    C : float, default=1.0
        Weight of the errors.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, max_time, n_jobs
        As in `SVR`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, n_iter_, shape_fit_
        As those of `sklearn.svm.NuSVR`.
    objective_, dual_gap_, converged_
        As those of `SVR`.
    relative_gap_ : ndarray of shape (1,)
        The gap as a fraction of what the spread of the targets costs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from pegasos.svm import NuSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> NuSVR(nu=0.3, C=100.0).fit(scale(X), y).score(scale(X), y) > 0.5
    True
    """

    _parameter_constraints = without("class_weight", "epsilon", "probability", "random_state")
    _model_of = staticmethod(formulations.nu_regressor_of)

    def __init__(
        self, *, nu=0.5, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True, tol=1e-3,
        cache_size=200, verbose=False, max_iter=-1, max_time=None, n_jobs=None,
    ):  # fmt: skip
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _problems(self, y, weights):
        rows = weights.nonzero()[0]
        return [formulations.nu_regression(rows, y[rows], self.C * weights[rows], self.nu)]
