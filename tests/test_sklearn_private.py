"""The private names of scikit-learn that the package imports: each with the reason, and each is there.

A name that scikit-learn moves fails here, by name. Where a public one takes its place, it is to be taken.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

ROOT = Path(__file__).parents[1] / "src" / "pegasos"

NO_PUBLIC = "the class is public only by what inherits from it"
REASONS = {
    "sklearn.base._fit_context": "checks parameters before a fit, as the developers' guide has it",
    "sklearn.calibration._SigmoidCalibration": "Platt's sigmoid to the last bit as CalibratedClassifierCV fits it",
    "sklearn.calibration._TemperatureScaling": "temperature scaling as CalibratedClassifierCV fits it",
    "sklearn.linear_model._base.LinearClassifierMixin": f"LinearSVC is one for those who ask; {NO_PUBLIC}",
    "sklearn.linear_model._base.SparseCoefMixin": f"sparsify and densify of LinearSVC; {NO_PUBLIC}",
    "sklearn.metrics._scorer._MultimetricScorer": "what check_scoring gives for several metrics",
    "sklearn.metrics._scorer._PassthroughScorer": "tells the estimator's own score from metrics that are computed",
    "sklearn.metrics._scorer._Scorer": "tells scorers that ask for predictions only, which a scored model answers",
    "sklearn.model_selection._search.BaseSearchCV": f"what a search is, for those who ask; {NO_PUBLIC}",
    "sklearn.model_selection._split._CVIterableWrapper": "tells folds that were given as a list",
    "sklearn.model_selection._validation._aggregate_score_dicts": "results in the layout of cross_validate",
    "sklearn.model_selection._validation._check_groups_routing_disabled": "the same error for `groups` as theirs",
    "sklearn.model_selection._validation._check_is_permutation": "the same error of cross_val_predict",
    "sklearn.model_selection._validation._enforce_prediction_order": "classes a fold lacks, as cross_val_predict",
    "sklearn.model_selection._validation._fit_and_score": "cells that share nothing are trained as theirs are",
    "sklearn.model_selection._validation._insert_error_scores": "scores of fits that failed, as theirs",
    "sklearn.model_selection._validation._normalize_score_results": "results in the layout of cross_validate",
    "sklearn.model_selection._validation._score": "scores and their errors as theirs, to the sentence",
    "sklearn.model_selection._validation._translate_train_sizes": "training sizes as learning_curve reads them",
    "sklearn.model_selection._validation._warn_or_raise_about_fit_failures": "warnings of failed fits, as theirs",
    "sklearn.utils._param_validation": "the table of allowed parameters that scikit-learn's own estimators have",
    "sklearn.utils._safe_indexing": "rows of arrays, frames, lists and sparse matrices by their index",
    "sklearn.utils.metaestimators._safe_split": "rows and columns of a fold, also of a kernel matrix",
    "sklearn.utils.multiclass._ovr_decision_function": "votes of pairs as SVC has them",
    "sklearn.utils.validation._check_method_params": "what is passed to fit, cut to a fold",
    "sklearn.utils.validation._check_sample_weight": "the same errors for weights as theirs",
    "sklearn.utils.validation._num_samples": "the number of rows of anything that is taken for rows",
}
INHERITED = {  # of its classes: what ours call, and what they put in the place of theirs
    "sklearn.base.BaseEstimator": ["_doc_link_module", "_doc_link_template", "_doc_link_url_param_generator",
                                   "_get_param_names", "_validate_params"],
    "sklearn.model_selection._search.BaseSearchCV": ["_check_refit_for_multimetric", "_format_results",
                                                     "_get_routed_params_for_fit", "_get_scorers",
                                                     "_parameter_constraints", "_run_search", "_select_best_index"],
}  # fmt: skip
SINCE = {"sklearn.calibration._TemperatureScaling": "1.8"}  # imported where it is asked for


def imported() -> set[tuple[str, str]]:
    """(module, name) of all imports of private names, or from private modules, of scikit-learn."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklearn":
                for name in node.names:
                    if any(part.startswith("_") for part in f"{node.module}.{name.name}".split(".")):
                        found.add((node.module, name.name))
            if isinstance(node, ast.Import):
                for name in node.names:
                    assert not name.name.startswith("sklearn.") or "._" not in name.name, f"{path}: {name.name}"
    return found


def reason_of(module: str, name: str) -> str | None:
    return next((key for key in (f"{module}.{name}", module) if key in REASONS), None)


def test_every_one_has_a_reason_and_every_reason_one():
    used = {reason_of(*pair): pair for pair in imported()}
    assert None not in used, f"imported without a reason: {'.'.join(used[None])}"
    assert used.keys() == REASONS.keys()


@pytest.mark.parametrize("module, name", sorted(imported()), ids=".".join)
def test_it_is_there(module, name):
    since = SINCE.get(f"{module}.{name}")
    if since and parse_version(sklearn.__version__) < parse_version(since):
        pytest.skip(f"of scikit-learn {since}")
    assert hasattr(import_module(module), name), f"needed for: {REASONS[reason_of(module, name)]}"


@pytest.mark.parametrize("path", INHERITED)
def test_what_ours_inherit_is_there(path):
    module, _, name = path.rpartition(".")
    theirs = getattr(import_module(module), name)
    assert not [name for name in INHERITED[path] if not hasattr(theirs, name)]


def test_the_checks_of_parameters_begin_where_ours_replace_them(monkeypatch):
    """A fit that no longer called `_validate_params` would do without our checks in silence."""
    import pegasos

    called = []
    monkeypatch.setattr(pegasos.PegasosClassifier, "_validate_params", lambda self: called.append(self))
    model = pegasos.PegasosClassifier(kernel="rbf").fit([[0.0], [1.0]], [0, 1])
    assert called == [model]


def test_none_that_has_become_public_is_imported_by_its_private_name():
    for module, name in imported():
        for public in (module.split("._")[0], "sklearn.utils", "sklearn.utils.validation", "sklearn.metrics"):
            plain = name.lstrip("_")
            offered = getattr(import_module(public), "__all__", ())
            assert plain not in offered, f"{public}.{plain} can take the place of {module}.{name}"
