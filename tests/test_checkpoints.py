"""Checkpoints: a fit that is killed and gone on from, as often as one likes, ends in the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import pairwise

from checkpointed import assert_same_bits, fit_in_pieces, fresh, killed_after, leave_checkpoint, quietly
from conftest import classes_problem
from pegasos import Checkpoint
from pegasos.rules.state import State
from pegasos.solver import stream
from pegasos.solver.checkpoint_file import CheckpointFile
from textbook import pegasos_classifier, pegasos_regressor

N = 300
X, Y = classes_problem(4, n_rows=N, n_features=5)
UNEVEN = np.where(np.arange(N) % 3 == 0, Y, 0)  # one class has most rows
TARGETS = np.c_[X @ [1.0, -0.5, 0.2, 0.0, 0.3] + 0.3 * Y, 3 + 0 * Y - X[:, 0]]
WEIGHTS = np.where(np.arange(N) % 7 == 3, 0.0, np.linspace(0.3, 2.0, N))
MANY = np.tile(X, (7, 1)) + np.random.default_rng(0).normal(0, 0.1, (7 * N, 5))
DATA = {
    "dense": X,
    "csr": sparse.csr_matrix(np.where(np.abs(X) > 0.4, X, 0)),
    "matrix": pairwise.rbf_kernel(X, gamma=0.3),
}
RBF = dict(kernel="rbf", gamma=0.3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def check(path, model, rows, y, writes=2, least=1, **given):
    """Assert that pieces make the same model as one fit; `least` kills there have to be."""
    whole = quietly(fresh(model).fit, rows, y, **given)
    found, kills = quietly(fit_in_pieces, model, rows, y, path, writes, **given)
    assert kills >= least
    assert_same_bits(found, whole)
    return whole


def classifier(**params):
    return pegasos_classifier(**(dict(lam=0.01, max_iter=4, random_state=0) | params))


# --- bit for bit ----------------------------------------------------------------------------------

RULES = [
    dict(),
    dict(sampling="replacement", average="uniform"),
    dict(sampling="cyclic", average="suffix", multi_class="ovo"),
    dict(batch_size=10, average="suffix", project=True, lam=1e-4),
    dict(batch_size="all", average="uniform", max_iter=7, project=True),
    dict(multi_class="crammer_singer", average="suffix", fit_intercept=True),
    dict(multi_class="crammer_singer", sampling="replacement", batch_size=7),
    dict(loss="log_loss", sampling="replacement", fit_intercept=True),
    dict(loss="squared_hinge", average=False, batch_size=3),
    dict(solver="sdca", average=False),
    dict(solver="sdca", average="weighted", multi_class="ovo", sampling="replacement"),
    dict(solver="sdca", multi_class="crammer_singer", tol=0.02, max_iter=20),
    dict(solver="sdca", loss="log_loss", class_weight="balanced", tol=1e-4, max_iter=9),
]
ROWS = {
    "dense": ("dense", dict()),
    "csr": ("csr", dict()),
    "rbf": ("dense", RBF),
    "rbf computed": ("dense", dict(cache_size=0, **RBF)),
    "landmarks": ("dense", dict(n_landmarks=30, **RBF)),
    "landmarks computed": ("csr", dict(n_landmarks=30, landmarks="k-means++", cache_size=0, **RBF)),
}


SETTINGS = [
    (rows, rule)
    for i, rows in enumerate(ROWS)
    for j, rule in enumerate(RULES)
    if rows in ("dense", "rbf") or (i + j) % 2 == 0
]


@pytest.mark.parametrize(("rows", "rule"), SETTINGS, ids=str)
def test_a_fit_in_pieces_is_one_fit_to_the_last_bit(path, rows, rule):
    data, params = ROWS[rows]
    check(path, classifier(**params, **rule), DATA[data], Y, 4 if rows == "rbf computed" else 2)


@pytest.mark.parametrize("writes", [2, 3, 5, 11])
@pytest.mark.parametrize(
    "params",
    [
        dict(average="suffix", **RBF),
        dict(cache_size=0, sampling="replacement", **RBF),
        dict(batch_size=10, max_iter=20),
    ],
    ids=str,
)
def test_it_does_not_matter_how_often_it_is_killed(path, params, writes):
    check(path, classifier(**params), X, Y, writes)


@pytest.mark.parametrize(
    ("data", "params"),
    [
        ("matrix", dict(kernel="precomputed")),
        ("matrix", dict(kernel="precomputed", solver="sdca", n_landmarks=20)),
        ("csr", dict(kernel="laplacian", gamma=0.2, cache_size=0, max_iter=2)),
        ("dense", dict(kernel=pairwise.rbf_kernel, kernel_params={"gamma": 0.2})),
        ("dense", dict(kernel="poly", degree=2, solver="sdca", cache_size=0)),
        ("dense", dict(kernel="sigmoid", gamma=0.1)),
    ],
    ids=lambda given: str(given).split(" at 0x")[0],
)
def test_other_kernels_too(path, data, params):
    rows = DATA[data][:120] if data != "matrix" else DATA[data][:120, :120]
    check(path, classifier(**params), rows, Y[:120], 3)


@pytest.mark.parametrize(
    "params", [dict(), dict(solver="sdca"), dict(batch_size=10), RBF, RBF | dict(solver="sdca")], ids=str
)
def test_float32_that_goes_on_in_float64_too(path, params, monkeypatch):
    """In earnest sums are widened after eight million steps."""
    widen, widened = State.widen, []
    monkeypatch.setattr(State, "widen", lambda state: widened.append(state) or widen(state))
    monkeypatch.setattr(stream, "WIDE_FROM", 70 if "batch_size" in params else 700)
    for rows in (np.asfortranarray(X), DATA["csr"]):
        widened.clear()
        check(path, classifier(**params), rows.astype(np.float32), Y, 2, least=3)
        assert len(widened) >= 2, "in the whole fit, and in pieces"


@pytest.mark.parametrize("average", [False, "weighted", "suffix"])
@pytest.mark.parametrize("batch_size", [1500, 2000])
def test_large_batches_too(path, batch_size, average):
    for params in (dict(), RBF, dict(n_landmarks=20, cache_size=0, **RBF)):
        model = classifier(batch_size=batch_size, average=average, **params)
        check(path, model, MANY, np.tile(Y, 7), 2)


@pytest.mark.parametrize(
    "params", [dict(), dict(kernel="rbf", fit_intercept=True), dict(solver="sdca", tol=0.02)], ids=str
)
def test_regressors_too(path, params):
    model = pegasos_regressor(lam=0.01, max_iter=5, random_state=0, **params)
    check(path, model, X, TARGETS, 2)
    check(path, model, X, TARGETS[:, 0], 3, sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    "params",
    [
        dict(multi_class="ovo", batch_size=10),
        dict(multi_class="ovo", batch_size=20, max_iter=9),
        dict(multi_class="ovo", batch_size=20, cache_size=0, n_landmarks=20, **RBF),
        dict(multi_class="ovo", batch_size=10, average="suffix", **RBF),
    ],
    ids=str,
)
def test_groups_of_columns_that_take_turns_too(path, params):
    whole = check(path, classifier(**params), X, UNEVEN, 2 if "n_landmarks" not in params else 9, least=6)
    assert len(set(whole.t_)) > 1
    check(path, classifier(class_weight="balanced", **params), X, UNEVEN, 9, sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    "params", [dict(), dict(multi_class="ovo", average=False), dict(multi_class="ovo", **RBF)], ids=str
)
def test_columns_that_leave_early_too(path, params):
    model = classifier(solver="sdca", tol=0.002, max_iter=50, **params)
    whole = check(path, model, X, UNEVEN, 2)
    assert len(set(whole.t_)) > 1


def test_a_fit_that_goes_on_from_an_earlier_one_too(path):
    for params in (dict(), dict(solver="sdca"), dict(batch_size=7, average="suffix"), RBF):
        before = classifier(warm_start=True, max_iter=3, **params).fit(X, Y)
        whole = check(path, before.set_params(lam=0.02), X, Y, 2)
        assert (whole.t_ > before.t_).all()


def test_history_is_that_of_one_fit(path):
    model = classifier(tol=1e-9, max_iter=9)
    whole = check(path, model, X, Y, 2)
    assert [record["step"] for record in whole.history_] == [N, 2 * N, 4 * N, 8 * N, 9 * N]


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(5)], ids=["None", "a generator"])
def test_draws_go_on_with_the_seed_of_the_file(path, random_state):
    """Each process would draw another seed; that of the file decides, for the landmarks, too."""
    for params in (dict(), dict(n_landmarks=20, **RBF)):
        seeds = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stream, "stream_from", noting_seeds(seeds, stream.stream_from))
            found, kills = fit_in_pieces(classifier(random_state=random_state, **params), X, Y, path, 2)
        assert kills > 1
        assert len(set(seeds)) == 1
        assert np.isfinite(found.objective_).all()


def noting_seeds(seeds, real):
    def noted(used, schedule, before):
        seeds.append(schedule.seed)
        return real(used, schedule, before)

    return noted


SCRIPT = """
import sys
from pathlib import Path
import numba
from checkpointed import assert_same_bits, fit_in_pieces
from conftest import classes_problem
from textbook import pegasos_classifier
assert numba.config.DISABLE_JIT
X, y = classes_problem(3)
for params in eval(sys.argv[2]):
    model = pegasos_classifier(lam=0.01, max_iter=3, random_state=0, **params)
    found, kills = fit_in_pieces(model, X, y, Path(sys.argv[1]), 2)
    assert kills > 1
    assert_same_bits(found, model.fit(X, y))
