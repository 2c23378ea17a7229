"""Tuning in one solve: every lam, fold and class of a grid is a column.

`search` is the estimator, `board` keeps and scores the cells, `apart` takes apart what cannot go in one solve
(pipelines, foreign estimators, odd folds), `wide` runs what can, in `lanes` of columns over the `matrices` of a grid.
"""

from pegasos.search.search import PegasosSearchCV

__all__ = ["PegasosSearchCV"]
