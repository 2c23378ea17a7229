"""Training on Dask: rows stay on the workers, and the duality gap is certified across the cluster.

::

    partitions   collections → one `Part` for each block of rows, where it is
    looks, plan  what all of them say together: classes, weights, lam·n
    local        dual coordinate ascent on the rows of one worker, and its part of the certificate
    workers      who does it: threads of this process; cluster: the workers of a Dask client
    rounds       local steps, their combination, the gap; what happens when workers are lost
    estimators   PegasosClassifier, PegasosRegressor; lazy: their predictions
    search       PegasosSearchCV, parts of the grid on the workers; cells: what a worker does
    clients      which client, and a lost scheduler in one sentence
"""

from importlib import import_module

try:
    import dask  # noqa: F401
except ImportError as error:
    raise ImportError("pegasos.distributed needs Dask, which is not installed: pip install 'pegasos[dask]'.") from error

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
