"""How a grid is cut into parts for workers: what shares something stays together while there are parts enough."""

import pickle
import time
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from pegasos.search.deadline import Deadline
from pegasos.search.partition import MOST_PER_WORKER, cut, share_draws
from textbook import pegasos_classifier, pegasos_regressor

TEN_CLASSES = np.arange(100) % 10
LAMS = np.logspace(-5, 1, 64).tolist()


def candidates(estimator, grid):
    return {number: clone(estimator).set_params(**values) for number, values in enumerate(ParameterGrid(grid))}


def parts_of(estimator, grid, n_workers, y=TEN_CLASSES, n_folds=5, **fit_params):
    """Parts, each as the parameters of its candidates."""
    given = candidates(estimator, grid)
    parts = cut(given, y, fit_params, n_folds, n_workers)
    assert sorted(number for part in parts for number in part) == list(given)  # each candidate once
    assert all(given[number] is each for part in parts for number, each in part.items())
    return [list(part.values()) for part in parts]


def values(part, name):
    return {each.get_params()[name] for each in part}


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_one_group_is_cut_by_lam_into_two_even_parts_a_worker(n_workers):
    parts = parts_of(pegasos_classifier(), {"lam": LAMS}, n_workers)
    assert len(parts) == 2 * n_workers
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    ranges = sorted((min(values(part, "lam")), max(values(part, "lam"))) for part in parts)
    assert all(before[1] < after[0] for before, after in pairwise(ranges))


def test_parts_have_no_fewer_columns_than_are_worth_a_run():
    assert len(parts_of(pegasos_classifier(), {"lam": LAMS[:7]}, 50)) == 7  # 350 columns, and 7 lam
    assert len(parts_of(pegasos_classifier(), {"lam": LAMS}, 50, y=TEN_CLASSES < 3, n_folds=3)) == 192 // 32
    assert len(parts_of(pegasos_regressor(), {"C": LAMS[:9]}, 50, y=np.arange(100.0))) == 1
    assert len(parts_of(pegasos_regressor(), {"C": LAMS[:9]}, 50, y=np.zeros((100, 20)))) == 9
    assert len(parts_of(pegasos_classifier(multi_class="ovo"), {"lam": LAMS[:2]}, 50)) == 2


def test_read_points_of_one_run_stay_together():
    parts = parts_of(pegasos_classifier(), {"lam": LAMS, "max_iter": [1, 2, 5]}, 3)
    assert len(parts) == 6
    for lam in LAMS:
        assert sum(lam in values(part, "lam") for part in parts) == 1


@pytest.mark.parametrize(("n_workers", "n_parts"), [(1, 2), (2, 4), (4, 8)])
def test_kernels_of_one_product_are_cut_between_kernels_first(n_workers, n_parts):
    grid = {"gamma": [0.01 * k for k in range(1, 9)], "lam": LAMS[:3]}
    parts = parts_of(pegasos_classifier(kernel="rbf"), grid, n_workers)
    assert len(parts) == n_parts
    assert all(len(values(part, "gamma")) == 8 / n_parts for part in parts)


def test_kernels_of_one_product_stay_together_beside_enough_other_parts():
    grid = [
        {"kernel": ["linear"], "average": [False, "uniform", "suffix"], "lam": LAMS},
        {"kernel": ["rbf"], "gamma": [0.01, 0.1], "lam": LAMS[:8]},
        {"kernel": ["poly"], "degree": [2, 3], "lam": LAMS[:8]},
    ]
    parts = parts_of(pegasos_classifier(), grid, 2)
    with_kernels = [part for part in parts if values(part, "kernel") != {"linear"}]
    assert [len(part) for part in with_kernels] == [32]
    assert len(parts) == 4


def test_no_worker_makes_a_kernel_matrix_twice():
    assert len(parts_of(pegasos_classifier(kernel="rbf"), {"lam": LAMS}, 3)) == 3
    grid = {"lam": LAMS[:6], "average": [False, "uniform"], "gamma": [0.1, 1]}
    for part in parts_of(pegasos_classifier(kernel="rbf"), grid, 1):
        assert len(values(part, "gamma")) == 1
        assert len(values(part, "average")) == 2


def test_transformers_are_fitted_for_few_parts():
    pipeline = Pipeline([("pca", PCA()), ("svm", pegasos_classifier())])
    grid = {"pca__n_components": [2, 3], "svm__lam": LAMS, "svm__average": [False, "uniform"]}
    parts = parts_of(pipeline, grid, 2)
    assert len(parts) == 4
    assert all(len(values(part, "pca__n_components")) == 1 == len(values(part, "svm__average")) for part in parts)


@pytest.mark.parametrize("fit_params", [{}, {"weird": 1}], ids=str)
def test_candidates_that_are_fitted_alone_are_spread_one_by_one(fit_params):
    estimator = pegasos_classifier() if fit_params else LogisticRegression()
    assert len(parts_of(estimator, {"C": LAMS[:5]}, 2, **fit_params)) == 5


def test_very_many_small_parts_are_put_together_evenly():
    parts = parts_of(LogisticRegression(), {"C": np.linspace(1, 2, 5000).tolist()}, 2)
    assert len(parts) == 2 * MOST_PER_WORKER
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("y", [None, ["a", 1, None], np.zeros(0)], ids=str)
def test_targets_and_values_that_make_no_sense_are_for_the_workers_to_judge(y):
    parts_of(pegasos_classifier(), [{"lam": ["much", -1.0, None, 0.1]}, {"C": [[1], None]}], 2, y=y)


@pytest.mark.parametrize("pipeline", [False, True])
def test_candidates_without_a_seed_share_one_with_those_of_their_run(pipeline):
    estimator, prefix = pegasos_classifier(), ""
    if pipeline:
        estimator, prefix = Pipeline([("svm", estimator)]), "svm__"
    given = candidates(estimator, {f"{prefix}lam": LAMS[:4], f"{prefix}average": [False, "uniform"]})
    np.random.seed(0)  # noqa: NPY002
    share_draws(given, {})
    seeds = [each.get_params()[f"{prefix}random_state"] for each in given.values()]
    assert all(isinstance(seed, int | np.integer) for seed in seeds)
    assert seeds[0] != seeds[4]
    assert seeds == [seeds[0]] * 4 + [seeds[4]] * 4


def test_seeds_that_are_given_stay():
    generator = np.random.RandomState(3)
    given = {
        0: pegasos_classifier(random_state=5),
        1: pegasos_classifier(random_state=generator),
        2: LogisticRegression(random_state=None),
    }
    share_draws(given, {})
    assert [each.random_state for each in given.values()] == [5, generator, None]


def test_a_deadline_travels_as_the_seconds_that_are_left():
    whole = Deadline(100.0, time.perf_counter() - 60.0)
    sent = pickle.dumps(whole.within(0.5))
    arrived = pickle.loads(sent)
    assert 19.0 < arrived.left <= 20.0
    assert not arrived.passed
    arrived.cut()
    assert arrived.cut_short
    assert not whole.cut_short
    assert pickle.loads(pickle.dumps(Deadline(1.0, time.perf_counter() - 2.0))).passed
    assert pickle.loads(pickle.dumps(Deadline(None, 0.0))).share(1.0) is None
