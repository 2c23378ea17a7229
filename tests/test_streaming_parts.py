"""Small parts that streaming rests on, each beside the plain way to the same number."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import r2_score

from conftest import classes_problem
from pegasos.io.source import InMemorySource
from pegasos.io.text.scan import count
from pegasos.solver.clock import Clock
from pegasos.streaming.evaluate import StreamScore
from pegasos.streaming.progress import StreamProgress
from pegasos.streaming.training import fit_stream
from textbook import pegasos_classifier


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 5000])
def test_bytes_are_counted_as_python_counts_them(size):
    data = np.random.default_rng(size).integers(0, 4, size).astype(np.uint8).tobytes()
    buffer = np.frombuffer(data, np.uint8)
    for begin, end in ((0, size), (size // 3, size), (size // 3, size // 2)):
        assert count(buffer, begin, end, 2) == data[begin:end].count(b"\x02")
    assert count(np.full(100_000, 10, np.uint8), 0, 100_000, 10) == 100_000


@pytest.mark.parametrize("parts", [1, 7])
def test_a_tally_over_parts_is_the_score_of_all_rows(parts):
    rng = np.random.default_rng(0)
    y, predicted = 1e8 + rng.normal(size=100), 1e8 + rng.normal(size=100)
    numbers, classes = StreamScore(numbers=True), StreamScore(numbers=False)
    for rows in np.array_split(np.arange(100), parts):
        numbers.add(y[rows], predicted[rows])
        classes.add(rows % 3, rows % 2)
    classes.add(np.empty(0), np.empty(0))
    assert numbers.score == pytest.approx(r2_score(y, predicted), rel=1e-7)
    assert classes.score == np.mean(np.arange(100) % 3 == np.arange(100) % 2)
    constant = StreamScore(numbers=True)
    constant.add(np.ones(3), np.array([1.0, 1.0, 2.0]))
    assert constant.score == r2_score(np.ones(3), [1.0, 1.0, 2.0])
    assert np.isnan(StreamScore(numbers=False).score)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_the_bound_by_the_slope_is_the_norm_of_the_gradient(scheme, container):
    X, y = classes_problem(3)
    X = container(X)
    model = pegasos_classifier(lam=2.0, loss="log_loss", multi_class=scheme, class_weight="balanced", random_state=0)
    fit_stream(model, InMemorySource("rows", X, y, chunk=300))
    rows = np.c_[X.toarray() if sparse.issparse(X) else X, np.ones(len(y))]
    pairs = [(None, k) for k in range(3)] if scheme == "ovr" else [(0, 1), (0, 2), (1, 2)]
    for column, (first, second) in enumerate(pairs):
        inside = np.ones(len(y), bool) if first is None else np.isin(y, [first, second])
        signs = np.where(y == second, 1.0, -1.0)[inside]
        s = 1.0 / np.bincount(y[inside], minlength=3)[y[inside]]
        s = s / s.mean()
        w = np.append(model.coef_[column], model.intercept_[column])
        scores = rows[inside] @ w
        gradient = 2.0 * w - rows[inside].T @ (s * signs / (1 + np.exp(signs * scores))) / inside.sum()
        objective = w @ w + np.mean(s * np.logaddexp(0, -signs * scores))
        assert model.objective_[column] == pytest.approx(objective, rel=1e-9)
        assert model.dual_gap_[column] == pytest.approx(gradient @ gradient / 4, rel=1e-6, abs=1e-12)


def test_work_is_told_from_0_to_1():
    told = []
    work = StreamProgress(Clock(None), told.append, readings=2.0)
    for _ in range(6):
        work.add(0.35)
    assert told == sorted(told)
    assert told[-1] == 1.0
    work.end_reading()
    assert work.read == 2.0
    endless = StreamProgress(Clock(None), told.append, readings=np.inf)
    endless.add(0.5)
    assert 0 < told[-1] < 1
