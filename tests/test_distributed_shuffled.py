"""Rows that change workers: the same rows and dual variables afterwards, sorted rows, and the tail of many workers."""

import itertools
import os

import numpy as np
import pytest
from scipy import sparse

import pegasos
from distributed_fits import assert_same_problem, chunked, n_solvers, placed
from pegasos.distributed import PegasosClassifier, PegasosRegressor, exchange
from pegasos.distributed.cocoa import CocoaSettings, CocoaSolver
from pegasos.distributed.partitions import MOST_ROWS, Partition
from pegasos.distributed.survey import DataSurvey, SurveyRequest, survey_partition
from pegasos.solver.clock import Clock

LAM = 1e-3
needs_data = pytest.mark.skipif(not os.environ.get("PEGASOS_DATA"), reason="PEGASOS_DATA is not set")


def never():
    return False


@pytest.fixture
def sorted_digits(digits):
    order = np.argsort(digits[1], kind="stable")
    return digits[0][order], digits[1][order]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_dealing_keeps_each_row_with_its_dual_variables_target_and_weight(digits, kind):
    X, y = digits[0][:300], digits[1][:300]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    svm = PegasosClassifier(lam=LAM)
    workers, plan = placed(svm, kind(X), y, weights, solvers=3)
    solver = CocoaSolver(workers, plan, CocoaSettings(tol=1e-9, max_rounds=2, local_passes=1), Clock(None))
    solver.run()
    step = np.full(plan.n_columns, 0.5)
    before = dict(zip(*workers.export(step, never)))
    request = exchange.DealRequest(solver.n_requests, step, 7)
    assert workers.deal(request, never)
    after = dict(zip(*workers.export(np.ones(plan.n_columns), never)))
    assert before.keys() == after.keys()
    for id in before:
        np.testing.assert_array_equal(before[id], after[id])
    origin = np.concatenate([local.ids // MOST_ROWS for local in workers.solvers])
    assert len(np.unique(origin[: workers.solvers[0].n_rows[0]])) == 3
    cuts = np.linspace(0, 300, 4).astype(int)
    for local in workers.solvers:
        rows = cuts[local.ids // MOST_ROWS] + local.ids % MOST_ROWS
        found = local.rows.X.toarray() if sparse.issparse(local.rows.X) else local.rows.X
        np.testing.assert_array_equal(found, X[rows])
        np.testing.assert_array_equal(local.y, y[rows])
        np.testing.assert_array_equal(local.weights, weights[rows])
    old = solver.w.copy()
    solver.step_size[:] = 1.0
    solver._sum_model()  # the dual variables stand for the model they stood for: halves of the last change
    assert np.isfinite(old).all()
    duals = [exchange.local_solver.held((workers.token, n)) for n in range(3)]
    total = sum(local.model_sums(each).sums for local, each in zip(workers.solvers, duals))
    np.testing.assert_allclose(solver.w, total / plan.shared.per_row, rtol=1e-9, atol=1e-12)
    workers.close()


@pytest.mark.parametrize("shuffle", ["auto", True, False])
def test_sorted_rows_change_workers_before_the_first_round(sorted_digits, shuffle):
    X, y = sorted_digits
    with n_solvers(4):
        model = PegasosClassifier(lam=LAM, tol=0.5, max_rounds=200, shuffle=shuffle, random_state=0)
        found = model.fit(chunked(X, 4), y)
    assert (found.n_shuffles_ >= 1) == (shuffle is not False)
    assert found.converged_.all()


def test_mixed_rows_stay_where_they_are_while_the_gap_falls(digits):
    X, y = digits
    order = np.random.default_rng(0).permutation(len(y))
    with n_solvers(4):
        found = PegasosClassifier(lam=0.1, tol=0.05, random_state=0).fit(chunked(X[order], 4), y[order])
    assert found.n_shuffles_ == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sorted_rows_take_far_fewer_rounds_with_a_shuffle(sorted_digits):
    X, y = sorted_digits
    y = np.where(y < 5, 1, -1)
    rounds = {}
    for shuffle in (True, False):
        with n_solvers(4):
            model = PegasosClassifier(lam=1e-3, tol=0.1, max_rounds=60, shuffle=shuffle, random_state=0)
            rounds[shuffle] = model.fit(chunked(X, 4), y).n_rounds_
    assert rounds[True] < rounds[False] / 2


@pytest.mark.parametrize("scheme", ["crammer_singer", "ovo"])
def test_schemes_of_classes_reach_their_optimum_with_a_shuffle(sorted_digits, scheme):
    X, y = sorted_digits[0][:700], sorted_digits[1][:700]
    with n_solvers(3):
        found = PegasosClassifier(lam=0.02, multi_class=scheme, shuffle=True, random_state=0).fit(chunked(X, 6), y)
    expected = pegasos.PegasosClassifier(lam=0.02, multi_class=scheme, solver="sdca", average=False, tol=1e-4).fit(X, y)
    assert found.n_shuffles_ >= 1
    assert_same_problem(found, expected)


def test_landmarks_and_targets_go_along(digits):
    X, y = digits[0][:600], digits[1][:600].astype(float)
    order = np.argsort(y)
    params = dict(kernel="rbf", gamma=0.1, lam=1e-3, n_landmarks=80, random_state=0)
    with n_solvers(3):
        found = PegasosRegressor(**params, tol=1e-2, shuffle=True).fit(chunked(X[order], 3), y[order])
    assert found.n_shuffles_ >= 1
    assert found.converged_.all()
    assert found.score(X, y) > 0.7


def test_partitions_that_differ_are_told_from_chance(digits):
    X, y = digits

    def differ(rows, labels, classification=True):
        request = SurveyRequest(classification)
        edges = np.linspace(0, len(labels), 7).astype(int)
        parts = [Partition(rows[a:b], labels[a:b], None) for a, b in itertools.pairwise(edges)]
        return DataSurvey([survey_partition(part, request) for part in parts]).differ()

    mixed = np.random.default_rng(1).permutation(len(y))
    assert not differ(X[mixed], y[mixed])
    by_class, by_feature = np.argsort(y, kind="stable"), np.argsort(X.sum(axis=1))
    assert differ(X[by_class], y[by_class])
    assert differ(X[by_feature], y[by_feature], classification=False)
    assert not differ(X[mixed], y[mixed] * 1.0, classification=False)


def test_groups_have_all_workers_once_and_are_bounded():
    for count in (2, 16, 17, 100):
        groups = exchange.groups_of(count, 3)
        assert sorted(n for group in groups for n in group) == list(range(count))
        assert max(map(len, groups)) <= exchange.MOST_IN_GROUP
    assert [exchange.times_to_mix(count) for count in (2, 16, 17, 256, 257)] == [1, 1, 2, 2, 3]


def test_few_rows_are_not_dealt_out(binary):
    X, y = binary[0][:12], binary[1][:12]
    workers, plan = placed(PegasosClassifier(lam=LAM), X, y, solvers=6)
    assert not workers.deal(exchange.DealRequest(0, np.ones(plan.n_columns), 0), never)
    workers.close()


@pytest.mark.data
@needs_data
@pytest.mark.parametrize("solvers", [2, 8, 16])
def test_rcv1_ends_within_tol_of_its_own_optimum_in_few_rounds(solvers):
    rcv1 = pegasos.datasets.load("rcv1")
    best = pegasos.PegasosClassifier(lam=1e-4, tol=1e-5, random_state=0).fit(rcv1.X, rcv1.y)
    for tol, most in ((1e-2, 30), (1e-3, 60)):
        with n_solvers(solvers):
            found = PegasosClassifier(lam=1e-4, tol=tol, random_state=0).fit(rcv1.X, rcv1.y)
        assert found.objective_[0] <= (1 + tol) * best.objective_[0]
        assert found.n_rounds_ <= most


@pytest.mark.data
@needs_data
def test_covtype_in_the_order_of_its_file_converges():
    covtype = pegasos.datasets.load("covtype")
    rows = covtype.X[:60_000] - covtype.X.mean(axis=0)
    rows = (rows / np.maximum(covtype.X.std(axis=0), 1e-9)).astype(np.float32)
    labels = np.where(covtype.y[:60_000] == 2, 1, -1)
    with n_solvers(2):
        found = PegasosClassifier(lam=1e-4, tol=1e-2, max_rounds=80, random_state=0).fit(chunked(rows, 2), labels)
    assert found.n_shuffles_ >= 1
    assert found.converged_.all()
