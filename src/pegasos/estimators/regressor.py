"""PegasosRegressor."""

from __future__ import annotations

import time
from numbers import Real

from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from pegasos.estimators import devices, validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.devices import same_kind_out, where_rows_are
from pegasos.estimators.inputs import check_fitted
from pegasos.estimators.targets import RegressorRecipe
from pegasos.estimators.training import learn, train
from pegasos.estimators.warm_start import missing_for_partial_fit, offered_if, unharmed_by_errors
from pegasos.losses import names


class PegasosRegressor(MultiOutputMixin, RegressorMixin, PegasosBase):
    """Support vector regression trained to a certified optimum, or by Pegasos where that is asked for.

    Each column (a target) minimises ``lam/2 ||w||² + Σ sᵢ max(0, |yᵢ - fᵢ| - epsilon) / Σ sᵢ``, or that with the square
    of the error beyond epsilon. By default it ends at the optimum: `relative_gap_` certifies how far from it the result
    is, at most, and a fit that misses `tol` warns. Ctrl-C ends a fit early: the model is the one reached, with its gap
    and a warning.

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
        Regularisation; overrides `C`.
    C : float, default=1.0
        lam = 1 / (C Σ weights), for each column over its own rows.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        ``max(0, |y - f| - epsilon)``, or its square.
    epsilon : float, default=0.1
        Errors up to this are free; in the units of the targets.
    solver : {"auto", "pegasos", "sdca", "dcd", "newton", "smo"}, default="auto"
        "auto" ends at the optimum, by whichever of the others suits the rows and the loss; unless `batch_size`,
        `sampling`, `average`, `project` or `max_steps` are given, which only "pegasos" has. "pegasos": the textbook
        algorithm, 20 passes of primal sub-gradient steps. "sdca": dual coordinate ascent, all columns in one pass.
        "dcd", for linear models: dual coordinate descent, each column by itself. "newton", for linear models with few
        features: Newton's method on the primal. "smo", for kernels: an active set of the rows that violate their
        conditions most, over a cache of kernel rows; its intercept is not penalised, as that of `SVR`.
        "auto" takes it, too, but never for another objective: what the intercept is does not depend on the solver that
        "auto" finds, and without an intercept, its default for kernels, both have the same optimum.
    tol : float or None, default=1e-3
        The relative gap at which a column ends: a bound on how far its objective is above the optimum, as a fraction of
        the zero model's objective (``mean (|y| - epsilon)₊`` or that of its square). A fit that ends before warns.
        None: all of `max_iter`. "pegasos" takes the default for None.
        Kernels that are not positive semi-definite have no gap: "smo" ends them where conditions of the optimum are
        violated by at most this, 1e-3 if it is None.
    max_iter : float, default=None
        Passes over each column's rows; None: 1000, or 20 of "pegasos" without a `tol`.
    max_steps : int, default=None
        Steps of each column (T in the literature). If `max_iter` is given, too, the sooner of the two ends.
    max_time : float, default=None
        Stop after so many seconds, the certificate included. It is left out (nan) where it would take more than half.
    batch_size : int or "all", default=1
        Rows of one step; "all" is the full sub-gradient.
    sampling : {"shuffle", "replacement", "cyclic", "subsets"}, default="shuffle"
        The order of the rows. "subsets": `batch_size` different rows at each step, drawn anew.
    average : {False, "uniform", "suffix", "weighted"}, default="weighted"
        Which iterates the model is the mean of; False is the last iterate. "uniform": all; "weighted": all, in
        proportion to their step; "suffix": the second half. Under "sdca" any average is the mean over a pass.
    project : bool, default=False
        Project on the ball ||w|| ≤ √(P₀/lam) after each step, P₀ the objective of the zero model.
    fit_intercept : bool or "auto", default="auto"
        Add a constant feature, penalised like the others, as `LinearSVR` does. "auto": for the linear kernel; with
        another one the mean of the targets is taken off before and added to `intercept_` after, since a kernel model
        without an intercept would have to reach for it. Under "smo" True and "auto" are an intercept that is not
        penalised.
    intercept_scaling : float, default=1.0
        Value of the constant feature.
    n_landmarks : int, default=None
        Nyström: so many rows are chosen as landmarks, and the kernel model is made of them alone, by a linear model of
        the features they give each row. For a kernel and more rows than a kernel matrix can take: memory grows with
        the rows, not their square, predicting costs so many kernel values a row, and `partial_fit` works. The features
        are kept if they fit into half of `cache_size`, else computed a block at a time in each pass; then batches
        (``batch_size=256``) are many times faster than single steps. Not kept in a model file for further learning.
    landmarks : {"uniform", "k-means++"}, default="uniform"
        How landmarks are chosen; "k-means++" prefers rows that are far from those chosen before.
    cache_size : float, default=None
        Megabytes for the kernel matrix; None: 2000, or 60 % of what is free on a GPU. A larger matrix is computed
        block by block.
    device : {"auto", "cpu", "cuda", "cuda:tf32"}, default="auto"
        Where to compute. "auto" uses a GPU where the rows are there already (CuPy, torch) or the work is large enough
        to win, and the CPU for linear models that go to their optimum, which it is better at; "cuda" needs a GPU, and
        CuPy and numba-cuda (``pip install 'pegasos[cuda]'``). "cuda:tf32"
        rounds the factors of float32 products to ten bits, which tensor cores multiply: terms are off by less than
        2e-3 of their size. Same seed, same draws: the model is the CPU's up to rounding. Fitted attributes are
        NumPy's, and predict where there is no GPU, too.
    checkpoint : str, path-like or Checkpoint, default=None
        A file in which a long fit keeps its state about once a minute (`pegasos.Checkpoint` sets how often). A fit that
        finds one of its own goes on from it, to the same model bit for bit; one of another fit is an error. It is
        removed when the fit is done, and stays after Ctrl-C or `max_time`. `partial_fit` and the cells of a search use
        none.
    warm_start : bool, default=False
        Go on from the last fit: `max_iter` and `max_steps` count further steps, t is never reset, and `lam` or `C` may
        change. Under "auto" the rows of the last fit are gone on from, and others are begun anew; kernels and the dual
        solvers need the same rows. The order of the rows goes on, too, whatever `random_state` is. Set it before the
        first fit.
    n_jobs : int, default=None
        Threads of a fit; -1: all cores. None: as many as BLAS would use, which OMP_NUM_THREADS and
        OPENBLAS_NUM_THREADS set, and fewer in the workers of joblib and Dask.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows. None: always the same under "auto" where it ends at the optimum, another one in
        each fit otherwise.
    verbose : int, default=0
        1 shows a progress bar with the objective and the gap after passes 1, 2, 4, 8, ...; where the output is no
        terminal, a line for each.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Linear kernel only.
    intercept_ : ndarray of shape (n_targets,)
    support_, support_vectors_, dual_coef_
        Kernels only: rows that have a coefficient, the rows themselves, and the coefficients (n_targets, n_support).
    violations_ : ndarray of int, shape (n_targets, n_support)
        Kernels only, and not of "smo": how often each support row changed the model.
    n_iter_ : int
        Most steps of any target.
    t_ : ndarray of int, shape (n_targets,)
        Steps of each target.
    objective_, dual_gap_ : ndarray of shape (n_targets,)
        Objective of each target, and a bound on its distance from the optimum; nan for indefinite kernels.
    relative_gap_ : ndarray of shape (n_targets,)
        The gap as a fraction of the zero model's objective.
    converged_ : ndarray of bool, shape (n_targets,)
        Whether `relative_gap_` is at most `tol`, or 1e-3 where that is None.
    history_ : list of dict
        Records of step, objective (mean over the targets), gap (largest) and seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from pegasos import PegasosRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PegasosRegressor(C=10).fit(scale(X), y)
    >>> bool(model.score(scale(X), y) > 0.45)
    True
    """

    _parameter_constraints: dict = {
        **PegasosBase._parameter_constraints,
        "loss": [StrOptions(set(names("regression")))],
        "epsilon": [Interval(Real, 0, None, closed="left")],
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
        C=1.0,
        loss="epsilon_insensitive",
        epsilon=0.1,
        solver="auto",
        tol=1e-3,
        max_iter=None,
        max_steps=None,
        max_time=None,
        batch_size=1,
        sampling="shuffle",
        average="weighted",
        project=False,
        fit_intercept="auto",
        intercept_scaling=1.0,
        n_landmarks=None,
        landmarks="uniform",
        cache_size=None,
        device="auto",
        checkpoint=None,
        warm_start=False,
        n_jobs=None,
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
        self.epsilon = epsilon
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_steps = max_steps
        self.max_time = max_time
        self.batch_size = batch_size
        self.sampling = sampling
        self.average = average
        self.project = project
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.cache_size = cache_size
        self.device = device
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @unharmed_by_errors
    @where_rows_are
    def fit(self, X, y, sample_weight=None):
        """Train on the rows of X.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            float32 is computed in float32, everything else in float64. For "precomputed", the kernel matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        validation.check_supported(self)
        validation.check_combinations(self)
        recipe = RegressorRecipe(self)
        X, y = recipe.checked(X, y)
        train(recipe, X, y, validation.check_weights(sample_weight, X), started)
        return self

    @offered_if(missing_for_partial_fit)
    @_fit_context(prefer_skip_nested_validation=True)
    @unharmed_by_errors
    @where_rows_are
    def partial_fit(self, X, y, sample_weight=None):
        """Go on training with one pass over these rows; the step count t goes on, too.

        Exists for `solver` "auto" or "pegasos", ``kernel="linear"`` and a given `lam`. Calls in turn are one run of
        Pegasos over the rows as they come: in order with ``sampling="cyclic"``, else shuffled (or drawn) within each
        call. There is no certificate, since earlier rows are gone. "suffix" averages over a window that doubles, and
        `project` keeps to the largest ball so far. `max_iter`, `max_steps`, `max_time` and `tol` play no part; Ctrl-C
        leaves the model of the calls before.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None
            Used as given: in `fit` the mean weight is 1, here the mean over all calls is not known.

        Returns
        -------
        self
        """
        validation.check_supported(self)
        validation.check_combinations(self)
        recipe = RegressorRecipe(self, incremental=True)
        memory = recipe.memory
        X, y = recipe.checked(X, y, reset=memory is None)
        offset = None if memory is None else memory.offset  # the mean over all calls is not known: that of the first
        targets = recipe.encoded(y, validation.check_weights(sample_weight, X), X.dtype, offset)
        learn(recipe, X, y, targets._replace(problems=targets.problems.with_lam(self.lam)))
        return self

    def score(self, X, y, sample_weight=None):
        """R² of `predict` on the rows of X, as scikit-learn computes it."""
        return super().score(*devices.for_score(X, y, sample_weight))

    @same_kind_out
    def predict(self, X):
        """Predicted targets of the rows of X, of the shape they had in `fit`."""
        check_fitted(self, "_targets")
        scores = self._scores(X)
        return scores[:, 0] if self._targets is None else scores
