"""scikit-learn's tools of model selection, by name and signature, with many fits at once.

Whatever can share runs as columns of one problem: folds, candidates, training sizes, permutations of the labels. That
holds for the estimators of this package and pipelines that end in one; calls for any other are handed to scikit-learn.
`cells` trains and scores candidates on folds by `pegasos.search`, `routing` is scikit-learn's own routing of metadata,
and `labelings` are many versions of the targets, trained in wide jobs.
"""

from pegasos.model_selection.curves import learning_curve, validation_curve
from pegasos.model_selection.permutations import permutation_test_score
from pegasos.model_selection.resampling import Resampled, bootstrap, jackknife
from pegasos.model_selection.searches import GridSearchCV, RandomizedSearchCV
from pegasos.model_selection.validation import cross_val_predict, cross_val_score, cross_validate

__all__ = [
    "GridSearchCV",
    "RandomizedSearchCV",
    "Resampled",
    "bootstrap",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "jackknife",
    "learning_curve",
    "permutation_test_score",
    "validation_curve",
]