"""


def test_loops_that_run_as_plain_python_too(tmp_path):
    cases = [
        dict(),
        dict(solver="sdca", multi_class="crammer_singer"),
        dict(batch_size=7, **RBF),
        dict(n_landmarks=9, **RBF),
    ]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "fit.checkpoint"), repr(cases)]
    subprocess.run(command, env=environment, check=True, cwd=tmp_path)


# --- when it is written, and how long it stays ----------------------------------------------------


def test_a_fit_in_time_writes_nothing_and_leaves_nothing(path):
    writes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pegasos.solver.checkpoint_file.write", lambda *given: writes.append(given))
        classifier(checkpoint=path).fit(X, Y)
        classifier(checkpoint=str(path)).fit(X, Y)
    assert not writes
    assert not path.exists()


def test_checkpoints_change_nothing(path):
    with killed_after(None) as count:
        found = classifier(checkpoint=path, **RBF).fit(X, Y)
    assert count[0] > 5
    assert_same_bits(found, classifier(**RBF).fit(X, Y))
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("params", [dict(), RBF], ids=str)
def test_a_kept_file_of_a_fit_that_is_done_ends_in_the_same_model(path, params):
    model = classifier(checkpoint=Checkpoint(path, keep=True), **params)
    with killed_after(None):
        whole = clone(model).fit(X, Y)
    assert path.exists()
    assert_same_bits(clone(model).fit(X, Y), whole)
    assert path.exists()
    clone(model).set_params(checkpoint=path).fit(X, Y)
    assert not path.exists()


def test_a_file_that_exists_is_an_error_where_nothing_is_to_be_resumed(path):
    leave_checkpoint(classifier(), X, Y, path)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=f"{path} exists already: resume from it, or remove it to begin anew"):
        classifier(checkpoint=Checkpoint(path, resume=False)).fit(X, Y)
    assert path.read_bytes() == content
    path.unlink()
    classifier(checkpoint=Checkpoint(path, resume=False)).fit(X, Y)


def test_a_write_waits_for_its_time(path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("pegasos.solver.checkpoint_file.time.perf_counter", lambda: now[0])
    file = CheckpointFile(Checkpoint(path, every=5.0), "fit", {})
    assert not file.due()
    now[0] = 105.0
    assert file.due()
    slow = lambda *given: now.__setitem__(0, now[0] + 2.0)
    monkeypatch.setattr("pegasos.solver.checkpoint_file.write", slow)
    file.write({}, {})  # ends at 107: twenty seconds are ten times two
    now[0] = 126.9
    assert not file.due()
    now[0] = 127.1
    assert file.due()
