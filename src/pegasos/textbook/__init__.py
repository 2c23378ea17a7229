"""The algorithms as the source documents tell them: plain NumPy, one problem and one step at a time, to be read.

Each function is numbered like the lines of its document, does one thing, and is slow: what it computes the estimators
of `pegasos` compute a thousand times sooner, and the tests hold the two to the same numbers on the same draws.

=============================  ===============================================================================
`pegasos`                      Sumukh S (after the paper's figure 1): two steps, mini-batches, projection
`pegasos_cyclic`               S. Chen, algorithm 1: passes in the order of the rows
`violation_counts`             K. Stratos, equation (2): a count for each row instead of weights
`support_list`, `gaussian`     A. Mirone: a list of support pairs, and the Gaussian kernel as it is meant
`gaussian_as_coded`            A. Mirone: the kernel that the code computes
`kernel_pegasos`               G. Cerizza, algorithm 1, vectorised: a row of the kernel matrix at a time
`one_vs_rest`                  G. Cerizza, equation (3): the largest of the real scores
`one_vs_one`                   Sumukh S: all pairs of classes and a vote
`online_gradient_descent`      A. Mirone: steps of η/√t and a projection
`smo`                          S. Chen, after J. Platt: the pair of dual variables that violates most
`draws_of`                     the rows that `PegasosClassifier` draws, so that the two can be compared
=============================  ===============================================================================

Examples
--------
>>> import numpy as np
>>> from pegasos.textbook import draws_of, last_of, pegasos
>>> X, y = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0]]), np.array([1, 1, -1])
>>> w = last_of(pegasos(X, y, 0.1, draws_of(n_rows=3, steps=100)))
>>> (X @ w * y > 0).all()
np.True_
"""

from pegasos.textbook.draws import draws_of
from pegasos.textbook.gradient_descent import online_gradient_descent
from pegasos.textbook.kernel import gaussian, gaussian_as_coded, kernel_pegasos, support_list, violation_counts
from pegasos.textbook.linear import average_of, last_of, pegasos, pegasos_cyclic
from pegasos.textbook.multiclass import one_vs_one, one_vs_rest, votes
from pegasos.textbook.sequential_minimal import Smo, kkt_violations, smo

__all__ = [
    "Smo",
    "average_of",
    "draws_of",
    "gaussian",
    "gaussian_as_coded",
    "kernel_pegasos",
    "kkt_violations",
    "last_of",
    "one_vs_one",
    "one_vs_rest",
    "online_gradient_descent",
    "pegasos",
    "pegasos_cyclic",
    "smo",
    "support_list",
    "violation_counts",
    "votes",
]
