"""Rows: how a block of rows meets the state of a solve.

==============  =============================  =================  ==================================
rows            scores at the block's start    Gram of the block  after the block
==============  =============================  =================  ==================================
`KernelRows`    K(X_b, X)·A                    K(X_b, X_b)        A[b] accumulates the pulls
`DenseRows`     X_b·W                          X_b·X_bᵀ           W += X_bᵀ·pulls
`SparseRows`    the same products by SciPy
`LandmarkRows`  F_b·W, F_b = K(X_b, Z)·T       F_b·F_bᵀ           W += F_bᵀ·pulls
==============  =============================  =================  ==================================

`way` says how single steps go: in look-ahead blocks of the products above; row by row over CSR; or directly, each step
by itself, which wins for dense rows that belong to few columns each and, with the kernel matrix at hand, where few rows
pull.

Scores and pulls are (columns, rows of the block): a column's numbers lie side by side. The constant feature of an
intercept is one extra row of the state, never a copied X; for kernels it stands for K + bias².
"""

from pegasos.rows.base import Block, Gram, Rows, Way
from pegasos.rows.dense import DenseRows
from pegasos.rows.gpu_linear import GatheredRows
from pegasos.rows.kernel import KernelRows, KernelStorage, in_time_for
from pegasos.rows.nystroem import LandmarkRows
from pegasos.rows.sparse import SparseRows
from pegasos.rows.support_cache import SupportRows

__all__ = [
    "Block",
    "DenseRows",
    "GatheredRows",
    "Gram",
    "KernelRows",
    "KernelStorage",
    "LandmarkRows",
    "Rows",
    "SparseRows",
    "SupportRows",
    "Way",
    "in_time_for",
]
