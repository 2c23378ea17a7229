"""SVC and NuSVC: a dual for each pair of classes, all of them columns of one solve."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from pegasos.estimators.inputs import check_fitted
from pegasos.estimators.validation import warn_user
from pegasos.problem.columns import confident_votes
from pegasos.svm import formulations, layout, probability
from pegasos.svm.base import KernelMachine, without
from pegasos.svm.formulations import RowModel
from pegasos.svm.training import held_out_scores, solved

DEPRECATED = (
    "The `probability` parameter was deprecated in scikit-learn 1.9, which removes it in 1.11. Use"
    " `CalibratedClassifierCV({name}(), ensemble=False)` instead of `{name}(probability=True)`"
)
NO_PROBABILITIES = "predict_proba is not available when probability=False"
OF_PLATT = "Attribute `{}` was deprecated in scikit-learn 1.9, which removes it in 1.11, as `probability=True` is."


def _has_probabilities(machine) -> bool:
    if machine.probability == "deprecated" or not machine.probability:
        raise AttributeError(NO_PROBABILITIES)
    return True


class PairwiseMachine(ClassifierMixin, KernelMachine):
    """Classification by a dual for each pair of classes."""

    _parameter_constraints: dict = {
        **without("nu", "epsilon"),
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
    }

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _validate_targets(self, y):
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        self.class_weight_ = np.ones(len(classes))
        if self.class_weight is not None:
            self.class_weight_ = compute_class_weight(self.class_weight, classes=classes, y=labels)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        self.classes_ = classes
        return codes

    def _warn_of_deprecated(self):
        if self.probability != "deprecated":
            warn_user(DEPRECATED.format(name=type(self).__name__), FutureWarning)

    def _pair_problem(self, rows, signs, weights):
        """The dual of one pair over these rows; +1 is the first class."""
        raise NotImplementedError

    def _check_classes(self, codes: np.ndarray, weights: np.ndarray) -> None:
        """Raise where the weights leave nothing to tell apart."""
        if len(np.unique(codes[weights > 0])) < 2:
            raise ValueError("Invalid input - all samples with positive weights belong to the same class.")

    def _train(self, rows, y, weights, started):
        self._check_classes(y, weights)
        n_classes, platt = len(self.classes_), self.probability is True or self.probability is np.True_
        used, of_class = np.flatnonzero(weights > 0), []
        for code in range(n_classes):
            of_class.append(used[y[used] == code])
        parts = [_rows_of_pair(of_class[first], of_class[second]) for _, first, second in layout.pairs(n_classes)]
        folds = [probability.folds_of(*part, self._random) if platt else [] for part in parts]
        problems, places = [], []  # those of all pairs, then those of all folds; pairs that lack a class have none
        for number, (some, signs) in enumerate(parts):
            if probability.both(signs):
                places.append(number)
                problems.append(self._pair_problem(some, signs, weights))
        n_pairs = len(problems)
        trained = [fold for some in folds for fold in some if fold.trains]
        problems += [self._pair_problem(fold.rows, fold.signs, weights) for fold in trained]
        solutions = solved(self, rows, problems, started)
        found = [self._model_of(problem, solution) for problem, solution in zip(problems, solutions, strict=True)]
        models = [RowModel(some[:0], np.zeros(0), float(np.sign(signs.sum()))) for some, signs in parts]
        steps = np.zeros(len(models), np.int32)
        for place, model, solution in zip(places, found, solutions):
            models[place], steps[place] = model, solution.steps
        self.n_iter_: Any = steps
        self._store(rows, layout.of_pairs(models, y, n_classes), np.array([model.intercept for model in models]))
        if n_classes == 2:
            self.intercept_, self.dual_coef_ = -self._intercept_, -self._dual_coef_
        self._store_outcome(rows, problems[:n_pairs], found[:n_pairs], solutions[:n_pairs])
        for name in (
            "objective_",
            "dual_gap_",
            "relative_gap_",
            "converged_",
        ):  # a pair without a problem is at its end
            value = getattr(self, name)
            setattr(self, name, np.full(len(models), name == "converged_", value.dtype))
            getattr(self, name)[places] = value
        if platt:
            scores = iter(
                [held_out_scores(rows, model, fold.held_out) for model, fold in zip(found[n_pairs:], trained)]
            )
            sigmoids = [probability.sigmoid_of_folds(some, scores) for some in folds]
            self._probA, self._probB = np.array(sigmoids).T.copy()

    # --- predicting -------------------------------------------------------------------------------------------------

    def _sums(self, scores_of, coefficients):
        return layout.pair_scores(scores_of, self._n_support, coefficients, self._intercept_)

    def _weights_of(self, coefficients):
        if len(self._n_support) == 2:
            return super()._weights_of(coefficients)
        return layout.pair_weights(coefficients, self._n_support, self.support_vectors_)

    def decision_function(self, X):
        """Scores of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Else (n_samples, n_classes) for ``decision_function_shape="ovr"``, votes with ties broken by confidence, or
            (n_samples, n_classes * (n_classes - 1) / 2) for "ovo", positive for the first class of the pair.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return -scores.ravel()
        if self.decision_function_shape == "ovr":
            return confident_votes(scores < 0, -scores, len(self.classes_))
        return scores

    def predict(self, X):
        """Labels of the rows of X; the class that wins most pairs, the first of several unless `break_ties`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_fitted(self, "classes_")
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties and len(self.classes_) > 2:
            places = np.argmax(self.decision_function(X), axis=1)
        else:
            places = layout.votes(self._scores(X), len(self.classes_))
        return self.classes_.take(places)

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes by Platt's sigmoids of the pairs; exists if `probability`.

        The sigmoids are fitted to scores of rows that were held out in five folds, and coupled as Wu, Lin and Weng do.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_fitted(self, "classes_")
        scores = self._scores(X)
        if not self._probA.size:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        return probability.coupled(probability.sigmoid(scores, self._probA, self._probB), len(self.classes_))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    @property
    def probA_(self):
        """Slopes of Platt's sigmoids, one for each pair."""
        warnings.warn(OF_PLATT.format("probA_"), FutureWarning, stacklevel=2)
        return self._probA

    @property
    def probB_(self):
        """Constants of Platt's sigmoids, one for each pair."""
        warnings.warn(OF_PLATT.format("probB_"), FutureWarning, stacklevel=2)
        return self._probB


