"""What a classifier of many classes or labels offers beside its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from pegasos.estimators import multilabel
from pegasos.estimators.warm_start import offered_if


def of_linear_models(classifier) -> str | None:
    """What a classifier lacks for weights that can be dropped; None: nothing."""
    return None if classifier.kernel == "linear" else f"it is for linear models; got kernel={classifier.kernel!r}."


class OfManyLabels:
    """Mixin for classifiers with a score for each of many classes or labels."""

    classes_: np.ndarray
    coef_: Any
    kernel: Any
    multi_class: str
    _scheme: str

    def top_labels(self, X, k=5):
        """The k labels of the largest scores of each row, without the scores of all rows at a time.

        Returns
        -------
        labels, scores : ndarray of shape (n_samples, k)
            The largest first.
        """
        check_is_fitted(self, "classes_")
        n_classes, scheme = len(self.classes_), self._scheme
        if scheme not in (multilabel.SCHEME, "ovr") or not 1 <= k <= n_classes:
            raise ValueError(
                f"top_labels needs a score for each of at least k classes; got k={k!r} and {n_classes} classes of the "
                f"scheme {scheme!r}."
            )
        return multilabel.top_labels(self, X, k)

    @offered_if(of_linear_models)
    def sparsify(self, threshold=0.0):
        """Make `coef_` a CSR matrix of the weights whose size is above `threshold`; returns the classifier."""
        coef = self.densify().coef_
        self.coef_ = sparse.csr_matrix(np.where(np.abs(coef) > threshold, coef, 0))
        return self

    @offered_if(of_linear_models)
    def densify(self):
        """Make `coef_` an array again; returns the classifier."""
        check_is_fitted(self, "coef_")
        self.coef_ = self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.classifier_tags.multi_label = self.multi_class == "ovr"
        return tags
