"""Small model files of every kind, taken apart and put together again, and whether a changed one does harm."""

from __future__ import annotations

import json
import time
import warnings
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import pegasos
from pegasos import ModelFormatError
from pegasos.storage import describe
from pegasos.svm import SVC, SVR, LinearSVC, OneClassSVM
from textbook import pegasos_classifier, pegasos_regressor

FIRST = 8 + len(b'{"__metadata__":{"blake2b":"')
DIGITS = 64
WIDEST = 10**4  # features of rows to predict
LONGEST = 1.0  # seconds
MOST_MEMORY = 200e6  # bytes


class Harm(AssertionError):
    """A file did what none may do."""


def models() -> list:
    """Small fitted models of every kind that a file can hold."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(24, 3)), np.arange(24) % 3
    X[codes == 1] += 1
    dates = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]")
    rows = sparse.csr_matrix(np.where(X > 0, X, 0))
    few: dict[str, Any] = dict(random_state=0, max_iter=2)
    scaled = make_pipeline(StandardScaler(), pegasos_classifier(multi_class="crammer_singer", lam=0.1, **few))
    ranged = make_pipeline(MinMaxScaler(), pegasos_regressor(kernel="laplacian", **few))
    machine = make_pipeline(MaxAbsScaler(), SVC(class_weight="balanced"))
    return [
        pegasos_classifier(lam=0.1, average="suffix", **few).fit(X, np.array(["no", "yes"])[codes % 2]),
        pegasos_classifier(kernel="rbf", **few).fit(X.astype(np.float32), codes.astype(np.int8)),
        pegasos_classifier(kernel="poly", loss="log_loss", degree=np.int64(2), **few).fit(rows, dates[codes]),
        pegasos_classifier(kernel="precomputed", multi_class="ovo", **few).fit(X @ X.T, codes == 1),
        pegasos_classifier(multi_class="ovo", loss="log_loss", class_weight={0: 2.0}, **few).fit(X, codes),
        pegasos_regressor(lam=0.1, **few).fit(X, X[:, :2]),
        pegasos_regressor(kernel="sigmoid", warm_start=True, **few).fit(np.asfortranarray(X), X[:, 0]),
        scaled.fit(X, np.array([b"a", b"b", b"c"])[codes]),
        ranged.fit(X, X[:, 0]),
        machine.fit(X, np.array(["a", "b", "c"])[codes]),
        LinearSVC().fit(X, codes),
        SVR(kernel="linear").fit(rows, X[:, 0]),
        OneClassSVM(n_landmarks=4, random_state=0).fit(X),
    ]


def originals(folder: Path) -> list[bytes]:
    """The files of the models."""
    files = []
    for model in models():
        pegasos.save(model, folder / "original", {"note": "kept"})
        files.append((folder / "original").read_bytes())
    return files


def sealed(raw: bytes) -> bytes:
    """The file with the checksum that its bytes have."""
    blank = raw[:FIRST] + b"0" * DIGITS + raw[FIRST + DIGITS :]
    return raw[:FIRST] + blake2b(blank, digest_size=DIGITS // 2).hexdigest().encode() + raw[FIRST + DIGITS :]


def split(raw: bytes) -> tuple[dict, dict, bytes]:
    """Header, document and data of a file."""
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["pegasos"]), raw[8 + length :]


def join(header: dict, document: dict | str, data: bytes) -> bytes:
    """The file of these parts, sealed."""
    text = document if isinstance(document, str) else json.dumps(document)
    metadata = header["__metadata__"] | {"pegasos": text}
    raw = json.dumps(header | {"__metadata__": metadata}, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    return sealed(len(raw).to_bytes(8, "little") + raw + data)


def flipped(raw: bytes, bit: int) -> bytes:
    """The bytes with one bit changed."""
    changed = bytearray(raw)
    changed[int(bit) // 8] ^= 1 << (int(bit) % 8)
    return bytes(changed)


def judged(raw: bytes, path: Path, original: bytes, sealed_again: bool) -> str:
    """Load the file: "rejected", or "valid" if it is a model that predicts. Everything else raises `Harm`."""
    path.write_bytes(raw)
    before, started = reset_peak(), time.process_time()  # not the clock: other programs run, too
    found = _loaded(path)
    if found is not None and not sealed_again and raw != original:
        raise Harm("the checksum noticed nothing")
    if found is not None:
        _use(found)
    taken, growth = time.process_time() - started, peak() - before
    if taken > LONGEST:
        raise Harm(f"it took {taken:.1f} s")
    if growth > MOST_MEMORY:
        raise Harm(f"it took {growth / 1e6:.0f} MB")
    return "rejected" if found is None else "valid"


def _loaded(path: Path):
    try:
        describe(path)
    except ModelFormatError as error:
        _check_sentence(error, path)
    try:
        return pegasos.load(path)
    except ModelFormatError as error:
        _check_sentence(error, path)
        return None


def _check_sentence(error: ModelFormatError, path: Path) -> None:
    if not isinstance(error.__cause__, ModelFormatError):
        raise Harm(f"a check is missing: {error.__cause__!r}") from error
    if not str(error).startswith(str(path)) or len(str(error)) > 1000 or "\n" in str(error):
        raise Harm(f"no proper sentence: {error}")


def _use(model) -> None:
    """Predict, and learn further where the model can; numbers may overflow, but nothing may break."""
    if model.n_features_in_ > WIDEST:
        return
    X = np.linspace(-1, 1, 4 * model.n_features_in_).reshape(4, -1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, name) and len(getattr(model, name)(X)) != len(X):
                raise Harm(f"{name} gave another number of rows")
        if hasattr(model, "partial_fit"):
            _learn(model, X)


def _learn(model, X) -> None:
    y = model.classes_[np.arange(4) % 2] if hasattr(model, "classes_") else np.ones((4, len(model.intercept_)))
    y = y[:, 0] if getattr(model, "_targets", 1) is None else y
    try:
        model.partial_fit(X, y)
    except (ValueError, NotImplementedError):  # parameters that `fit` would not have taken either
        return
    model.predict(X)


def reset_peak() -> int:
    """Begin to watch the memory; the bytes in use."""
    with suppress(OSError):  # elsewhere than on Linux the peak of all time is the peak
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """Most bytes in memory since `reset_peak`."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
