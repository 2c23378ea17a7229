"""What the solver promises beyond equality with the textbook loop on the standard grid."""

import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from pegasos.kernels import make_kernel
from pegasos.problem.columns import one_vs_one, one_vs_rest
from pegasos.problem.sampling import Stream
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows, KernelRows, KernelStorage, SparseRows, Way
from pegasos.rules.column import Rule
from pegasos.solver import resume, stepper
from solving import solve

RBF = make_kernel("rbf", gamma=0.5)


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    codes = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
    return X, codes, np.where(codes == 1, 1.0, -1.0)


def drawn(n_rows, sampling, seed, count):
    stream = Stream(np.arange(n_rows), sampling, seed)
    return np.concatenate([stream.take(n_rows) for _ in range(count // n_rows + 1)])[:count]


def test_violation_counts_equal_the_count_form_of_the_notes(binary):
    X, codes, y = binary
    lam, steps = 0.02, 500
    schedule = Schedule(sampling="replacement", seed=5, max_steps=steps, max_passes=np.inf, count_violations=True)
    found = solve(KernelRows(X, RBF), one_vs_rest(codes, 2).with_lam(lam), Rule.PEGASOS, schedule)
    counts = naive.violation_counts(RBF(X, X), y, lam, drawn(60, "replacement", 5, steps), steps)
    np.testing.assert_array_equal(found.state.violations[:, 0], counts)
    np.testing.assert_allclose(found.model[:, 0], counts * y / (lam * steps), rtol=1e-12)


def test_support_pairs_are_the_same_function(binary):
    X, codes, y = binary
    lam, steps = 0.02, 500
    schedule = Schedule(sampling="replacement", seed=5, max_steps=steps, max_passes=np.inf)
    found = solve(KernelRows(X, RBF), one_vs_rest(codes, 2).with_lam(lam), Rule.PEGASOS, schedule)
    K = RBF(X, X)
    pairs = naive.support_pairs(K, y, lam, drawn(60, "replacement", 5, steps), steps)
    scores = sum(y[j] * K[j] for j in pairs) / (lam * steps)
    np.testing.assert_allclose(K @ found.model[:, 0], scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", [Rule.PEGASOS, Rule.SDCA])
def test_linear_rows_equal_the_linear_kernel(binary, rule):
    X, codes, _ = binary
    problems = one_vs_rest(codes, 2).with_lam(0.01)
    schedule = Schedule(average="weighted", max_passes=7)
    dense = solve(DenseRows(X, 0.5), problems, rule, schedule)
    sparse = solve(SparseRows(sp.csr_array(X), 0.5), problems, rule, schedule)
    kernel = solve(KernelRows(X, make_kernel("linear"), 0.5), problems, rule, schedule)
    np.testing.assert_allclose(sparse.model, dense.model, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(X.T @ kernel.model[:60], dense.model[:3], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel.model[60], dense.model[3], rtol=1e-9)
    np.testing.assert_allclose(kernel.certificate.gap, dense.certificate.gap, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", [Rule.PEGASOS, Rule.SDCA])
@pytest.mark.parametrize("pull_rate", [0.0, 1.0])
def test_rows_repeated_within_a_block(monkeypatch, rule, pull_rate):
    """Four rows and blocks of 64 draws: each row recurs many times before the state is brought up to date."""
    monkeypatch.setattr(stepper, "DIRECT_PULL_RATE", pull_rate)
    rng = np.random.default_rng(2)
    X, codes = rng.normal(size=(4, 2)), np.array([0, 1, 0, 1])
    y, lam, steps = np.where(codes == 1, 1.0, -1.0), 0.05, 200
    schedule = Schedule(sampling="replacement", seed=9, max_steps=steps, max_passes=np.inf, block=64)
    order = drawn(4, "replacement", 9, steps)
    K = RBF(X, X)
    if rule == Rule.PEGASOS:
        expected = naive.pegasos(K, y, np.ones(4), lam, order, steps)[0][-1]
    else:
        expected = naive.sdca(K, y, np.ones(4), lam, order, steps)[0][-1]
    stream = Stream(np.arange(4), "replacement", 9)
    monkeypatch.setattr(resume, "Stream", lambda *_: LongStream(stream))
    found = solve(KernelRows(X, RBF), one_vs_rest(codes, 2).with_lam(lam), rule, schedule)
    np.testing.assert_allclose(found.model[:, 0], expected, rtol=1e-9, atol=1e-12)


class LongStream:
    """The same draws in blocks that run across the ends of passes."""

    def __init__(self, stream):
        self.stream, self.passes = stream, 0

    def keep(self, rows):
        assert rows.all()

    def take(self, most, batch=1):
        return np.concatenate([self.stream.take(4) for _ in range(most // 4)])

    def put_back(self, draws):
        assert not draws.size

    def generator_before(self, draws):
        return None


@pytest.mark.parametrize("sampling", ["shuffle", "replacement", "cyclic"])
@pytest.mark.parametrize("rows", ["dense", "csr", "rbf"])
def test_a_column_with_all_rows_masked_but_two(binary, rows, sampling):
    X, codes, y = binary
    pair = [int(np.flatnonzero(codes == 0)[0]), int(np.flatnonzero(codes == 1)[3])]
    problems = one_vs_rest(codes, 2).over_folds([(np.arange(60), None), (pair, None)]).with_lam(0.1)
    kinds = {"dense": DenseRows(X), "csr": SparseRows(sp.csr_array(X)), "rbf": KernelRows(X, RBF)}
    schedule = Schedule(sampling=sampling, seed=4, max_steps=90, max_passes=np.inf, average="suffix")
    found = solve(kinds[rows], problems, Rule.PEGASOS, schedule)
    assert found.steps.tolist() == [90, 90]
    K = (RBF(X, X) if rows == "rbf" else X @ X.T)[np.ix_(pair, pair)]
    place = np.full(60, -1)
    place[pair] = [0, 1]
    order = place[drawn(60, sampling, 4, 60 * 200)]
    iterates, _, _ = naive.pegasos(K, y[pair], np.ones(2), 0.1, order[order >= 0], 90)
    a = naive.average_of(iterates, "suffix")
    if rows == "rbf":
        np.testing.assert_allclose(found.model[pair, 1], a, rtol=1e-9, atol=1e-12)
        assert not np.delete(found.model[:, 1], pair).any()
    else:
        np.testing.assert_allclose(found.model[:, 1], X[pair].T @ a, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("kind", ["dense", "csr", "rbf"])
def test_batches_too_large_for_blocks(kind, project):
    """Batches beyond the block limit take the product path; the textbook loop judges it too."""
    rng = np.random.default_rng(3)
    n, k, steps, lam = 1500, 1100, 6, 0.01
    X = rng.normal(size=(n, 3))
    codes = (X[:, 0] > 0).astype(int)
    y = np.where(codes == 1, 1.0, -1.0)
    rows = {"dense": DenseRows(X), "csr": SparseRows(sp.csr_array(X)), "rbf": KernelRows(X, RBF)}[kind]
    schedule = Schedule(seed=6, batch=k, max_steps=steps, max_passes=np.inf, average="uniform", project=project)
    found = solve(rows, one_vs_rest(codes, 2).with_lam(lam), Rule.PEGASOS, schedule)
    K = RBF(X, X) if kind == "rbf" else X @ X.T
    order = drawn(n, "shuffle", 6, steps * k)
    iterates, _, closest = naive.pegasos(K, y, np.ones(n), lam, order, steps, k, project)
    assert closest > 1e-9
    a = naive.average_of(iterates, "uniform")
    np.testing.assert_allclose(found.model[:, 0], a if kind == "rbf" else X.T @ a, rtol=1e-8, atol=1e-10)
    expected = naive.best_dual(K, y, np.ones(n), lam, iterates, k, "shuffle")
    np.testing.assert_allclose(found.certificate.dual[0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("average", [False, "weighted", "suffix"])
def test_finished_columns_leave_and_the_others_do_not_notice(binary, average):
    X, codes, _ = binary
    lams = [1.0, 0.1, 1e-3, 1e-4]
    schedule = Schedule(tol=0.05, max_passes=300, average=average, seed=2)
    for rows in (DenseRows(X), SparseRows(sp.csr_array(X)), KernelRows(X, RBF)):
        together = solve(rows, one_vs_rest(codes, 2).with_lam(1).over_grid(lams), Rule.SDCA, schedule)
        assert len(set(together.steps)) > 1
        for p, lam in enumerate(lams):
            alone = solve(rows, one_vs_rest(codes, 2).with_lam(lam), Rule.SDCA, schedule)
            assert alone.steps[0] == together.steps[p]
            np.testing.assert_allclose(together.model[:, p], alone.model[:, 0], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(together.certificate.gap[p], alone.certificate.gap[0], rtol=1e-6, atol=1e-12)


def test_an_early_stop_uses_a_full_suffix_window(binary, monkeypatch):
    """Stopped at 72 of 1000 steps: windows end at 1000/2^j, so 62..72 is young and the model is the mean of 32..62."""
    X, codes, y = binary
    lam = 0.05
    clock = iter(np.arange(0, 1e6))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    schedule = Schedule(
        sampling="cyclic", max_steps=1000, max_passes=np.inf, average="suffix", max_time=37.5, block=10, certified=False
    )
    found = solve(DenseRows(X), one_vs_rest(codes, 2).with_lam(lam), Rule.PEGASOS, schedule)
    assert found.timed_out
    steps = int(found.steps[0])
    iterates, _, _ = naive.pegasos(X @ X.T, y, np.ones(60), lam, np.tile(np.arange(60), 5), steps)
    ends = [1000 // 2**j for j in range(11)]
    begin = max(e for e in ends if e < steps)
    done, planned = steps - begin, min(e for e in ends if e > begin) - begin
    if 2 * done < planned:
        begin, steps = max(e for e in ends if e < begin), begin
    expected = np.mean(iterates[begin + 1 : steps + 1], axis=0)
    np.testing.assert_allclose(found.model[:, 0], X.T @ expected, rtol=1e-9)


def test_uncached_kernels_gather_support_rows_as_they_appear():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4))
    codes = (X[:, 0] > 0).astype(int)
    problems = one_vs_rest(codes, 2).with_lam(0.05)
    schedule = Schedule(max_passes=3, block=16)
    cached = solve(KernelRows(X, RBF), problems, Rule.SDCA, schedule)
    uncached = solve(KernelRows(X, RBF, storage=KernelStorage(cache_bytes=0)), problems, Rule.SDCA, schedule)
    np.testing.assert_allclose(uncached.model, cached.model, rtol=1e-9, atol=1e-12)


def test_kept_scores_are_refreshed_and_stay_exact(binary):
    X, codes, _ = binary
    problems = one_vs_rest(codes, 2).with_lam(1e-3)
    rows = KernelRows(X, RBF)
    found = solve(rows, problems, Rule.PEGASOS, Schedule(max_passes=40))
    np.testing.assert_allclose(found.state.products, rows.matrix @ found.state.sums, rtol=1e-9, atol=1e-9)


def test_rows_choose_their_way():
    X = np.ones((10, 3))
    assert DenseRows(X).way(1) == Way.DIRECT
    assert DenseRows(X).way(500) == Way.BLOCKS
    assert DenseRows(np.asfortranarray(X)).way(1) == Way.BLOCKS
    assert SparseRows(sp.csr_array(X)).way(1) == Way.SPARSE
    assert KernelRows(X, RBF).way(1) == Way.EITHER
    assert KernelRows(X, RBF, storage=KernelStorage(cache_bytes=0)).way(1) == Way.BLOCKS


def test_wide_dense_problems_run_in_blocks_and_agree(binary):
    X, codes, _ = binary
    problems = one_vs_rest(codes, 2).with_lam(1).over_grid(np.geomspace(1e-3, 1, 50))
    wide = solve(DenseRows(X), problems, Rule.PEGASOS, Schedule(average="weighted"))
    alone = solve(DenseRows(X), problems.select([17]), Rule.PEGASOS, Schedule(average="weighted"))
    np.testing.assert_allclose(wide.model[:, 17], alone.model[:, 0], rtol=1e-9, atol=1e-12)


def test_no_violations_are_counted_unless_asked_for(binary):
    """Few rows pull at this lam, so that steps go directly over the kernel matrix."""
    X, codes, _ = binary
    problems = one_vs_rest(codes, 2).with_lam(1e-3)
    silent = solve(KernelRows(X, RBF), problems, Rule.SDCA, Schedule(max_passes=30))
    counting = solve(KernelRows(X, RBF), problems, Rule.SDCA, Schedule(max_passes=30, count_violations=True))
    assert silent.state.violations.size == 0
    assert counting.state.violations.sum() > 0
    np.testing.assert_array_equal(silent.model, counting.model)


def test_a_column_without_a_step_has_no_dual_bound_yet_and_gets_one_later():
    """Cyclic over sorted classes: the later pairs wait while the first ones step."""
    rng = np.random.default_rng(8)
    codes = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 3)) + codes[:, None]
    schedule = Schedule(sampling="cyclic", max_steps=50, max_passes=np.inf, average="suffix")
    found = solve(DenseRows(X), one_vs_one(codes, 3).with_lam(0.1), Rule.PEGASOS, schedule)
    for block in (1, 7, 1000):
        again = solve(DenseRows(X), one_vs_one(codes, 3).with_lam(0.1), Rule.PEGASOS, replace(schedule, block=block))
        np.testing.assert_allclose(again.certificate.dual, found.certificate.dual, rtol=1e-9)
    assert (found.certificate.dual > 0).all()


def test_looking_on_never_worsens_the_gap(binary):
    """Batches that do not divide a pass: a look after pass 1 must not freeze the dual point of pass 1."""
    X, codes, _ = binary
    problems = one_vs_rest(codes, 2).with_lam(0.05)
    schedule = Schedule(batch=7, max_passes=40)
    alone = solve(DenseRows(X), problems, Rule.PEGASOS, schedule)
    watched = solve(DenseRows(X), problems, Rule.PEGASOS, schedule, callback=lambda record: None)
    assert (watched.certificate.gap <= alone.certificate.gap + 1e-12).all()


def test_time_is_shared_by_groups_of_row_sets():
    rng = np.random.default_rng(9)
    codes = np.repeat(np.arange(6), 30)
    X = rng.normal(size=(180, 4))
    schedule = Schedule(batch=8, max_passes=1e9, max_time=0.5)
    found = solve(DenseRows(X), one_vs_one(codes, 6).with_lam(0.01), Rule.PEGASOS, schedule)
    assert found.timed_out
    assert found.steps.min() > 0


def test_folds_follow_C():
    codes = np.array([0, 1] * 10)
    folds = [(np.arange(8), None), (np.arange(4, 20), None)]
    before = one_vs_rest(codes, 2).with_C(2.0).over_folds(folds)
    after = one_vs_rest(codes, 2).over_folds(folds).with_C(2.0)
    np.testing.assert_allclose(before.lam, after.lam)
    np.testing.assert_allclose(before.lam, [1 / 16, 1 / 32])


def test_one_vs_one_targets_and_sets():
    codes = np.array([0, 1, 2, 1])
    problems = one_vs_one(codes, 3)
    assert problems.n_columns == 3
    assert problems.n_rows.tolist() == [3, 2, 3]
    for p, (_, later) in enumerate([(0, 1), (0, 2), (1, 2)]):
        labeling, row_set = problems.columns[p]
        inside = problems.row_sets[:, row_set]
        assert ((problems.labelings[inside, labeling] == 1) == (codes[inside] == later)).all()


def test_C_means_each_columns_own_rows():
    codes = np.array([0, 1, 2, 1])
    problems = one_vs_one(codes, 3, weights=np.array([1.0, 2.0, 3.0, 4.0])).with_C(2.0)
    np.testing.assert_allclose(problems.lam, 1 / (2.0 * np.array([7.0, 4.0, 9.0])))
    np.testing.assert_allclose(problems.normalised_weights(np.float64)[:, 0], np.array([1, 2, 0, 4]) * 3 / 7)
