"""Models read off on the way are those of separate solves; wide blocks in parts are the textbook loop."""

import numpy as np
import pytest

import naive
from pegasos.backends.blas import add_product
from pegasos.kernels import make_kernel
from pegasos.losses import Loss
from pegasos.problem.columns import one_vs_rest
from pegasos.problem.sampling import Stream
from pegasos.problem.schedule import Schedule
from pegasos.rows import KernelRows
from pegasos.rules.column import Rule
from pegasos.solver import stepper
from pegasos.solver.monitor import Hooks
from pegasos.solver.read_points import ReadPoints
from problems_for_oracle import BIAS, problems_of, rows_of
from solving import solve

STOPS = np.array([1, 13, 41, 60, 77])
LOSS = {"crammer_singer": Loss.CRAMMER_SINGER, "regression": Loss.EPSILON_INSENSITIVE}
RULES = [("pegasos", 1), ("pegasos", 7), ("pegasos", None), ("sdca", 1)]


class Harvest:
    """Keeps what is handed over, once for each column and point, and how often it was called."""

    def __init__(self):
        self.models, self.steps, self.calls = {}, {}, 0

    def __call__(self, state, which):
        self.calls += 1
        assert which.shape == (len(state.columns), which.shape[1])
        assert which.any(axis=1).all()
        model = state.model()
        for i, column in enumerate(state.columns["place"]):
            for point in np.flatnonzero(which[i]):
                assert (column, point) not in self.models
                self.models[column, point] = model[:, i]
                self.steps[column, point] = state.columns["steps"][i]


def solve_with(rows, problems, rule, points=None, callback=None, **schedule):
    settings = dict(seed=3, max_passes=np.inf, certified=False) | schedule
    return solve(
        rows, problems, Rule[rule.upper()], Schedule(**settings), loss=LOSS.get(problems.scheme, Loss.HINGE),
        callback=callback, read_points=points,
    )  # fmt: skip


