"""The fewest operations and bytes of a task, and the time that a device needs for them at best.

The floor is what any way to the same steps has to do, at the rates of large products and copies; that steps come one
after another is not in it. `blocks` counts the products of look-ahead blocks, the way that ours goes on a GPU: more
operations, in a form that a GPU does well.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._ceilings import Ceilings

FLOAT = 4  # bytes


@dataclass(frozen=True)
class Pulls:
    """How often rows changed a model: counted in every column, and as readings of rows of a kernel matrix.

    Columns that are pulled by the same draw share a reading, so a row is read as often as the column it pulls most.
    """

    columns: float
    rows: float

    def times(self, folds: float) -> "Pulls":
        """The pulls of `folds` times the columns, which share the readings."""
        return Pulls(self.columns * folds, self.rows)

    def __add__(self, other: "Pulls") -> "Pulls":
        return Pulls(self.columns + other.columns, self.rows + other.rows)


@dataclass(frozen=True)
class Work:
    """Floating-point operations, bytes within the device's memory, and bytes that come from the host."""

    operations: float
    moved: float
    uploaded: float
    blocks: float

    def seconds(self, ceilings: Ceilings) -> float:
        """The floor: arithmetic and memory traffic in parallel, after the transfer of the rows."""
        return max(self.operations / ceilings.product, self.moved / ceilings.copy) + self.uploaded / ceilings.bus

    def block_seconds(self, ceilings: Ceilings) -> float:
        """The same with the products of blocks."""
        return max(self.blocks / ceilings.product, self.moved / ceilings.copy) + self.uploaded / ceilings.bus


def kernel_product(n: int, d: int) -> float:
    """The inner products of all pairs of rows: 2·n²·d, and half of them, since the matrix is symmetric."""
    return float(n) * n * d


def block_products(draws: float, n: int, columns: int) -> float:
    """The scores of each draw in each column: a row of the kernel matrix times the coefficients of all rows."""
    return 2.0 * draws * n * columns


def kernel_work(n: int, d: int, pulls: Pulls, draws: float, columns: int, kernels: int = 1) -> Work:
    """A fit or a search with a kernel; all kernels come from one product.

    A pull is added to the scores of all rows, those that a fold is tested on included: 2·n operations in each column.
    """
    operations = kernel_product(n, d) + 2.0 * n * pulls.columns
    # The rows are read and the matrix is written once; no cache holds it, so a row of it is read again at each pull.
    moved = FLOAT * (float(n) * d + float(n) * n + n * pulls.rows)
    blocks = kernel_product(n, d) + kernels * block_products(draws, n, columns)
    return Work(operations, moved, upload(n, d), blocks)


def pairs_work(n: int, d: int, classes: int, passes: int) -> Work:
    """A linear fit of all pairs of classes."""
    each = classes - 1  # pairs that have a row: its score in each is an inner product, and few rows pull
    operations = 2.0 * passes * n * d * each
    moved = FLOAT * float(n) * d * passes  # no cache holds the rows from one pass to the next
    columns = classes * each // 2
    blocks = 2 * 2.0 * passes * n * d * columns  # scores before a block and sums after it, in all columns
    return Work(operations, moved, upload(n, d), blocks)


def upload(n: int, d: int) -> float:
    """The bytes of the rows; those of labels, folds and the model are negligible."""
    return float(FLOAT) * n * d


def pulls_of(models: Iterable[Any], n: int) -> Pulls:
    """The pulls of models with one kernel matrix of n rows, whose columns could be trained together."""
    columns, most = 0, np.zeros(n, np.int64)
    for model in models:
        columns += int(model.violations_.sum())
        most[model.support_] = np.maximum(most[model.support_], model.violations_.max(axis=0))
    return Pulls(float(columns), float(most.sum()))
