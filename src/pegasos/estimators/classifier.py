"""PegasosClassifier."""

from __future__ import annotations

import time

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions

from pegasos.estimators import devices, multilabel, validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.calibration import METHODS
from pegasos.estimators.devices import same_kind_out, where_rows_are
from pegasos.estimators.inputs import check_fitted
from pegasos.estimators.label_scores import OfManyLabels
from pegasos.estimators.probabilities import GivesProbabilities
from pegasos.estimators.start_vector import StartVector
from pegasos.estimators.targets import ClassifierRecipe
from pegasos.estimators.training import learn, train
from pegasos.estimators.warm_start import missing_for_partial_fit, offered_if, unharmed_by_errors
from pegasos.losses import names
from pegasos.problem.columns import decode, with_ties


class PegasosClassifier(OfManyLabels, GivesProbabilities, ClassifierMixin, PegasosBase):
    """Support vector machine trained to a certified optimum; by the steps of Pegasos where those are asked for.

    Each column (a class against the rest, or a pair of classes) minimises ``lam/2 ||w||² + Σ sᵢ ℓᵢ / Σ sᵢ`` over its
    rows. By default it ends at the optimum: `relative_gap_` certifies how far from it the result is, at most, and a fit
    that misses `tol` warns. Ctrl-C ends a fit early: the model is the one reached, with its gap and a warning.

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
    loss : {"hinge", "squared_hinge", "log_loss"}, default="hinge"
        ``max(0, 1 - yf)``, its square, or ``log(1 + exp(-yf))``, which has `predict_proba`.
    multi_class : {"ovr", "ovo", "crammer_singer"}, default="ovr"
        One class against the rest, all pairs with a vote, or all classes in one problem (hinge only), whose loss is
        ``max over r ≠ y of max(0, 1 + f_r - f_y)``.
    break_ties : bool, default=True
        Whether the confidence of the pairs decides between classes with equally many votes ("ovo"); else the lowest of
        them wins.
    solver : {"auto", "pegasos", "sdca", "dcd", "newton", "smo"}, default="auto"
        "auto" ends at the optimum, by whichever of the others suits the rows and the loss; unless `batch_size`,
        `sampling`, `average`, `project` or `max_steps` are given, which only "pegasos" has. "pegasos": the textbook
        algorithm, 20 passes of primal sub-gradient steps. "sdca": dual coordinate ascent, all columns in one pass.
        "dcd", for linear models: dual coordinate descent, each column by itself. "newton", for linear models with few
        features: Newton's method on the primal. "smo", for kernels: an active set of the rows that violate their
        conditions most, over a cache of kernel rows; not for log_loss and Crammer–Singer. Its intercept is not
        penalised, as that of `SVC`. "auto" takes it, too, but never for another objective: what the intercept is does
        not depend on the solver that "auto" finds, and without one, its default for kernels, all have the same optimum.
    tol : float or None, default=1e-3
        The relative gap at which a column ends: a bound on how far its objective is above the optimum, as a fraction of
        the zero model's objective (1 for the hinge). A fit that ends before warns. None: all of `max_iter`. "pegasos"
        takes the default for None.
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
        Project on the ball ||w|| ≤ √(P₀/lam) after each step, P₀ the objective of the zero model: 1, or log 2 for
        "log_loss".
    fit_intercept : bool or "auto", default="auto"
        Add a constant feature, penalised like the others. "auto": for the linear kernel only. Under "smo" True and
        "auto" are an intercept that is not penalised.
    intercept_scaling : float, default=1.0
        Value of the constant feature.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weight of each row by that of its own class, in every column, as `SVC` does. (`LinearSVC`'s
        one-vs-rest weighs the positive class of each column only.) "balanced" is computed on each column's rows.
    probability : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Calibrate probabilities for `predict_proba`, by scores of each row from a model that has not seen it: what
        ``CalibratedClassifierCV(..., ensemble=False)`` does, with the folds as columns of one run. `predict` goes by
        the scores, as without. "temperature" needs scikit-learn 1.8.
    probability_cv : int, splitter or iterable, default=5
        The folds of the calibration.
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
        block by block. Very many classes are trained in parts that fit into half of it, and into 256 MB where the
        model is linear; with `warm_start`, a checkpoint or callbacks they are trained at once.
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
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_columns, n_features)
        Linear kernel only.
    intercept_ : ndarray of shape (n_columns,)
    support_, support_vectors_, dual_coef_, n_support_
        Kernels only: rows that have a coefficient, the rows themselves, the coefficients (n_columns, n_support), and
        how many of each class (not of models that `compress` made, which have `compression_`).
    violations_ : ndarray of int, shape (n_columns, n_support)
        Kernels only, and not of "smo": how often each support row changed the model.
    n_iter_ : int
        Most steps of any column.
    t_ : ndarray of int, shape (n_columns,)
        Steps of each column.
    objective_, dual_gap_ : ndarray of shape (n_columns,)
        Objective of each column, and a bound on its distance from the optimum; nan for indefinite kernels. The columns
        of Crammer–Singer are one problem and share both.
    relative_gap_ : ndarray of shape (n_columns,)
        The gap as a fraction of the zero model's objective.
    calibration_ : Calibration
        With `probability`: how scores become probabilities.
    converged_ : ndarray of bool, shape (n_columns,)
        Whether `relative_gap_` is at most `tol`, or 1e-3 where that is None.
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
        "loss": [StrOptions(set(names("classification")))],
        "multi_class": [StrOptions({"ovr", "ovo", "crammer_singer"})],
        "break_ties": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "probability": [StrOptions(set(METHODS)), None],
        "probability_cv": ["cv_object"],
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
        loss="hinge",
        multi_class="ovr",
        break_ties=True,
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
        class_weight=None,
        probability=None,
        probability_cv=5,
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
        self.multi_class = multi_class
        self.break_ties = break_ties
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
        self.class_weight = class_weight
        self.probability = probability
        self.probability_cv = probability_cv
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
    def fit(self, X, y, sample_weight=None, *, coef_init=None, intercept_init=None):
        """Train on the rows of X.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            float32 is computed in float32, everything else in float64. For "precomputed", the kernel matrix.
        y : array-like of shape (n_samples,), or indicator matrix of shape (n_samples, n_labels)
            Labels of any one type. Of several labels a row, an array or a sparse matrix of 0 and 1, or a list of sets.
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 are left out.
        coef_init : array-like of shape (n_columns, n_features) or (n_features,), default=None
            The start vector w₁ of the steps of Pegasos ("pegasos", linear), within the ball ||w|| ≤ √(P₀/lam). The
            first step has the size 1/lam and forgets it, but for the rows that it tests and for averages.
        intercept_init : array-like of shape (n_columns,), default=None
            The start of the intercept; 0 unless given.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        validation.check_supported(self)
        validation.check_combinations(self)
        recipe = ClassifierRecipe(self)
        start = StartVector.given(self, coef_init, intercept_init)
        if multilabel.is_multilabel(y):
            if start is not None:
                raise ValueError("coef_init is for one label a row; of several labels a row, leave it out.")
            multilabel.fit_labels(recipe, X, y, sample_weight, started)
            return self
        given = X, y
        X, y = recipe.checked(X, y)
        train(recipe, X, y, validation.check_weights(sample_weight, X), started, start)
        if not hasattr(self, "n_support_"):
            recipe.count_support(y)
        self._calibrate(*given, sample_weight)
        return self

    @offered_if(missing_for_partial_fit)
    @_fit_context(prefer_skip_nested_validation=True)
    @unharmed_by_errors
    @where_rows_are
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Go on training with one pass over these rows; the step count t goes on, too.

        Exists for `solver` "auto" or "pegasos", ``kernel="linear"`` and a given `lam`. Calls in turn are one run of
        Pegasos over the rows as they come: in order with ``sampling="cyclic"``, else shuffled (or drawn) within each
        call. There is no certificate, since earlier rows are gone. "suffix" averages over a window that doubles, and
        for "squared_hinge" the step size follows the longest row so far. `max_iter`, `max_steps`, `max_time` and `tol`
        play no part; Ctrl-C leaves the model of the calls before.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed on the first call and, if given again, the same.
        sample_weight : array-like of shape (n_samples,), default=None
            Used as given: in `fit` the mean weight is 1, here the mean over all calls is not known.

        Returns
        -------
        self
        """
        validation.check_supported(self)
        validation.check_combinations(self)
        recipe = ClassifierRecipe(self, incremental=True)
        X, y = recipe.checked(X, y, reset=recipe.memory is None)
        learn(recipe, X, y, recipe.online(y, classes, validation.check_weights(sample_weight, X)))
        return self

    @same_kind_out
    def decision_function(self, X):
        """Scores of the rows of X.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
            One-vs-one votes are turned into one score per class, ties broken by confidence, as scikit-learn does.
        """
        return self._decisions(X)

    def _decisions(self, X) -> np.ndarray:
        check_fitted(self, "classes_")
        return decode(self._scores(X), self._scheme, len(self.classes_))

    def predict(self, X):
        """Labels of the rows of X, of the type they had in `fit`; equal scores go to the lowest class.

        Of several labels a row, what `fit` was given: an array or CSR matrix of 0 and 1, or a list of sets.
        """
        check_fitted(self, "classes_")
        if self._scheme == multilabel.SCHEME:
            return multilabel.predicted(self, X)
        return self._predicted(X)

    @same_kind_out
    def _predicted(self, X) -> np.ndarray:
        scores = self._decisions(X)
        if scores.ndim == 2 and self._scheme == "crammer_singer":
            scores = with_ties(scores)
        elif scores.ndim == 2 and self._scheme == "ovo" and not self.break_ties:
            scores = np.rint(scores)  # the votes: confidence is below a third of one
        if scores.ndim == 1:
            places = (scores > 0).astype(np.intp)
        else:  # along neighbours in memory
            places = scores.T.argmax(axis=0) if scores.flags.f_contiguous else scores.argmax(axis=1)
        return self.classes_[places]

    def score(self, X, y, sample_weight=None):
        """Mean accuracy of `predict` on the rows of X, as scikit-learn computes it."""
        return super().score(*devices.for_score(X, validation.check_label_types(y), sample_weight))
