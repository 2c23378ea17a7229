"""Rounds of local solvers in threads: each equals the textbook, the gap is true, and all losses reach the optimum."""

import os
import re
import signal
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils import check_random_state

import naive
import naive_crammer_singer
import pegasos
from conftest import classes_problem
from distributed_fits import assert_same_problem, chunked, n_solvers, placed
from naive_rounds import dual_at, features, round_of
from pegasos.distributed import PegasosClassifier, PegasosRegressor, local_solver
from pegasos.distributed.cocoa import CocoaSettings, CocoaSolver
from pegasos.distributed.local_solver import seed_of
from pegasos.distributed.workers import ThreadWorkers, WorkersLost, adjacent_groups, balanced_placement
from pegasos.losses import Loss
from pegasos.problem.columns import one_vs_rest
from pegasos.problem.sampling import Stream
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows, SparseRows
from pegasos.rules.column import Rule
from pegasos.solver.clock import Clock
from solving import solve

LAM = 0.02
SCHEMES = {
    "hinge": dict(),
    "squared hinge": dict(loss="squared_hinge"),
    "log loss": dict(loss="log_loss"),
    "ovo": dict(multi_class="ovo"),
    "Crammer-Singer": dict(multi_class="crammer_singer"),
    "balanced": dict(class_weight="balanced"),
    "balanced ovo": dict(multi_class="ovo", class_weight="balanced"),
    "classes weigh": dict(class_weight={0: 1.0, 1: 2.0, 2: 0.5, 3: 0.0}),
    "C": dict(C=0.01, lam=None),
    "no intercept": dict(fit_intercept=False),
}


