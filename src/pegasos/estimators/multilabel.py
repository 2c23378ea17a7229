"""Many labels for each row: a column for each label, in slabs that fit into memory.

Targets are an indicator matrix, dense or sparse, or a list of sets of labels. The matrix of targets is cut into slabs
of columns, so that a dense one of all labels never exists; rows, and a kernel matrix, are shared by all slabs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples, validate_data

from pegasos.backends.threads import threads_limited
from pegasos.estimators import devices, outcome, validation
from pegasos.estimators.training import MATRIX_TIME, PART_SHARE, examined
from pegasos.utils.arrays import to_host

SCHEME = "multilabel"
BYTES_PER_PREDICTION = 64e6  # of scores


class Labels(NamedTuple):
    """Targets of many labels."""

    indicator: sparse.csc_matrix  # ones only
    kind: str  # "dense", "csr" or "sets": what was given, and what predictions are
    classes: np.ndarray


def is_multilabel(y) -> bool:
    """Whether targets say of each of several labels whether a row has it."""
    if sparse.issparse(y):
        return y.shape[1] > 1
    if isinstance(y, list) and y and isinstance(y[0], set | frozenset):
        return True
    shape = getattr(y, "shape", None)
    if shape is None:
        if not isinstance(y, list | tuple) or not y or not hasattr(y[0], "__len__") or isinstance(y[0], str | bytes):
            return False
        shape = (len(y), len(y[0]))
    return len(shape) == 2 and shape[1] > 1 and type_of_target(y) == "multilabel-indicator"


def labels_of(y) -> Labels:
    """The targets as a sparse matrix of ones."""
    if isinstance(y, list) and isinstance(y[0], set | frozenset):
        binariser = MultiLabelBinarizer(sparse_output=True)
        indicator = sparse.csc_matrix(binariser.fit_transform(y))
        kind, classes = "sets", binariser.classes_
    else:
        kind = "csr" if sparse.issparse(y) else "dense"
        indicator = sparse.csc_matrix(y if kind == "csr" else np.asarray(y))
        classes = np.arange(indicator.shape[1])
    indicator.sum_duplicates()
    indicator.eliminate_zeros()
    if indicator.nnz and not (indicator.data == 1).all():
        raise ValueError("An indicator matrix of labels holds 0 and 1 only.")
    if len(classes) < 2:
        raise ValueError(f"The targets y hold {len(classes)} labels; at least 2 make a multi-label problem.")
    return Labels(indicator, kind, classes)


def check_combination(svm) -> None:
    """Raise for parameters that many labels do not go with."""
    if svm.multi_class != "ovr":
        raise ValueError(f"Targets of many labels take multi_class='ovr', got multi_class={svm.multi_class!r}.")
    for name, default in (("class_weight", None), ("probability", None), ("checkpoint", None), ("warm_start", False)):
        if getattr(svm, name) != default:
            raise NotImplementedError(f"Targets of many labels take {name}={default}, got {getattr(svm, name)!r}.")
    validation.check_on_cpu(svm, "Training of many labels")


def fit_labels(recipe, X, y, sample_weight, started: float) -> None:
    """Fit the classifier of a recipe to targets of many labels."""
    svm, labels = recipe.estimator, labels_of(devices.on_host(y))
    check_combination(svm)
    dense = svm.kernel == "precomputed"
    X = validate_data(svm, devices.on_host(X), accept_sparse=False if dense else "csr", dtype=[np.float64, np.float32])
    if X.shape[0] != labels.indicator.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[X.shape[0], labels.indicator.shape[0]]}"
        )
    weights = validation.check_weights(sample_weight, X)
    with threads_limited(svm.n_jobs):
        found, missed = _fitted(recipe, X, labels, weights, started)
    recipe.store(found)
    svm._memory = None
    if missed:
        validation.warn_unconverged(
            f"{missed} of {len(labels.classes)} labels ended with a relative gap above tol={recipe.tol:g}. "
            f"{outcome.advice_for(svm)}"
        )


def _fitted(recipe, X, labels: Labels, weights, started: float) -> tuple[dict[str, Any], int]:
    """The fitted attributes, and how many labels have missed `tol`."""
    from pegasos.problem.columns import Problems
    from pegasos.problem.job import Job
    from pegasos.solver.clock import Clock
    from pegasos.solver.solve import solve

    svm, n_rows = recipe.estimator, X.shape[0]
    features, schedule = examined(recipe, X, weights), recipe.schedule()
    definite = recipe.definite(X, features.kernel)
    if not definite and recipe.begins_anew:
        recipe = recipe.without_tol()
        schedule = recipe.schedule(schedule.seed)
    used = np.ones(n_rows, bool) if weights is None else weights > 0
    landmarks = recipe.landmarks(X, features.kernel, schedule.seed, np.flatnonzero(used))
    features = replace(features, landmarks=landmarks)
    until = np.inf if svm.max_time is None else started + MATRIX_TIME * svm.max_time
    by_row = recipe.by_row(X, in_stream=False)
    rows = recipe.rows(X, features, schedule, until=until, by_row=by_row)
    counts = np.asarray(labels.indicator[used].sum(axis=0)).ravel()
    constant = (counts == 0) | (counts == used.sum())
    _warn_constant(labels.classes, constant, counts > 0)
    trained = np.flatnonzero(~constant)
    models, steps, certified = [], [], []
    missed, clock = 0, Clock(schedule.max_time, started)
    for slab in _slabs(recipe, rows, trained):
        labelings = np.full((n_rows, len(slab)), -1, np.int8)
        part = labels.indicator[:, slab].tocoo()
        labelings[part.row, part.col] = 1
        columns = np.column_stack([np.arange(len(slab)), np.zeros(len(slab), np.intp)])
        given = None if weights is None else weights[:, None]
        problems = Problems(labelings, used[:, None].copy(), columns, np.full(len(slab), np.nan), given, 2, SCHEME)
        problems = recipe.regularised(problems)
        validation.check_regularisation(problems, X.dtype)
        method = recipe.method(rows, problems, in_stream=False)
        job = Job(rows, problems, schedule, recipe.rule, recipe.loss, definite, method)
        solution = solve(job, clock=clock)
        models.append(to_host(solution.model).astype(rows.dtype, copy=False))
        steps.append(solution.steps)
        certificate = solution.certificate
        assert certificate is not None
        certified.append(np.array([certificate.objective, certificate.gap, certificate.relative_gap]))
        if recipe.tol is not None:
            missed += int(np.count_nonzero(certificate.relative_gap > recipe.tol))
    model = np.zeros((rows.n_state + (rows.bias > 0), len(labels.classes)), rows.dtype)
    numbers = np.zeros((3, len(labels.classes)))
    all_steps = np.zeros(len(labels.classes), np.int64)
    if trained.size:
        model[:, trained] = np.hstack(models)
        numbers[:, trained], all_steps[trained] = np.hstack(certified), np.concatenate(steps)
    found = recipe.model_attributes(model, X, features)
    found["intercept_"][constant] = counts[constant] > 0
    found |= {"classes_": labels.classes, "_scheme": SCHEME, "_indicator": labels.kind}
    found |= {"t_": all_steps, "n_iter_": int(all_steps.max(initial=0))}
    found |= dict(zip(("objective_", "dual_gap_", "relative_gap_"), numbers, strict=True))
    found["converged_"] = outcome.converged(numbers[2], recipe.tol)
    return found, missed


def _slabs(recipe, rows, labels: np.ndarray) -> list[np.ndarray]:
    """Labels that are trained together: as many as fit into their share of the cache."""
    from pegasos.solver.parts import columns_at_once

    most = columns_at_once(rows, PART_SHARE * recipe.cache_bytes())
    return [labels[first : first + most] for first in range(0, len(labels), most)]


def _warn_constant(classes: np.ndarray, constant: np.ndarray, present: np.ndarray) -> None:
    """Warn of labels that all rows or none have, as scikit-learn's OneVsRestClassifier does."""
    for place in np.flatnonzero(constant):
        name = classes[place] if present[place] else f"not {classes[place]}"
        validation.warn_user(f"Label {name} is present in all training examples.", UserWarning)


