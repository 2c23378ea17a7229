"""Online one-class learning: the steps of Pegasos on ``½ ||w||² - r + mean max(0, r - w·x) / ν``.

The optimum is that of the one-class machine, divided by ν Σ weights: the problem of `SGDOneClassSVM`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pegasos.kernels import squared_norms


@dataclass
class OnlineState:
    """What the steps go on from; see `pegasos.backends.cpu.one_class`."""

    sums: np.ndarray
    products: np.ndarray
    numbers: np.ndarray

    @classmethod
    def empty(cls, n_features: int) -> OnlineState:
        """Before the first row."""
        return cls(np.zeros(n_features), np.zeros(n_features), np.zeros(5))

    @classmethod
    def from_model(cls, weights: np.ndarray, offset: float, X, row_weights: np.ndarray) -> OnlineState:
        """As if every row of X had been met, and all models on the way had been this one."""
        steps = float(np.count_nonzero(row_weights))
        squares = float(row_weights @ squared_norms(X))
        numbers = np.array([steps, offset, offset * steps * (steps + 1) / 2, row_weights.sum(), squares])
        return cls(steps * weights, weights * (steps * (steps - 1) / 2), numbers)

    def copy(self) -> OnlineState:
        """The same in arrays of its own."""
        return OnlineState(self.sums.copy(), self.products.copy(), self.numbers.copy())

    @property
    def steps(self) -> int:
        """Rows that were met."""
        return int(self.numbers[0])

    def learn(self, X, weights: np.ndarray, nu: float, order: np.ndarray) -> None:
        """A step for each row of X in this order."""
        from pegasos.backends.cpu import one_class

        sparse = hasattr(X, "indptr")
        if sparse:
            parts = X.indptr, X.indices, X.data
        else:
            parts = np.zeros(1, np.int32), np.zeros(X.shape[1], np.int32), np.ascontiguousarray(X).ravel()
        one_class.one_class_steps(
            order, *parts, weights, float(nu), self.sums, self.products, self.numbers, sparse=sparse
        )  # fmt: skip

    def model(self) -> tuple[np.ndarray, float]:
        """The average of all models so far, each in proportion to its step: weights and offset."""
        steps, of_all = self.numbers[0], self.numbers[0] * (self.numbers[0] + 1) / 2
        return (steps * self.sums - self.products) / of_all, float(self.numbers[2] / of_all)
