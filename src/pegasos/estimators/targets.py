"""The recipes of classifiers and regressors: their targets as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from pegasos.estimators import devices, validation
from pegasos.estimators.recipe import EncodedTargets, Recipe
from pegasos.problem.columns import Problems, balanced, crammer_singer, one_vs_one, one_vs_rest, regression

ANY_CLASSES = "biuUmMS"  # kinds of labels that are classes whatever their values
SCHEMES = {"ovr": one_vs_rest, "ovo": one_vs_one, "crammer_singer": crammer_singer}


class ClassifierRecipe(Recipe):
    """What a classifier's parameters ask for."""

    @property
    def loss(self):
        """The `Loss` that the solver minimises."""
        from pegasos.losses import Loss

        svm = self.estimator
        return Loss.CRAMMER_SINGER if svm.multi_class == "crammer_singer" else Loss[svm.loss.upper()]

    def checked(self, X, y, *, reset=True):
        """Rows and labels as `fit` takes them."""
        y = validation.check_label_types(devices.on_host(y))
        X, y, sizes = devices.checked(self.estimator, X, y, reset=reset)
        self._looked = X, sizes
        return X, y

    def encoded(self, y, sample_weight, dtype, offset=None) -> EncodedTargets:
        """Columns for the classes of the labels y."""
        classes, codes, weights = self.classes(y, sample_weight)
        problems = self.columns(codes, len(classes), weights)
        if self.estimator.class_weight == "balanced":
            problems = balanced(problems, codes)
        return EncodedTargets(problems, {"classes_": classes, "_scheme": problems.scheme})

    def classes(self, y, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Classes among the rows of positive weight, the class of each row, and the weights times `class_weight`."""
        if y.dtype.kind not in ANY_CLASSES:
            check_classification_targets(y)
        kept: Any = slice(None) if weights is None else weights > 0
        if isinstance(self.estimator.class_weight, dict):
            classes = np.unique(y)
            per_class = validation.checked_class_weights(self.estimator.class_weight, classes, y)
            weights = (1.0 if weights is None else weights) * per_class[np.searchsorted(classes, y)]
            kept = weights > 0
        classes = np.unique(y[kept])
        if len(classes) < 2:
            raise ValueError(
                f"{type(self.estimator).__name__} needs at least 2 classes, but the data have {len(classes)} class"
                f"{'' if weights is None else ' among the rows of positive weight'}: {classes.tolist()}."
            )
        codes = np.zeros(len(y), np.intp)
        codes[kept] = np.searchsorted(classes, y[kept])
        return classes, codes, weights

    def columns(self, codes: np.ndarray, n_classes: int, weights) -> Problems:
        """The columns of `multi_class` for rows of these classes."""
        return SCHEMES[self.estimator.multi_class](codes, n_classes, weights)

    def online(self, y, classes, sample_weight) -> EncodedTargets:
        """Columns of one call of `partial_fit`; `classes` are all labels that will ever come, needed once."""
        svm = self.estimator
        known = None if self.memory is None else svm.classes_
        classes, codes = validation.check_online_labels(y, devices.on_host(classes), known)
        if svm.class_weight is not None:
            sample_weight = validation.check_online_class_weight(svm.class_weight, classes, codes, sample_weight)
        problems = self.columns(codes, len(classes), sample_weight).with_lam(svm.lam)
        return EncodedTargets(problems, {"classes_": classes, "_scheme": problems.scheme})

    def count_support(self, y) -> None:
        """Support rows of each class."""
        svm = self.estimator
        if not svm._kernel.is_linear:
            places = np.searchsorted(svm.classes_, y[svm.support_])
            svm.n_support_ = np.bincount(places, minlength=len(svm.classes_))


class RegressorRecipe(Recipe):
    """What a regressor's parameters ask for."""

    @property
    def loss(self):
        """The `Loss` that the solver minimises."""
        from pegasos.losses import Loss

        return Loss[self.estimator.loss.upper()]

    @property
    def centred(self) -> bool:
        """Whether the mean of the targets is taken off, since a kernel model has no intercept of its own."""
        return self.estimator.fit_intercept == "auto" and self.estimator.kernel != "linear"

    def checked(self, X, y, *, reset=True):
        """Rows and targets, in float64, as `fit` takes them."""
        validation.check_dense_targets(y)
        y = devices.on_host(y)
        X, y, sizes = devices.checked(self.estimator, X, y, reset=reset, multi_output=True, y_numeric=True)
        self._looked = X, sizes
        y = np.asarray(y, np.float64)
        validation.check_targets(y, X.dtype)
        return X, y

    def encoded(self, y, sample_weight, dtype, offset=None) -> EncodedTargets:
        """One column per target."""
        targets = y.reshape(len(y), -1)
        if np.shape(offset) != targets.shape[1:]:  # another number of targets, which is refused later
            offset = None
        if offset is None and self.centred:
            offset = np.average(targets, axis=0, weights=sample_weight)
        offset = np.zeros(targets.shape[1]) if offset is None else offset
        problems = regression((targets - offset).astype(dtype), self.estimator.epsilon, sample_weight)
        return EncodedTargets(problems, {"_targets": None if y.ndim == 1 else targets.shape[1]}, offset)


def recipe_of(estimator, *, incremental: bool = False) -> Recipe:
    """The recipe of a classifier or a regressor; `incremental` as in `Recipe`."""
    kind = ClassifierRecipe if isinstance(estimator, ClassifierMixin) else RegressorRecipe
    return kind(estimator, incremental=incremental)