def predicted(svm, X):
    """Labels of the rows of X, of the kind that `fit` was given."""
    parts = []
    for block in _blocks(svm, X):
        parts.append(sparse.csr_matrix(svm._scores(block) > 0))
    found = sparse.vstack(parts, format="csr").astype(np.int64)
    if svm._indicator == "dense":
        return found.toarray()
    if svm._indicator == "csr":
        return found
    return [
        set(svm.classes_[found.indices[first:last]].tolist()) for first, last in zip(found.indptr, found.indptr[1:])
    ]


def top_labels(svm, X, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k labels of the largest scores of each row, the largest first, and their scores."""
    labels, scores = [], []
    for block in _blocks(svm, X):
        values = svm._scores(block)
        largest = np.argpartition(-values, k - 1, axis=1)[:, :k]
        own = np.take_along_axis(values, largest, axis=1)
        order = np.argsort(-own, axis=1, kind="stable")
        labels.append(np.take_along_axis(largest, order, axis=1))
        scores.append(np.take_along_axis(own, order, axis=1))
    return svm.classes_[np.concatenate(labels)], np.concatenate(scores)


def _blocks(svm, X):
    """Rows in blocks whose scores fit into a fixed part of memory."""
    at_once = max(1, int(BYTES_PER_PREDICTION / (8 * len(svm.classes_))))
    n_rows = _num_samples(X)
    if n_rows <= at_once:
        return [X]
    X = X.tocsr() if sparse.issparse(X) else X
    take = X.iloc if hasattr(X, "iloc") else X if hasattr(X, "shape") else np.asarray(X)
    return [take[first : first + at_once] for first in range(0, n_rows, at_once)]
