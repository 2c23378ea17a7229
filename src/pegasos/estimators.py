"""Estimators: parameters → Problems → solve → fitted attributes, by scikit-learn's conventions."""

from __future__ import annotations

import time

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos import validation
from pegasos.base import PegasosBase
from pegasos.kernels import canonical, squared_norms
from pegasos.problems import Problems, balanced, decode, one_vs_one, one_vs_rest

FITTED_BY_SOME = ("coef_", "support_", "support_vectors_", "dual_coef_", "violations_", "n_support_")


class PegasosClassifier(ClassifierMixin, PegasosBase):
    """Support vector machine trained by exact Pegasos, all classes in one pass over the data.

    Each column (a class against the rest, or a pair of classes) minimises ``lam/2 ||w||² + Σ sᵢ ℓᵢ / Σ sᵢ`` over its
    rows. `dual_gap_` certifies how far from the optimum the result is, at most.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable, default="linear"
        A callable gets two matrices of rows and returns the matrix of kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        As in `sklearn.svm.SVC`: ``exp(-gamma ||x - z||²)``. "scale" is 1 / (n_features * X.var()), the variance
        weighted by `sample_weight`; "auto" is 1 / n_features.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a callable kernel.
    lam : float, default=None
        Regularisation. Give `lam` or `C`; neither means C = 1.
    C : float, default=None
        lam = 1 / (C Σ weights), for each column over its own rows.
    loss : {"hinge"}, default="hinge"
        "squared_hinge" and "log_loss" come in a later version.
    multi_class : {"ovr", "ovo"}, default="ovr"
        One class against the rest, or all pairs with a vote. "crammer_singer" comes in a later version.
    solver : {"pegasos", "sdca"}, default="pegasos"
        The primal sub-gradient step, or dual coordinate ascent: no loss of accuracy at small lam, and a tight gap.
    max_iter : int, default=None
        Steps of each column (T in the literature).
    max_passes : float, default=None
        Passes over each column's rows. The sooner of the two ends; both None: 20 passes, or 1000 when `tol` is set.
    tol : float, default=None
        Stop a column when its gap is at most this fraction of the zero model's objective (1 for the hinge).
    max_time : float, default=None
        Stop after so many seconds.
    batch_size : int or "all", default=1
        Rows of one step; "all" is the full sub-gradient.
    sampling : {"shuffle", "replacement", "cyclic"}, default="shuffle"
        The order of the rows.
    average : {False, "uniform", "suffix", "weighted"}, default="weighted"
        Which iterates the model is the mean of; False is the last iterate. "uniform": all; "weighted": all, in
        proportion to their step; "suffix": the second half. Under "sdca" any average is the mean over a pass.
    project : bool, default=False
        Project on the ball ||w|| ≤ 1/√lam after each step.
    fit_intercept : bool or "auto", default="auto"
        Add a constant feature, penalised like the others. "auto": for the linear kernel only.
    intercept_scaling : float, default=1.0
        Value of the constant feature.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weight of each row by that of its own class, in every column, as `SVC` does. (`LinearSVC`'s
        one-vs-rest weighs the positive class of each column only.) "balanced" is computed on each column's rows.
    n_landmarks : None
        Comes in a later version.
    cache_size : float, default=None
        Megabytes for the kernel matrix; None: 2000. A larger matrix is computed block by block.
    device : {"auto", "cpu"}, default="auto"
        "cuda" comes in a later version.
    checkpoint : None
        Comes in a later version.
    warm_start : bool, default=False
        True comes in a later version.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows.
    verbose : int, default=0
        1 prints the objective and the gap after passes 1, 2, 4, 8, ...

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_columns, n_features)
        Linear kernel only.
    intercept_ : ndarray of shape (n_columns,)
    support_, support_vectors_, dual_coef_, n_support_
        Kernels only: rows that have a coefficient, the rows themselves, the coefficients (n_columns, n_support), and
        how many of each class.
    violations_ : ndarray of int, shape (n_columns, n_support)
        Kernels only: how often each support row changed the model.
    n_iter_ : int
        Most steps of any column.
    t_ : ndarray of int, shape (n_columns,)
        Steps of each column.
    objective_, dual_gap_ : ndarray of shape (n_columns,)
        Objective of each column, and a bound on its distance from the optimum; nan for indefinite kernels.
    history_ : list of dict
        Records of step, objective (mean over the columns), gap (largest) and seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos import PegasosClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PegasosClassifier(kernel="rbf", gamma=0.02, lam=1e-4, random_state=0).fit(X / 4, y)
    >>> model.score(X / 4, y) > 0.99
    True
    """

    _parameter_constraints: dict = {
        **PegasosBase._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge", "log_loss"})],
        "multi_class": [StrOptions({"ovr", "ovo", "crammer_singer"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        *,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1.0,
        kernel_params=None,
        lam=None,
        C=None,
        loss="hinge",
        multi_class="ovr",
        solver="pegasos",
        max_iter=None,
        max_passes=None,
        tol=None,
        max_time=None,
        batch_size=1,
        sampling="shuffle",
        average="weighted",
        project=False,
        fit_intercept="auto",
        intercept_scaling=1.0,
        class_weight=None,
        n_landmarks=None,
        cache_size=None,
        device="auto",
        checkpoint=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.lam = lam
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.solver = solver
        self.max_iter = max_iter
        self.max_passes = max_passes
        self.tol = tol
        self.max_time = max_time
        self.batch_size = batch_size
        self.sampling = sampling
        self.average = average
        self.project = project
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_landmarks = n_landmarks
        self.cache_size = cache_size
        self.device = device
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Train on the rows of X.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            float32 is computed in float32, everything else in float64. For "precomputed", the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels of any one type.
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        from pegasos.solver import solve  # Numba is imported when a fit first needs it

        started = time.perf_counter()
        validation.check_supported(self)
        validation.check_combinations(self)
        y = validation.check_label_types(y)
        precomputed = self.kernel == "precomputed"
        X, y = validate_data(self, X, y, accept_sparse=False if precomputed else "csr", dtype=[np.float64, np.float32])
        X = canonical(X)
        sample_weight = validation.check_weights(sample_weight, X)
        classes, codes, weights = self._classes(y, sample_weight)
        problems = self._problems(codes, len(classes), weights)
        validation.check_regularisation(problems, X.dtype)
        if precomputed:
            validation.check_precomputed(X)
        kernel, bias = self._resolved_kernel(X, sample_weight), self._bias()
        squares = None if kernel.name in ("precomputed", "callable") else squared_norms(X)
        validation.check_magnitudes(X, squares, kernel, bias)
        definite = validation.check_definite(X, kernel, self.tol)
        schedule = self._schedule(problems)
        rows = self._rows(X, squares, kernel, bias, schedule)
        solution = solve(
            rows, problems, self._rule(), schedule, definite=definite, started=started, callback=self._callback()
        )
        self._keep(solution, X, classes, codes, problems.scheme, kernel, bias)
        self._warn_if_missed(solution)
        return self

    def _classes(self, y, weights):
        """Classes among the rows of positive weight, the class of each row, and the weights times `class_weight`."""
        if y.dtype.kind not in "mMS":  # dates and bytes are labels like any other, which scikit-learn does not know
            check_classification_targets(y)
        kept = np.ones(len(y), bool) if weights is None else weights > 0
        if isinstance(self.class_weight, dict):
            classes, codes = np.unique(y, return_inverse=True)
            per_class = compute_class_weight(self.class_weight, classes=classes, y=y)
            if not (np.isfinite(per_class) & (per_class >= 0)).all():
                raise ValueError(f"class_weight must be finite and not negative, got {self.class_weight}.")
            weights = (1.0 if weights is None else weights) * per_class[codes.ravel()]
            kept = weights > 0
        classes, found = np.unique(y[kept], return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes, but the data have {len(classes)} class"
                f"{'' if weights is None else ' among the rows of positive weight'}: {classes.tolist()}."
            )
        codes = np.zeros(len(y), np.intp)
        codes[kept] = found
        return classes, codes, weights

    def _problems(self, codes, n_classes, weights) -> Problems:
        build = one_vs_one if self.multi_class == "ovo" else one_vs_rest
        problems = build(codes, n_classes, weights)
        if self.class_weight == "balanced":
            problems = balanced(problems, codes)
        if self.lam is not None:
            return problems.with_lam(self.lam)
        return problems.with_C(1.0 if self.C is None else self.C)

    def _keep(self, solution, X, classes, codes, scheme, kernel, bias) -> None:
        """Store the solution as fitted attributes, all at once: a fit that fails leaves the model before it whole."""
        for name in FITTED_BY_SOME:
            if hasattr(self, name):
                delattr(self, name)
        model = solution.model
        self.intercept_ = model[-1] * model.dtype.type(bias) if bias > 0 else np.zeros(model.shape[1], model.dtype)
        if kernel.name == "linear":
            self.coef_ = np.ascontiguousarray(model[: X.shape[1]].T)
        else:
            coefficients = model[: X.shape[0]]
            self.support_ = np.flatnonzero(coefficients.any(axis=1))
            self.support_vectors_ = np.empty((0, 0), X.dtype) if kernel.name == "precomputed" else X[self.support_]
            self.dual_coef_ = np.ascontiguousarray(coefficients[self.support_].T)
            self.violations_ = np.ascontiguousarray(solution.state.violations[self.support_].T)
            self.n_support_ = np.bincount(codes[self.support_], minlength=len(classes))
        self._kernel, self._scheme = kernel, scheme
        self.t_ = solution.steps.copy()
        self.n_iter_ = int(self.t_.max())
        self.objective_ = solution.certificate.objective
        self.dual_gap_ = solution.certificate.gap
        self.history_ = solution.history
        self.classes_ = classes

    def decision_function(self, X):
        """Scores of the rows of X.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
            One-vs-one votes are turned into one score per class, ties broken by confidence, as scikit-learn does.
        """
        check_is_fitted(self, "classes_")
        precomputed = self._kernel.name == "precomputed"
        X = validate_data(
            self, X, accept_sparse=False if precomputed else "csr", dtype=[np.float64, np.float32], reset=False
        )
        X = canonical(X)
        if self._kernel.name == "linear":
            scores = safe_sparse_dot(X, self.coef_.T, dense_output=True)
        elif precomputed:
            scores = X[:, self.support_] @ self.dual_coef_.T
        else:
            scores = self._kernel_scores(X.astype(self.dual_coef_.dtype, copy=False))
        return decode(scores + self.intercept_, self._scheme, len(self.classes_))

    def predict(self, X):
        """Labels of the rows of X, of the type they had in `fit`; ties go to the lowest class."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]
