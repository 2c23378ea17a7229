"""Hyperparameter search: every lam, fold and class of a grid is a column of one problem and trained in one solve.

`search` is the estimator, `dispatch` decides how each candidate is trained, `column_plan` lays out the columns of folds
and `shared_runs` trains them over matrices of `kernel_cache`. `cell_scoring` scores cells (a candidate on a fold) as
soon as they are trained, by `scored_model` where scores will do, and `results` keeps them.
"""

from pegasos.search.search import PegasosSearchCV

__all__ = ["PegasosSearchCV"]
