"""Cells of a search on a worker: what is sent there, the ordinary evaluation, and what comes back as plain values.

Whatever a user has made (scorers, kernels, estimators) travels as bytes, and is opened inside of a task: a worker that
cannot open it then says so, where Dask on its own would lose the connection to the worker and try for ever.
"""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context

from pegasos.backends.threads import threads_limited
from pegasos.distributed.malloc import keep_freed_memory
from pegasos.search.results import Fold, Results

_one_at_a_time = threading.Lock()  # a part has all threads of a worker, and room for its kernel matrix


class SearchInput(NamedTuple):
    """What all parts of a search need, sent to each worker once."""

    X: Any
    y: Any
    fit_params: dict
    folds: list[Fold]  # hold the same X and y, which are packed once
    scorers: Any
    metric: str
    error_score: Any
    return_train_score: bool
    n_jobs: int | None
    config: dict  # scikit-learn's


class PartResults(NamedTuple):
    """Results of one part, for those of the whole search."""

    cells: list[dict]  # candidate by candidate, fold by fold
    skipped: int
    missed_tol: int
    cut_short: bool
    warned: list[tuple[type[Warning], str]]


def pack(value: Any) -> list[np.ndarray]:
    """A value as bytes: first its pickle, then each large array, not copied."""
    import cloudpickle  # type: ignore[import-untyped]

    buffers: list[pickle.PickleBuffer] = []
    try:
        head = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    except Exception as error:
        raise TypeError(f"The estimator, scorers and data of a distributed search are pickled, and: {error}") from error
    return [np.frombuffer(part, np.uint8) for part in (head, *(buffer.raw() for buffer in buffers))]


def unpack(parts: list[np.ndarray]) -> Any:
    """The value again; its arrays are the packed ones, copied only where they are not aligned for compiled loops."""
    try:
        return pickle.loads(parts[0].data, buffers=[part if _aligned(part) else part.copy() for part in parts[1:]])
    except Exception as error:
        raise RuntimeError(
            f"A worker cannot read what the search has sent ({type(error).__name__}: {error}); its environment has to "
            "have the same packages and modules as this one."
        ) from error


def _aligned(part: np.ndarray) -> bool:
    return part.ctypes.data % 16 == 0


def task_by_value() -> Callable[[list, list], PartResults]:
    """`evaluate_part` as a function that Dask sends as code: a worker without this package can say what it lacks."""

    def search_part(given, part):
        try:
            from pegasos.distributed.search_worker import evaluate_part
        except ImportError as error:
            raise RuntimeError(
                f"A worker cannot import pegasos ({error}); install the version that you use here on all workers."
            ) from error
        return evaluate_part(given, part)

    return search_part


def evaluate_part(given: list[np.ndarray], part: list[np.ndarray]) -> PartResults:
    """Train and score the candidates of a part on all folds, as a search of them alone does."""
    from pegasos.search.dispatch import evaluate

    with _one_at_a_time:  # the seconds that are left count from here
        search: SearchInput = unpack(given)
        estimators, deadline, share = unpack(part)
        results = Results(
            search.scorers, search.folds, len(estimators), error_score=search.error_score,
            return_train_score=search.return_train_score, on_cell=lambda done, best: None, metric=search.metric,
        )  # fmt: skip
        candidates = dict(enumerate(estimators))
        with (
            threads_limited(_n_threads(search.n_jobs)),
            keep_freed_memory(),
            config_context(**search.config),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            evaluate(candidates, search.X, search.y, search.fit_params, results, deadline.within(share))
    texts = list(dict.fromkeys((warning.category, str(warning.message)) for warning in warned))
    return PartResults(results.cells, results.skipped, results.missed_tol, deadline.cut_short, texts)


def _n_threads(n_jobs: int | None) -> int:
    """Threads of the worker, which Dask keeps BLAS from using as it expects many tasks at a time; at most n_jobs."""
    from distributed import get_worker

    own = get_worker().state.nthreads
    return own if n_jobs is None or n_jobs < 0 else min(n_jobs, own)