def rounds_of(svm, X, y, weights=None, *, solvers, settings, chunks=None):
    """Rounds over thread workers, and all coefficients in the order of the rows once they are done."""
    workers, plan = placed(svm, X, y, weights, solvers=solvers, chunks=chunks)
    rounds = CocoaSolver(workers, plan, settings, Clock(None))
    outcome = rounds.run()
    ids, alpha = workers.export(np.ones(plan.n_columns), lambda: False)
    workers.close()
    return outcome, alpha[np.argsort(ids)], plan


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
def test_one_round_of_one_local_solver_is_a_pass_of_the_solver(kind, loss):
    X, y = classes_problem(2)
    svm = PegasosClassifier(lam=LAM, loss=loss, max_rounds=1, local_passes=1, tol=1e-9, random_state=3)
    with n_solvers(1), pytest.warns(ConvergenceWarning):
        svm.fit(kind(X), y)
    rows = SparseRows(kind(X), 1.0) if sparse.issparse(kind(X)) else DenseRows(X, 1.0)
    seed = seed_of(check_random_state(3).randint(np.iinfo(np.int32).max), 1, 0)
    schedule = Schedule(seed=seed, max_passes=1, average=False)
    problems = one_vs_rest(y, 2).with_lam(LAM)
    expected = solve(rows, problems, Rule.SDCA, schedule, loss=Loss[loss.upper()])
    found = np.append(svm.coef_, svm.intercept_)
    np.testing.assert_allclose(found, expected.model[:, 0], rtol=1e-12, atol=1e-14)
    assert svm.objective_ == pytest.approx(expected.certificate.objective, rel=1e-12)
    assert svm.dual_gap_ == pytest.approx(expected.certificate.gap, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss", "epsilon_insensitive"])
@pytest.mark.parametrize("solvers", [1, 2, 3])
def test_a_round_equals_the_textbook_round(loss, solvers):
    X, y = classes_problem(2)
    y = np.where(y == 1, 1.0, -1.0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    if loss == "epsilon_insensitive":
        y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3
        svm = PegasosRegressor(lam=LAM, epsilon=naive.EPSILON)
    else:
        svm = PegasosClassifier(lam=LAM, loss=loss)
    settings = CocoaSettings(tol=1e-12, max_rounds=1, local_passes=1, seed=7)
    outcome, alpha, _ = rounds_of(svm, X, y, weights, solvers=solvers, settings=settings)
    s, F = weights / weights.mean(), features(X, 1.0)
    groups = np.array_split(np.arange(len(y)), solvers)
    orders = [
        Stream(np.arange(len(group)), "shuffle", seed_of(7, 1, k)).take(len(group)) for k, group in enumerate(groups)
    ]
    zeros = np.zeros(len(y)), np.zeros(F.shape[1])
    expected, changes = round_of(F, y, s, LAM, groups, orders, *zeros, solvers, loss)
    np.testing.assert_allclose(alpha[:, 0], expected, atol=1e-8)
    np.testing.assert_allclose(outcome.model[:, 0], np.sum(changes, axis=0), atol=1e-8)
    assert outcome.certificate.dual == pytest.approx(dual_at(F, y, s, LAM, expected, loss), abs=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_is_the_gap_of_the_model_and_the_coefficients(loss, weighted):
    X, y = classes_problem(2)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(y)) if weighted else None
    svm = PegasosClassifier(lam=LAM, loss=loss)
    outcome, alpha, _ = rounds_of(svm, X, y, weights, solvers=3, chunks=7, settings=CocoaSettings(tol=1e-2))
    signs, F = np.where(y == 1, 1.0, -1.0), features(X, 1.0)
    s = np.ones(len(y)) if weights is None else weights / weights.mean()
    w = outcome.model[:, 0].astype(np.float64)
    objective = LAM / 2 * w @ w + np.mean(s * naive.LOSSES[loss].value(signs, F @ w))
    dual = naive.dual(F @ F.T, signs, s, LAM, signs * alpha[:, 0], loss)
    assert outcome.certificate.objective == pytest.approx(objective, rel=1e-12)
    assert outcome.certificate.dual == pytest.approx(dual, rel=1e-12)
    assert objective - dual <= 1e-2 * naive.zero_objective(signs, s, loss)


def test_the_certificate_of_crammer_singer_is_that_of_the_group():
    X, y = classes_problem(4)
    svm = PegasosClassifier(lam=LAM, multi_class="crammer_singer")
    outcome, alpha, _ = rounds_of(svm, X, y, solvers=3, chunks=5, settings=CocoaSettings(tol=1e-2))
    F = features(X, 1.0)
    w, s = outcome.model.astype(np.float64), np.ones(len(y))
    expected = naive_crammer_singer.dual(F @ F.T, y, s, LAM, alpha)
    assert outcome.certificate.dual == pytest.approx(np.full(4, expected), rel=1e-12)
    scores = F @ w
    losses = np.max(scores + 1.0 - np.eye(4)[y], axis=1) - scores[np.arange(len(y)), y]
    assert outcome.certificate.objective == pytest.approx(LAM / 2 * np.sum(w**2) + losses.mean(), rel=1e-12)


@pytest.mark.parametrize(
    "scheme, kind",
    [(scheme, np.asarray) for scheme in SCHEMES]
    + [(scheme, sparse.csr_matrix) for scheme in ("hinge", "balanced ovo", "Crammer-Singer")],
)
def test_every_scheme_and_loss_comes_within_a_hundredth_of_the_optimum(digits, scheme, kind):
    X, y = digits[0][:600], digits[1][:600]
    some = y < 4
    X, y = X[some], y[some]
    params = dict(lam=0.3) | SCHEMES[scheme]
    with n_solvers(4):
        found = PegasosClassifier(**params, tol=1e-3, random_state=0).fit(chunked(kind(X), 6), y)
    expected = pegasos.PegasosClassifier(**params, solver="sdca", average=False, tol=1e-4, random_state=0).fit(X, y)
    assert (found.objective_ <= 1.01 * expected.objective_).all()
    assert_same_problem(found, expected)
    assert found.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_array_equal(found.decision_function(X).shape, expected.decision_function(X).shape)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
def test_real_sparse_rows_come_within_a_hundredth_of_the_optimum(a9a, loss):
    X, y = a9a[0][:8000], a9a[1][:8000]
    params = dict(lam=1e-3, loss=loss)
    with n_solvers(4):
        found = PegasosClassifier(**params, tol=2e-3, random_state=0).fit(chunked(X, 8), y)
    expected = pegasos.PegasosClassifier(**params, solver="sdca", average=False, tol=1e-5, random_state=0).fit(X, y)
    assert (found.objective_ <= 1.01 * expected.objective_).all()
    assert_same_problem(found, expected)
    assert (found.dual_gap_ <= 2e-3).all()


@pytest.mark.parametrize("scheme", ["hinge", "log loss", "Crammer-Singer", "balanced ovo"])
def test_columns_without_rows_on_a_worker_are_left_out_there(multiclass, scheme):
    X, y = multiclass
    order = np.argsort(y)
    X, y = X[order], y[order]
    params = dict(lam=LAM) | SCHEMES[scheme]
    with n_solvers(8):
        found = PegasosClassifier(**params, tol=2e-3, random_state=0).fit(chunked(X, 8), y)
    expected = pegasos.PegasosClassifier(**params, solver="sdca", average=False, tol=1e-4, random_state=0).fit(X, y)
    assert_same_problem(found, expected)


@pytest.mark.parametrize("params", [dict(), dict(epsilon=20.0, C=0.1), dict(fit_intercept=False, lam=0.1)])
def test_regression_of_several_targets_with_weights(params):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), np.column_stack([y, -y / 10])
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    with n_solvers(3):
        found = PegasosRegressor(**params, tol=1e-3, random_state=0).fit(chunked(X, 5), chunked(y, 5), weights)
    expected = pegasos.PegasosRegressor(**params, solver="sdca", average=False, tol=1e-6).fit(X, y, weights)
    assert_same_problem(found, expected, slack=1e-3)
    assert (found.objective_ <= 1.01 * expected.objective_).all()
    assert found.predict(X).shape == y.shape


def test_rows_of_weight_zero_are_as_if_they_were_not_there(binary):
    X, y = binary
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    labels = np.where(weights == 0, 7, y)  # a class that only such rows have is none
    params = dict(lam=LAM, tol=1e-4, random_state=0)
    with n_solvers(2):
        found = PegasosClassifier(**params).fit(chunked(X, 4), labels, weights)
        expected = PegasosClassifier(**params).fit(X[weights > 0], y[weights > 0])
    assert found.classes_.tolist() == [0, 1]
    assert_same_problem(found, expected)


@pytest.mark.parametrize("how", ["uniform", "k-means++"])
def test_landmarks_are_a_sample_over_all_partitions(digits, how):
    X, y = digits
    params = dict(kernel="rbf", gamma=0.5, lam=1e-3, n_landmarks=60, landmarks=how, random_state=0)
    with n_solvers(3):
        found = PegasosClassifier(**params, tol=1e-3).fit(chunked(X, 6), y)
    assert found.support_.size <= 60
    assert (np.diff(found.support_) > 0).all()
    np.testing.assert_array_equal(found.support_vectors_, X[found.support_])
    assert found.n_support_.sum() == found.support_.size
    np.testing.assert_array_equal(found.n_support_, np.bincount(y[found.support_], minlength=10))
    assert found.score(X, y) > 0.9
    assert np.ptp(np.digitize(found.support_, [600, 1200])) == 2


def test_gamma_is_scaled_by_the_rows_of_all_partitions(digits):
    X, y = digits
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    params = dict(kernel="rbf", lam=1e-2, n_landmarks=40, random_state=0)
    found = PegasosClassifier(**params, max_rounds=1, tol=1.0).fit(chunked(X, 5), y, weights)
    expected = pegasos.PegasosClassifier(**params, max_iter=1).fit(X, y, weights)
    assert found._kernel.gamma == pytest.approx(expected._kernel.gamma, rel=1e-9)


def test_regression_with_landmarks_takes_the_mean_off(digits):
    X, y = digits[0][:400], digits[1][:400] + 100.0
    params = dict(kernel="rbf", gamma=0.5, C=1.0, n_landmarks=50, random_state=0)
    with n_solvers(2):
        found = PegasosRegressor(**params, tol=1e-2).fit(chunked(X, 4), y)
    assert found.intercept_ == pytest.approx([y.mean()])
    assert found.score(X, y) > 0.6


# --- combination ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["hinge", "squared hinge", "log loss", "Crammer-Singer", "no intercept"])
@pytest.mark.parametrize("adaptive", [True, False])
def test_the_dual_objective_never_falls(digits, scheme, adaptive):
    X, y = digits
    svm = PegasosClassifier(**dict(lam=1e-3) | SCHEMES[scheme])
    workers, plan = placed(svm, X, y, solvers=8)
    rounds = CocoaSolver(workers, plan, CocoaSettings(tol=1e-4, max_rounds=12, seed=0, adaptive=adaptive), Clock(None))
    duals, fractions = [], []
    evaluate, aggregate = rounds._evaluate, rounds._aggregate

    def evaluated(found):
        evaluate(found)
        squares = rounds._grouped(np.einsum("ij,ij->j", rounds.w, rounds.w))
        duals.append(rounds._grouped(found.duals) / plan.shared.n_rows - plan.shared.lam / 2 * squares)

    def aggregated(found):
        aggregate(found)
        fractions.append(rounds.step_size.copy())

    rounds._evaluate, rounds._aggregate = evaluated, aggregated
    rounds.run()
    workers.close()
    steps = np.diff(duals, axis=0)
    assert (steps >= -1e-12).all()
    assert (np.min(fractions) < 1) == adaptive or scheme in ("log loss",)  # a bold round was too bold now and then


def test_fewer_rounds_than_by_adding_up_with_sigma_of_k(digits):
    X, y = digits
    svm = PegasosClassifier(lam=1e-3)
    needed = {}
    for adaptive in (True, False):
        settings = CocoaSettings(tol=0.1, max_rounds=200, seed=0, adaptive=adaptive)  # a gap of about 0.01
        needed[adaptive] = rounds_of(svm, X, y, solvers=8, settings=settings)[0].rounds
    assert needed[True] < needed[False]


def test_columns_within_tol_leave(digits):
    X, y = digits
    svm = PegasosClassifier(lam=1e-3)
    workers, plan = placed(svm, X, y, solvers=3)
    asked = []
    total = workers.total

    def counted(function, request, stop):
        asked.append(int(request.active.sum()))
        return total(function, request, stop)

    workers.total = counted
    outcome = CocoaSolver(workers, plan, CocoaSettings(tol=1e-2, seed=0), Clock(None)).run()
    workers.close()
    assert asked[0] == 10
    assert sorted(asked[:-1], reverse=True) == asked[:-1]
    assert asked[-2] < 10
    assert (outcome.certificate.relative_gap <= 1e-2).all()


def test_the_same_seed_and_partitions_give_the_same_model(digits):
    X, y = digits
    fits = []
    for _ in range(2):
        with n_solvers(3):
            fits.append(PegasosClassifier(lam=LAM, random_state=5).fit(chunked(X, 6), y))
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert [record["gap"] for record in fits[0].history_] == [record["gap"] for record in fits[1].history_]


def test_float32_rows_are_proven_without_the_rounding_of_rounds(digits):
    X, y = digits[0].astype(np.float32), digits[1]
    svm = PegasosClassifier(lam=LAM)
    outcome, alpha, plan = rounds_of(svm, X, y, solvers=4, settings=CocoaSettings(tol=1e-3))
    assert outcome.model.dtype == np.float32
    F = features(X, 1.0)
    w = F.T @ alpha.astype(np.float64) / plan.shared.per_row
    signs = np.where(y[:, None] == np.arange(10), 1.0, -1.0)
    dual = (signs * alpha).sum(axis=0) / len(y) - plan.shared.lam / 2 * (w**2).sum(axis=0)
    np.testing.assert_allclose(outcome.certificate.dual, dual, atol=1e-7)


# --- workers that are lost, without a cluster -------------------------------------------------------------------------


class Losing(ThreadWorkers):
    """Thread workers that lose one local solver at the given questions."""

    def __init__(self, n_solvers, lost_at):
        super().__init__(n_solvers)
        self.lost_at, self.questions = lost_at, 0

    def total(self, function, request, stop):
        self.questions += 1
        if self.questions in self.lost_at:
            super().total(function, request, stop)  # the others have gone on
            del local_solver._dual_variables[self.token, 1]
            raise WorkersLost
        return super().total(function, request, stop)

    def recover(self):
        local_solver.begin(self.solvers[1], (self.token, 1))


@pytest.mark.parametrize(
    "scheme, lost_at",
    [("hinge", {1}), ("hinge", {3, 4}), ("hinge", {3, 5, 9}), ("squared hinge", {3}), ("Crammer-Singer", {3})],
)
def test_after_a_loss_the_same_gap_is_certified(digits, scheme, lost_at):
    X, y = digits[0][:300], digits[1][:300]
    svm = PegasosClassifier(**dict(lam=LAM) | SCHEMES[scheme])
    placed_workers, plan = placed(svm, X, y, solvers=3)
    workers = Losing(3, lost_at)
    workers.solvers = placed_workers.solvers
    for number, solver in enumerate(workers.solvers):
        local_solver.begin(solver, (workers.token, number))
    outcome = CocoaSolver(workers, plan, CocoaSettings(tol=1e-3, seed=1), Clock(None)).run()
    workers.close()
    placed_workers.close()
    assert outcome.recoveries == len(lost_at)
    assert (outcome.certificate.relative_gap <= 1e-3).all()
    expected = pegasos.PegasosClassifier(
        **dict(lam=LAM) | SCHEMES[scheme], solver="sdca", average=False, tol=1e-6, random_state=0
    ).fit(X, y)
    assert (outcome.certificate.dual <= expected.objective_ + 1e-9).all()
    assert (outcome.certificate.objective >= expected.objective_ - expected.dual_gap_ - 1e-9).all()


def test_a_request_that_does_not_follow_is_refused(binary):
    workers, plan = placed(PegasosClassifier(lam=LAM), *binary, solvers=1)
    rounds = CocoaSolver(workers, plan, CocoaSettings(), Clock(None))
    request = rounds._request(1.0)
    key = (workers.token, 0)
    assert local_solver.run_round(workers.solvers[0], key, request) is not None
    assert local_solver.run_round(workers.solvers[0], key, request) is None  # a task that ran twice
    assert local_solver.run_round(workers.solvers[0], "nobody", request) is None
    workers.close()
    assert not [key for key in local_solver._dual_variables if key[0] == workers.token]


# --- ends -------------------------------------------------------------------------------------------------------------


def test_a_missed_tol_is_a_warning_with_the_gap_reached(digits):
    X, y = digits
    svm = PegasosClassifier(lam=1e-4, max_rounds=2, tol=1e-6, random_state=0)
    with n_solvers(2), pytest.warns(ConvergenceWarning, match=r"gap is .*, above tol=1e-06, after 2 rounds"):
        svm.fit(X, y)
    assert svm.n_rounds_ == 2
    assert [record["round"] for record in svm.history_] == [0, 1, 2]
    assert svm.dual_gap_.max() == pytest.approx(svm.history_[-1]["gap"])


def test_the_history_says_what_a_round_sends(digits):
    X, y = digits
    with n_solvers(3):
        svm = PegasosClassifier(lam=LAM, random_state=0).fit(chunked(X, 6), y)
    first = svm.history_[0]
    assert first["objective"] == pytest.approx(1.0)
    assert first["bytes"] == 2 * 3 * 65 * 10 * 8
    assert {"round", "step", "objective", "gap", "seconds", "bytes"} == set(first)
    assert svm.t_.shape == (10,)
    assert svm.n_iter_ == svm.t_.max()


def test_time_ends_the_rounds(digits):
    X, y = digits
    svm = PegasosClassifier(lam=1e-6, tol=1e-9, max_time=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="above tol"):
        svm.fit(X, y)
    assert np.isfinite(svm.dual_gap_).all()


def test_verbose_prints_a_line_for_each_round(digits, capsys):
    X, y = digits
    svm = PegasosClassifier(lam=1e-3, random_state=0, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == svm.n_rounds_ + 1
    assert re.match(r"\[PegasosClassifier\] round 1: mean objective 0\.\d+, largest gap [\d.]+, [\d.]+ s", lines[1])


def test_ctrl_c_keeps_the_model_reached(digits, monkeypatch):
    X, y = digits
    record = CocoaSolver._record

    def interrupting(self):
        record(self)
        if self.rounds == 2:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(CocoaSolver, "_record", interrupting)
    svm = PegasosClassifier(lam=1e-5, tol=1e-8, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match="Interrupted after 3 rounds: the model is the one reached, with a relative gap"
    ):
        svm.fit(X, y)
    assert svm.score(X, y) > 0.9
    assert np.isfinite(svm.dual_gap_).all()


def test_a_fit_that_fails_leaves_the_model_before_it(binary):
    X, y = binary
    svm = PegasosClassifier(lam=LAM, random_state=0).fit(X, y)
    before = svm.coef_.copy()
    with pytest.raises(ValueError, match="NaN or infinity"):
        svm.fit(np.full_like(X, np.nan), y)
    np.testing.assert_array_equal(svm.coef_, before)


# --- which worker has which partition ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes, count, expected",
    [
        ([5, 5, 5, 5], 2, [[0, 1], [2, 3]]),
        ([9, 1, 1, 1], 2, [[0], [1, 2, 3]]),
        ([1, 1, 1, 9], 3, [[0, 1], [2], [3]]),
        ([0, 4, 0, 4], 4, [[1], [3]]),
        ([3], 5, [[0]]),
    ],
)
def test_adjacent_groups_share_partitions_evenly(sizes, count, expected):
    assert adjacent_groups(sizes, count) == expected


@pytest.mark.parametrize(
    "holders, sizes, expected",
    [
        (["a", "b", "a", "b"], [5, 5, 5, 5], ["a", "b", "a", "b"]),  # where they are
        (["a", "a", "a", "a"], [5, 5, 5, 5], ["b", "b", "a", "a"]),  # else one worker would have nothing
        (["a", "a", None, "gone"], [4, 4, 4, 4], ["a", "a", "b", "b"]),
        (["a", "a"], [9, 1], ["a", "b"]),
        (["a"], [9], ["a"]),
    ],
)
def test_partitions_stay_where_they_are_unless_that_is_uneven(holders, sizes, expected):
    assert balanced_placement(holders, sizes, ["a", "b"]) == expected


def test_warnings_are_no_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with n_solvers(2):
            PegasosClassifier(lam=LAM, random_state=0).fit(*classes_problem(3))