def points_of(problems, n_points=4):
    """Rising points, other ones for each problem; some fall together."""
    rng = np.random.default_rng(2)
    steps = np.sort(rng.choice(STOPS, (problems.n_columns // problems.group, n_points)), axis=1)
    return np.repeat(steps, problems.group, axis=0).astype(np.int64)


def assert_handed_over(harvest, steps, rows, problems, rule, **schedule):
    """All points were met, at their steps, with the models of solves that end there."""
    assert len(harvest.models) == steps.size
    for stop in np.unique(steps):
        apart = solve_with(rows, problems, rule, max_steps=stop, **schedule).model
        for column, point in np.argwhere(steps == stop):
            assert harvest.steps[column, point] == stop
            np.testing.assert_allclose(harvest.models[column, point], apart[:, column], rtol=1e-9, atol=1e-12)


SETTINGS = [
    *[("pegasos", 1, average, "shuffle") for average in (False, "uniform", "weighted")],
    *[("pegasos", 7, "uniform", sampling) for sampling in ("cyclic", "shuffle", "replacement")],
    *[("sdca", 1, "weighted", sampling) for sampling in ("cyclic", "shuffle", "replacement")],
    ("pegasos", 1, "weighted", "cyclic"),
    ("pegasos", 1, "weighted", "replacement"),
    ("pegasos", None, "weighted", "cyclic"),
    ("sdca", 1, False, "shuffle"),
]


@pytest.mark.parametrize(("rule", "batch", "average", "sampling"), SETTINGS)
@pytest.mark.parametrize("kind", ["dense", "dense blocks", "csr", "rbf", "rbf uncached"])
def test_read_points_are_where_separate_solves_end(kind, rule, batch, average, sampling):
    rows, problems = rows_of(kind, BIAS), problems_of("ovr", True)
    steps, harvest = points_of(problems), Harvest()
    schedule = dict(sampling=sampling, batch=batch, average=average)
    found = solve_with(rows, problems, rule, ReadPoints(steps, harvest), **schedule)
    np.testing.assert_array_equal(found.steps, steps[:, -1])
    assert_handed_over(harvest, steps, rows, problems, rule, **schedule)


@pytest.mark.parametrize(("rule", "batch"), RULES)
@pytest.mark.parametrize("scheme", ["ovo", "crammer_singer", "regression"])
@pytest.mark.parametrize("kind", ["dense", "rbf"])
def test_read_points_of_pairs_groups_and_targets(kind, scheme, rule, batch):
    rows, problems = rows_of(kind), problems_of(scheme, False)
    steps, harvest, schedule = points_of(problems), Harvest(), dict(batch=batch, average="weighted", project=False)
    solve_with(rows, problems, rule, ReadPoints(steps, harvest), **schedule)
    assert_handed_over(harvest, steps, rows, problems, rule, **schedule)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_read_points_do_not_depend_on_blocks(block):
    rows, problems = rows_of("rbf"), problems_of("ovr", False)
    steps, harvest = points_of(problems), Harvest()
    solve_with(rows, problems, "pegasos", ReadPoints(steps, harvest), average="uniform", project=True, block=block)
    assert_handed_over(harvest, steps, rows, problems, "pegasos", average="uniform", project=True)


@pytest.mark.parametrize("kind", ["dense", "rbf"])
def test_the_last_read_point_of_a_suffix_average_is_that_of_a_separate_solve(kind):
    rows, problems = rows_of(kind), problems_of("ovr", False)
    steps, harvest = points_of(problems)[:, -1:], Harvest()
    solve_with(rows, problems, "pegasos", ReadPoints(steps, harvest), average="suffix")
    assert_handed_over(harvest, steps, rows, problems, "pegasos", average="suffix")


@pytest.mark.parametrize("kind", ["dense", "csr", "rbf"])
@pytest.mark.parametrize("average", [False, "weighted"])
def test_columns_within_tol_stand_at_all_read_points_that_are_left(kind, average):
    rows, problems = rows_of(kind), problems_of("ovr", False)
    steps = np.tile([20, 200, 5_000, 10_000], (problems.n_columns, 1))
    harvest, schedule = Harvest(), dict(tol=0.02, average=average, certified=True)
    found = solve_with(rows, problems, "sdca", ReadPoints(steps, harvest), **schedule)
    apart = solve_with(rows, problems, "sdca", max_steps=10_000, **schedule)
    np.testing.assert_array_equal(found.steps, apart.steps)
    assert 20 < found.steps.min() < 5_000
    assert len(harvest.models) == steps.size
    for (column, point), model in harvest.models.items():
        ended = min(steps[column, point], apart.steps[column])
        assert harvest.steps[column, point] == ended
        if ended == apart.steps[column]:
            np.testing.assert_allclose(model, apart.model[:, column], rtol=1e-9, atol=1e-12)


def test_read_points_that_fall_together_are_one_call():
    rows, problems = rows_of("dense"), problems_of("ovr", False).select([0])
    harvest = Harvest()
    solve_with(rows, problems, "pegasos", ReadPoints(np.array([[5, 9, 9, 9]]), harvest))
    assert (len(harvest.models), harvest.calls) == (4, 2)


@pytest.mark.parametrize("ended_by", ["time", "a watcher"])
@pytest.mark.parametrize(("rule", "batch"), RULES)
@pytest.mark.parametrize("kind", ["dense", "csr", "rbf", "rbf uncached"])
def test_a_solve_that_is_cut_short_hands_over_what_it_has(kind, rule, batch, ended_by):
    rows, problems = rows_of(kind), problems_of("ovr", False)
    steps = np.tile([2, 10**9, 2 * 10**9], (problems.n_columns, 1))
    ends = dict(max_time=0.02) if ended_by == "time" else {}
    watcher = Hooks(progress=lambda done: True) if ended_by == "a watcher" else None
    harvest = Harvest()
    found = solve_with(rows, problems, rule, ReadPoints(steps, harvest), watcher, batch=batch, **ends)
    assert len(harvest.models) == steps.size
    assert found.timed_out == (ended_by == "time")
    for (column, point), model in harvest.models.items():
        if point:
            np.testing.assert_array_equal(model, found.model[:, column])
            assert harvest.steps[column, point] == found.steps[column] < 10**9


# --- wide blocks ------------------------------------------------------------------------------------

N, GAMMA = 150, 0.4
RNG = np.random.default_rng(4)
X = RNG.normal(size=(N, 3))
CODES = np.digitize(X[:, 0] + 0.4 * RNG.normal(size=N), [-0.5, 0.5])
FOLDS = [(np.arange(0, 110), None), (np.arange(20, N), None)]
LAMS = np.logspace(-3, 0, 11)
WIDE = one_vs_rest(CODES, 3).over_folds(FOLDS).over_grid(LAMS)  # 66 columns


def textbook(column, rule, k, sampling, steps, bias, average):
    """The model of one column of `WIDE` by the loops of `naive`, and how close a margin came to its threshold."""
    labeling, row_set = WIDE.columns[column]
    rows = np.flatnonzero(WIDE.row_sets[:, row_set])
    K = make_kernel("rbf", gamma=GAMMA)(X[rows], X[rows]) + bias**2
    y, s = WIDE.labelings[rows, labeling].astype(float), np.ones(len(rows))
    stream, place = Stream(np.arange(N), sampling, 3), np.full(N, -1)
    place[rows] = np.arange(len(rows))
    order = place[np.concatenate([stream.take(N) for _ in range(2 * steps * k // N + 2)])]
    order, closest = order[order >= 0], np.inf
    if rule == "sdca":
        iterates = naive.sdca(K, y, s, WIDE.lam[column], order, steps)[0]
    else:
        iterates, _, closest = naive.pegasos(K, y, s, WIDE.lam[column], order, steps, k)
    model = np.zeros(N + (bias > 0))
    model[rows] = a = naive.average_of(iterates, average, rule, len(rows))
    if bias:
        model[-1] = bias * a.sum()
    return model, closest


@pytest.mark.parametrize("bias", [0.0, 0.7])
@pytest.mark.parametrize("sampling", ["cyclic", "shuffle", "replacement"])
@pytest.mark.parametrize(
    ("rule", "k", "average"), [("pegasos", 1, "weighted"), ("pegasos", 7, False), ("sdca", 1, "uniform")]
)
def test_wide_blocks_equal_the_textbook_loop(monkeypatch, rule, k, average, sampling, bias):
    monkeypatch.setattr(stepper, "DIRECT_PULL_RATE", -1.0)  # all steps in blocks
    assert WIDE.n_columns >= stepper.WIDE_COLUMNS
    assert N > stepper.PART
    rows, steps = KernelRows(X, make_kernel("rbf", gamma=GAMMA), bias), 250 // k
    assert rows.matrix is not None
    found = solve_with(rows, WIDE, rule, sampling=sampling, batch=k, average=average, max_steps=steps)
    compared = 0
    for column in range(0, WIDE.n_columns, 9):
        model, closest = textbook(column, rule, k, sampling, steps, bias, average)
        if closest > 1e-9:
            np.testing.assert_allclose(found.model[:, column], model, rtol=1e-8, atol=1e-10)
            compared += 1
    assert compared > 4


@pytest.mark.parametrize("part", [5, 64, 10**6])
@pytest.mark.parametrize("average", [False, "suffix"])
@pytest.mark.parametrize(("rule", "k"), [("pegasos", 1), ("pegasos", 7), ("sdca", 1)])
def test_parts_of_a_wide_block_do_not_matter(monkeypatch, rule, k, average, part):
    rows, schedule = KernelRows(X, make_kernel("rbf", gamma=GAMMA)), dict(batch=k, average=average, max_steps=600 // k)
    monkeypatch.setattr(stepper, "WIDE_COLUMNS", 10**6)
    expected = solve_with(rows, WIDE, rule, **schedule)
    monkeypatch.setattr(stepper, "WIDE_COLUMNS", 64)
    monkeypatch.setattr(stepper, "PART", part)
    found = solve_with(rows, WIDE, rule, **schedule)
    np.testing.assert_allclose(found.model, expected.model, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("orders", ["FFF", "CFF", "FCF", "FFC", "CCC"])
@pytest.mark.parametrize("shape", [(7, 65, 3), (1, 64, 1), (1, 1, 1), (300, 70, 130)], ids=str)
def test_products_are_added_in_place(shape, orders, dtype):
    m, n, k = shape
    parts = [RNG.normal(size=size).astype(dtype) for size in ((m, n), (m, k), (k, n))]
    target, left, right = (np.array(part, order=order) for part, order in zip(parts, orders, strict=True))
    expected = parts[0] + parts[1] @ parts[2]
    kept = target
    add_product(target, left, right)
    assert kept is target
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(target, expected, rtol=tolerance, atol=10 * tolerance)
    np.testing.assert_array_equal(left, parts[1])
    np.testing.assert_array_equal(right, parts[2])


@pytest.mark.parametrize(
    "dtypes", [(np.float64, np.float32, np.float32), (np.float64, np.float64, np.float32)], ids=str
)
def test_products_of_mixed_types_are_added_too(dtypes):
    target, left, right = (np.asfortranarray(RNG.normal(size=(70, 70)).astype(dtype)) for dtype in dtypes)
    expected = target + left @ right
    add_product(target, left, right)
    np.testing.assert_allclose(target, expected, rtol=1e-4, atol=1e-4)


def test_products_are_added_to_a_part_of_an_array():
    whole, left, right = np.zeros((6, 70)), np.ones((3, 2)), np.ones((2, 70))
    add_product(whole[::2], left, right)
    np.testing.assert_array_equal(whole, np.repeat([2.0, 0.0] * 3, 70).reshape(6, 70))
