"""The problem that all rows of a stream pose, from the first look at them."""

from __future__ import annotations

import numpy as np

from pegasos.estimators.targets import recipe_of
from pegasos.estimators.totals import ClassTotals, SharedProblem, TargetTotals, shared_problem
from pegasos.streaming.survey import Look


def whole_of(svm, look: Look, dtype) -> SharedProblem:
    """What all rows together ask for; raises as `fit` would on all of them."""
    totals: ClassTotals | TargetTotals
    if look.classes is None:
        totals = TargetTotals(look.n_rows, float(look.n_rows), np.array([look.mean]), zero=look.zero)
    else:
        totals = ClassTotals(look.classes, look.counts, look.counts.astype(np.float64))
    return shared_problem(recipe_of(svm), totals, dtype, weighted=False)
