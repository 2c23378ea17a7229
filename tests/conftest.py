"""Shared data: embedded sets for every test, larger ones from the folder that PEGASOS_DATA names; options of pytest."""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.preprocessing import StandardScaler

import durations
import numba_cache
import tiers

numba_cache.use()  # before Numba is imported, which reads where its cache is

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell lets its background jobs ignore Ctrl-C; tests that send it to themselves would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    group = parser.getgroup("pegasos")
    group.addoption("--all", action="store_true", help="also what tests/tiers.py leaves out by default")
    group.addoption("--save-durations", action="store_true", help="write what the files took to tests/durations.json")


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: of scikit-learn's tests, which run in threads there")
    if find_spec("hypothesis"):  # script/gpu does without
        from hypothesis import settings

        settings.register_profile("tier", max_examples=60 if config.getoption("--all") else 15)
        settings.load_profile("tier")
    if config.getoption("--save-durations") and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(durations.Measured("all" if config.getoption("--all") else "default"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what tests/tiers.py says, unless all is asked for or tests are named one by one.

    Tests of others that a module takes over fail where its EXPECTED_FAILURES say so, by name, with the reason.
    """
    for item in items:
        reason = getattr(item.module, "EXPECTED_FAILURES", {}).get(item.name)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if not config.getoption("--all") and not any("::" in str(word) for word in config.args):
        tests = {}
        for item in items:
            tests.setdefault(f"{item.path.name}::{getattr(item, 'originalname', item.name)}", []).append(item)
        kept = set()
        for name, cases in tests.items():
            values = [case.callspec.params if hasattr(case, "callspec") else {} for case in cases]
            kept.update(cases[place] for place in tiers.by_default(name, values))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    if "PYTEST_XDIST_WORKER" in os.environ:  # what takes longest begins first, so that no process is left with it
        seconds = durations.known()
        items.sort(key=lambda item: -seconds.get(item.path.name, 0.0))


@pytest.fixture(scope="session")
def at_length(request) -> bool:
    """Whether all tests run, and those that repeat something do so as often as they can."""
    return request.config.getoption("--all")


_beginnings: dict = {}


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order(request):
    """A test that draws from its module's RNG gets the same numbers whichever tests ran before it in this process."""
    rng = getattr(request.module, "RNG", None)
    if isinstance(rng, np.random.Generator):
        rng.bit_generator.state = _beginnings.setdefault(request.module.__name__, rng.bit_generator.state)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the larger data sets; tests that need it are skipped where it is not given."""
    folder = os.environ.get("PEGASOS_DATA")
    if not folder:
        pytest.skip("PEGASOS_DATA is not set: the larger data sets are not available")
    return Path(folder)


@pytest.fixture(scope="session")
def usps(data_folder):
    """(X_train, y_train, X_test, y_test) of USPS, float32 in [0, 1]."""
    path = _existing(data_folder / "usps.h5")
    h5py = pytest.importorskip("h5py", reason="reading USPS needs h5py")
    with h5py.File(path, "r") as file:
        return tuple(file[part][name][:] for part in ("train", "test") for name in ("data", "target"))


@pytest.fixture(scope="session")
def a9a(data_folder):
    """(X, y) of the training rows of a9a: CSR float32 with 123 features, labels -1 and 1."""
    with np.load(_existing(data_folder / "a9a_train.npz")) as parts:
        X = sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
        return X, parts["y"].astype(np.int64)


@pytest.fixture(scope="session")
def digits():
    """(X, y) of the embedded digits, pixels in [0, 1]."""
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


@pytest.fixture(scope="session")
def breast_cancer():
    """(X, y) of the embedded breast cancer set, standardised."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture
def binary():
    """A small two-class problem of ordinary scale: 60 rows, 4 features, labels 0 and 1."""
    return classes_problem(2)


@pytest.fixture
def multiclass():
    """A small four-class problem of ordinary scale: 60 rows, 4 features, labels 0 to 3."""
    return classes_problem(4)


def classes_problem(n_classes: int, *, n_rows: int = 60, n_features: int = 4, seed: int = 0):
    """Noisy Gaussian classes with standardised features."""
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=n_features,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        flip_y=0.1,
        random_state=seed,
    )
    return StandardScaler().fit_transform(X), y


def _existing(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"PEGASOS_DATA holds no {path.name}")
    return path


WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def expected_failed_checks(estimator):
    """Checks of scikit-learn that an estimator cannot pass, with the reason."""
    default = estimator.get_params() == type(estimator)().get_params()
    if default or estimator.batch_size == "all" or estimator.tol == 1e-10:
        return {}
    return dict.fromkeys(WEIGHT_CHECKS, "the random order of the rows differs between the two data sets")


@pytest.fixture
def write(tmp_path):
    """A function that writes a file, text or bytes, and gives its path."""

    def write(content, name="train.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
