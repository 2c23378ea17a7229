"""What runs by default is enough: chosen cases hold every value or pair, and every rule is of a test that exists."""

import ast
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace

import pytest

import tiers

GRIDS = {
    "two": dict(kind=["dense", "csr", "rbf"], weighted=[False, True]),
    "many": dict(kind=range(9), scheme=["ovr", "ovo"], weighted=[False, True], bias=[0.0, 0.7]),
    "values without a hash": dict(params=[{}, {"lam": 1}, {"lam": 2}], data=[[1], [2]]),
    "long": dict(a=range(5), b=range(4), c=range(3), d=range(2)),
}


def cases_of(grid):
    return [dict(zip(grid, given)) for given in product(*grid.values())]


def found(cases, strength):
    """All combinations of so many values of different arguments."""
    return {
        each for case in cases for each in combinations([(name, str(value)) for name, value in case.items()], strength)
    }


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS.keys())
@pytest.mark.parametrize("choice, strength", [(tiers.values, 1), (tiers.pairs, 2)])
def test_every_value_and_every_pair_of_values_stays(grid, choice, strength):
    cases = cases_of(grid)
    places = choice(cases)
    assert found([cases[place] for place in places], strength) == found(cases, strength)
    assert places == choice(cases), "the same in every process"
    largest = sorted((len(given) for given in grid.values()), reverse=True)
    assert len(places) <= 2 * largest[0] * (largest[1] if strength == 2 else 1)


def test_values_are_met_about_equally_often():
    cases = cases_of(GRIDS["many"])
    chosen = [cases[place] for place in tiers.values(cases)]
    assert len(chosen) == 9
    for name in ("scheme", "weighted", "bias"):
        assert 4 <= sum(case[name] == GRIDS["many"][name][0] for case in chosen) <= 5


def test_values_that_stand_in_a_list_rather_than_a_product_stay_too():
    cases = [dict(rows=rows, rule=rule) for rows, rule in [("a", 1), ("a", 2), ("b", 2), ("b", 3), ("c", 3)]]
    assert found([cases[place] for place in tiers.values(cases)], 1) == found(cases, 1)
    assert tiers.pairs(cases) == set(range(5))


def test_tests_without_arguments_stay():
    assert tiers.pairs([{}]) == tiers.values([{}]) == tiers.by_default("test_none.py::test_none", [{}]) == {0}


def test_where_keeps_the_values_that_are_named():
    assert tiers.where(seed=(1, 3))([dict(seed=seed, loss=loss) for seed in range(4) for loss in "ab"]) == {2, 3, 6, 7}


def test_without_leaves_out_the_values_that_are_named():
    cases = [dict(seed=seed, loss=loss) for seed in range(4) for loss in "ab"]
    assert tiers.without(seed=(1, 3))(cases) == {0, 1, 4, 5}


def test_every_check_stays_with_some_estimator_and_every_estimator_with_some_checks():
    checks = [SimpleNamespace(func=SimpleNamespace(__name__=f"check_{number}")) for number in range(9)]
    cases = [dict(estimator=name, check=check) for name in ("One()", "Two()", "Three()", "Four()") for check in checks]
    cases.append(dict(estimator="Four()", check=SimpleNamespace(func=SimpleNamespace(__name__="check_of_four"))))
    places = tiers.checks_of("Two()")(cases)
    kept = [(cases[place]["estimator"], cases[place]["check"].func.__name__) for place in places]
    assert {("Two()", f"check_{number}") for number in range(9)} <= set(kept)
    assert ("Four()", "check_of_four") in kept
    for name in ("One()", "Three()", "Four()"):
        assert 3 <= sum(estimator == name for estimator, _ in kept) <= 4
    with pytest.raises(AssertionError, match="Five"):
        tiers.checks_of("Five()")(cases)


@pytest.mark.parametrize("name", [*tiers.AT_LENGTH, *tiers.CHOICES])
def test_every_rule_is_of_a_test_that_exists(name):
    file, _, function = name.partition("::")
    tree = ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8"))
    assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_no_test_has_two_rules():
    names = [*tiers.AT_LENGTH, *(name for _, _, names in tiers.THINNED for name in names)]
    assert len(names) == len(set(names))
