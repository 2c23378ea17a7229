"""Training on Dask: rows stay on the workers, and the duality gap is certified across the cluster.

::

    partitions   collections → one `Partition` for each block of rows, where the rows are
    survey       what each partition holds, and all of them together: classes, weights, spread of the features
    local_solver dual coordinate ascent on the rows of one worker, and its part of the certificate
    workers      the protocol of workers, and threads of this process; dask_workers: the workers of a Dask client, and
                 dask_tasks: what runs there
    cocoa        rounds of CoCoA+: local steps, the sum of their changes, the gap; recovery from lost workers
    exchange     rows that change workers, with their dual variables; checkpoint: going on after a lost scheduler
    base         a fit from parameters to the fitted model; estimators: PegasosClassifier, PegasosRegressor
    lazy_predict predictions for collections as Dask arrays
    search       PegasosSearchCV, with parts of the grid on the workers; search_worker: what a worker does
    clients      which client a fit runs on, and a lost scheduler as one error
"""

from importlib import import_module
from typing import TYPE_CHECKING

try:
    import dask  # noqa: F401
except ImportError as error:
    raise ImportError("pegasos.distributed needs Dask, which is not installed: pip install 'pegasos[dask]'.") from error

if TYPE_CHECKING:
    from pegasos.distributed.estimators import PegasosClassifier, PegasosRegressor
    from pegasos.distributed.search import PegasosSearchCV

__all__ = ["PegasosClassifier", "PegasosRegressor", "PegasosSearchCV"]

_HOMES = {
    "PegasosClassifier": "pegasos.distributed.estimators",
    "PegasosRegressor": "pegasos.distributed.estimators",
    "PegasosSearchCV": "pegasos.distributed.search",
}


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pegasos.distributed' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_HOMES])
