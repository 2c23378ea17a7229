"""Two Dask workers in processes of their own, and a search on them beside the local one."""

from contextlib import contextmanager

import numpy as np
import pytest

import pegasos
from conftest import classes_problem
from textbook import pegasos_classifier

distributed = pytest.importorskip("distributed")
from pegasos.distributed import PegasosSearchCV  # noqa: E402

X, Y = classes_problem(3, n_rows=90)
LAMS = np.logspace(-4, 0, 10).tolist()  # 10 × 3 classes × 3 folds = 90 columns: two batches
CYCLIC = pegasos_classifier(sampling="cyclic", max_iter=2)
SEEDED = pegasos_classifier(random_state=0, max_iter=3)


@contextmanager
def two_workers(folder):
    """A client of two processes, which is not the active one."""
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(folder))
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


def search(client, estimator=CYCLIC, grid=None, *, cv=3, refit=False, **params):
    grid = {"lam": LAMS} if grid is None else grid
    return PegasosSearchCV(estimator, grid, cv=cv, refit=refit, client=client, **params)


def local(estimator=CYCLIC, grid=None, *, cv=3, refit=False, **params):
    return pegasos.PegasosSearchCV(estimator, {"lam": LAMS} if grid is None else grid, cv=cv, refit=refit, **params)


def assert_same_cells(found, expected, rtol=0.0):
    """All scores of all splits; a rounding error apart where `rtol` says so."""
    names = [name for name in expected.cv_results_ if name.startswith(("split", "rank", "mean_t"))]
    assert found.cv_results_.keys() == expected.cv_results_.keys()
    assert found.cv_results_["params"] == expected.cv_results_["params"]
    for name in names:
        np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name], rtol=rtol, err_msg=name)