class SVC(PairwiseMachine):
    """C-support vector classification, with the parameters and attributes of `sklearn.svm.SVC`.

    Each pair of classes minimises ``½ ||w||² + C Σ class_weight sample_weight max(0, 1 - yf)`` over its rows; the
    intercept is not penalised. All pairs are columns of one solve, and share the kernel values they need.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable gets two sets of rows and returns the matrix of kernel values.
    degree : int, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid". "scale" is 1 / (n_features * X.var()), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether rows at their bounds are set aside while the others are worked on.
    probability : bool, default="deprecated"
        Whether to fit sigmoids for `predict_proba`, on five folds of each pair; they are columns of the same solve.
        scikit-learn has deprecated it in favour of `sklearn.calibration.CalibratedClassifierCV`.
    tol : float, default=1e-3
        The violation of the optimality conditions at which a pair ends, as LIBSVM measures it.
    cache_size : float, default=200
        Megabytes for kernel values.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C for the rows of each class.
    verbose : bool, default=False
        Whether to show a progress bar; where the output is no terminal, lines.
    max_iter : int, default=-1
        Most steps of the solver in each pair; -1: no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives a score for each class or one for each pair.
    break_ties : bool, default=False
        Whether `predict` breaks ties of votes by the scores of "ovr".
    random_state : int, RandomState instance or None, default=None
        Seed of the folds of `probability`.
    max_time : float, default=None
        Stop after so many seconds.
    n_jobs : int, default=None
        Threads of a fit; -1: all cores. None: as many as BLAS would use.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As those of `sklearn.svm.SVC`.
    fit_status_, n_iter_, shape_fit_
        As those of `sklearn.svm.SVC`.
    objective_, dual_gap_ : ndarray of shape (n_pairs,)
        The objective of each pair, and a bound on its distance from the optimum; nan for indefinite kernels.
    relative_gap_ : ndarray of shape (n_pairs,)
        The gap as a fraction of the zero model's objective.
    converged_ : ndarray of bool, shape (n_pairs,)
        Whether the pair ended at `tol`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> SVC(C=10.0).fit(X, y).score(X, y) > 0.97
    True
    """

    def __init__(
        self, *, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True, probability="deprecated",
        tol=1e-3, cache_size=200, class_weight=None, verbose=False, max_iter=-1, decision_function_shape="ovr",
        break_ties=False, random_state=None, max_time=None, n_jobs=None,
    ):  # fmt: skip
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _train(self, rows, y, weights, started):
        with np.errstate(over="ignore"):
            super()._train(rows, y, weights * self.C * self.class_weight_[y], started)

    def _pair_problem(self, rows, signs, weights):
        return formulations.c_classification(rows, signs, weights[rows])


class NuSVC(PairwiseMachine):
    """Nu-support vector classification, with the parameters and attributes of `sklearn.svm.NuSVC`.

    As `SVC`, but C is found, for each pair of classes, such that about a share `nu` of the rows is in the margin.

    Parameters
    ----------
    nu : float, default=0.5
        At most this share of the rows is within the margin, and at least this share has a coefficient; in (0, 1].
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, verbose, max_iter
        As in `SVC`.
    class_weight : dict, "balanced" or None, default=None
        Sets `class_weight_` and nothing else, as in scikit-learn: `nu` fixes what the classes weigh. `sample_weight`
        does have an effect.
    decision_function_shape, break_ties, random_state, max_time, n_jobs
        As in `SVC`.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As those of `sklearn.svm.NuSVC`.
    fit_status_, n_iter_, shape_fit_
        As those of `sklearn.svm.NuSVC`.
    objective_, dual_gap_, converged_
        As those of `SVC`.
    relative_gap_ : ndarray of shape (n_pairs,)
        The gap as a fraction of what ½ ||w||² can be at most, before the division by the margin.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos.svm import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> NuSVC(nu=0.1).fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: dict = {
        **PairwiseMachine._parameter_constraints,
        "nu": KernelMachine._parameter_constraints["nu"],
    }
    _parameter_constraints.pop("C")
    _model_of = staticmethod(formulations.nu_classifier_of)

    def __init__(
        self, *, nu=0.5, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True, probability="deprecated",
        tol=1e-3, cache_size=200, class_weight=None, verbose=False, max_iter=-1, decision_function_shape="ovr",
        break_ties=False, random_state=None, max_time=None, n_jobs=None,
    ):  # fmt: skip
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _check_classes(self, codes, weights):
        totals = np.bincount(codes, weights, minlength=len(self.classes_))
        for _, first, second in layout.pairs(len(totals)):
            if self.nu * (totals[first] + totals[second]) / 2 > min(totals[first], totals[second]):
                raise ValueError("specified nu is infeasible")

    def _pair_problem(self, rows, signs, weights):
        return formulations.nu_classification(rows, signs, weights[rows], self.nu)


def _rows_of_pair(of_first: np.ndarray, of_second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a pair in the order of its classes, and +1 for those of the first one."""
    signs = np.repeat([1.0, -1.0], [len(of_first), len(of_second)])
    return np.concatenate([of_first, of_second]), signs
