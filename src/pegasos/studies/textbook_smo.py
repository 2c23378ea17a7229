"""The textbook's SMO as a classifier of two classes, to stand beside others."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from pegasos.textbook import smo


class TextbookSmo(ClassifierMixin, BaseEstimator):
    """SMO in plain NumPy with the kernel matrix at hand.

    Parameters
    ----------
    kernel : {"rbf", "linear"}
    gamma : {"scale", "auto"} or float
    C : float
    tol : float
        Largest violation of the KKT conditions at the end.

    Attributes
    ----------
    smo_ : Smo
        With the history of violations.
    """

    def __init__(self, kernel="rbf", gamma="scale", C=1.0, tol=1e-3):
        self.kernel, self.gamma, self.C, self.tol = kernel, gamma, C, tol

    def fit(self, X, y):
        """Train on rows X with labels y of two classes."""
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(f"TextbookSmo takes two classes, not {len(self.classes_)}.")
        self.X_, self.signs_ = np.asarray(X, float), np.where(y == self.classes_[1], 1.0, -1.0)
        known = {"scale": 1 / (X.shape[1] * max(X.var(), 1e-300)), "auto": 1 / X.shape[1]}
        self.gamma_ = known.get(self.gamma, self.gamma) if isinstance(self.gamma, str) else self.gamma
        self.smo_ = smo(self._kernel_matrix(self.X_), self.signs_, self.C, tol=self.tol)
        return self

    def decision_function(self, X):
        """Scores Σ α_i y_i K(x_i, x) + b."""
        return self._kernel_matrix(np.asarray(X, float)) @ (self.smo_.alpha * self.signs_) + self.smo_.b

    def predict(self, X):
        """Labels of the rows of X."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def _kernel_matrix(self, X):
        return linear_kernel(X, self.X_) if self.kernel == "linear" else rbf_kernel(X, self.X_, gamma=self.gamma_)
