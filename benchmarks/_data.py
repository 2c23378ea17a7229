"""The data of the benchmarks: each loader gives X_train, y_train, X_test, y_test with float32 features."""

import os
import sys
from pathlib import Path

import numpy as np

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _file(name: str) -> Path:
    """The path of a data file, or one sentence on stderr and exit status 2."""
    folder = os.environ.get("PEGASOS_DATA")
    if not folder:
        sys.stderr.write(f"error: set PEGASOS_DATA to the folder that holds {name}, or use --quick.\n")
        sys.exit(2)
    path = Path(folder) / name
    if not path.is_file():
        sys.stderr.write(f"error: {name} is not in the folder that PEGASOS_DATA names ({folder}).\n")
        sys.exit(2)
    return path


def usps() -> Split:
    """7291 + 2007 rows of 256 pixels in [0, 1], ten classes."""
    path = _file("usps.h5")
    try:
        import h5py
    except ImportError:
        sys.stderr.write("error: reading usps.h5 needs h5py: pip install 'pegasos[bench]'.\n")
        sys.exit(2)

    with h5py.File(path, "r") as file:
        X_train, y_train = file["train/data"][:], file["train/target"][:]
        X_test, y_test = file["test/data"][:], file["test/target"][:]
    return X_train.astype(np.float32, copy=False), y_train, X_test.astype(np.float32, copy=False), y_test


def fashion_mnist() -> Split:
    """60000 + 10000 rows of 784 pixels, scaled to [0, 1], ten classes."""
    with np.load(_file("fashion_mnist.npz")) as file:
        X_train, y_train, X_test, y_test = (file[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    return X_train.astype(np.float32) / 255, y_train, X_test.astype(np.float32) / 255, y_test


def digits() -> Split:
    """scikit-learn's embedded digits, 1347 + 450 rows of 64 pixels, scaled to [0, 1]."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X.astype(np.float32) / 16, y, test_size=0.25, stratify=y, random_state=0
    )
    return X_train, y_train, X_test, y_test


def usps_all() -> tuple[np.ndarray, np.ndarray]:
    """All 9298 rows of USPS, as cross-validation takes them."""
    X_train, y_train, X_test, y_test = usps()
    return np.vstack([X_train, X_test]), np.concatenate([y_train, y_test])


def mnist() -> Split:
    """60000 + 10000 rows of 784 pixels, scaled to [0, 1], ten classes."""
    with np.load(_file("mnist.npz")) as file:
        X_train, y_train, X_test, y_test = (file[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    return X_train.astype(np.float32) / 255, y_train, X_test.astype(np.float32) / 255, y_test


def rcv1():
    """27613 sparse rows of unit length and 47236 features, two classes: (X, y)."""
    from scipy.sparse import csr_matrix

    with np.load(_file("rcv1_ccat_subset.npz")) as file:
        parts = (file[name] for name in ("data", "indices", "indptr"))
        X = csr_matrix(tuple(parts), shape=tuple(file["shape"]))
        return X.astype(np.float32), file["y"]
