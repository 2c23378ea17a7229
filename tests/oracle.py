"""Whether a wide solve equals separate textbook runs on the same draws: model, objective, gap and counts."""

import numpy as np
import pytest

import naive
import naive_crammer_singer
from pegasos.backends import cpu
from pegasos.problem.schedule import Schedule
from pegasos.rules.column import Rule
from problems_for_oracle import KINDS, LOSSES, SEED, N, column, data, problems_of, rows_of, textbook, textbook_group
from solving import solve

STEPS = 77
BLOCKS = (None, 1, 3, 64, 1000)
AVERAGES = (False, "uniform", "weighted", "suffix")
SAMPLINGS = ("shuffle", "replacement", "cyclic")
SCHEMES = {
    "squared_hinge": "ovo",
    "log_loss": "ovr",
    "epsilon_insensitive": "regression",
    "squared_epsilon_insensitive": "regression",
}
RULES = [("pegasos", k, project) for k in (1, 7, "all") for project in (False, True)] + [("sdca", 1, False)]


def wide_solve(
    kind, scheme, weighted, bias, sampling, rule, k, project, average, block=None, dtype=np.float64, loss="hinge",
    backend=cpu, steps=STEPS, only=None,
):  # fmt: skip
    """The rows and the solution of all columns, or of one that is the `only` one."""
    schedule = Schedule(
        sampling=sampling,
        seed=SEED,
        batch=None if k == "all" else k,
        max_steps=steps,
        max_passes=50,
        average=average,
        project=project,
        block=block,
        count_violations=True,
    )
    rows = rows_of(kind, bias, dtype, backend)
    rules = {"pegasos": Rule.PEGASOS, "sdca": Rule.SDCA}
    problems = problems_of(scheme, weighted) if only is None else problems_of(scheme, weighted).select([only])
    return rows, solve(rows, problems, rules[rule], schedule, loss=LOSSES[loss])


def expected_state(rows, members, a, bias):
    """Coefficients `a` of the rows `members` as the state holds a model, one column or several."""
    if rows.dual:
        expected = np.zeros((N, *a.shape[1:]))
        expected[members] = a
    else:
        expected = data()[0][members].T @ a
    return np.concatenate([expected, bias * a.sum(axis=0, keepdims=True)]) if bias else expected


def compare(
    kind, scheme, weighted, bias, sampling, rule, k, project, average, block, loss="hinge", backend=cpu, steps=STEPS,
    alone=False,
):  # fmt: skip
    """Assert model, objective, gap and counts of every column; return how many columns were compared.

    `alone`: each is solved by itself; the columns have to share their rows, or draws would be others.
    """
    given = (kind, scheme, weighted, bias, sampling, rule, k, project, average, block)
    how = dict(loss=loss, backend=backend, steps=steps)
    rows, found = wide_solve(*given, **how)
    problems = problems_of(scheme, weighted)
    kernel, compared = KINDS.get(kind, "linear"), 0
    for p in range(problems.n_columns):
        place = 0 if alone else p
        if alone:
            rows, found = wide_solve(*given, **how, only=p)
        setting = (kernel, scheme, weighted, bias, sampling, rule, k, project)
        iterates, counts, closest, dual = textbook(*setting, p, int(found.steps[place]), loss)
        if closest < 1e-9:
            continue
        members, K, y, s = column(problems, p, weighted, kernel, bias)
        a = naive.average_of(iterates, average, rule, len(members))
        expected = expected_state(rows, members, a, bias)
        size = max(np.abs(expected).max(), 1e-9)
        message = f"{loss} {setting} {average} {p}"
        np.testing.assert_allclose(found.model[:, place], expected, rtol=0, atol=1e-9 * size, err_msg=message)
        objective = naive.primal(K, y, s, problems.lam[p], a, loss)
        assert found.certificate.objective[place] == pytest.approx(objective, rel=1e-9)
        assert found.certificate.gap[place] == pytest.approx(objective - dual, rel=1e-9, abs=1e-9), message
        if rows.dual and counts is not None:
            np.testing.assert_array_equal(found.state.violations[members, place], counts)
        compared += 1
    return compared


def compare_groups(kind, weighted, bias, sampling, rule, k, project, average, block, backend=cpu, steps=STEPS):
    """The same as `compare` for every Crammer–Singer group; return how many groups were compared."""
    setting = (weighted, bias, sampling, rule, k, project)
    how = dict(loss="crammer_singer", backend=backend, steps=steps)
    rows, found = wide_solve(kind, "crammer_singer", *setting, average, block, **how)
    problems = problems_of("crammer_singer", weighted)
    kernel, compared = KINDS.get(kind, "linear"), 0
    for p in range(0, problems.n_columns, 3):
        group = slice(p, p + 3)
        iterates, counts, closest, dual = textbook_group(kernel, *setting, p, int(found.steps[p]))
        if closest < 1e-9:
            continue
        members, K, labels, s = column(problems, p, weighted, kernel, bias)
        A = naive.average_of(iterates, average, rule, len(members))
        expected = expected_state(rows, members, A, bias)
        message = f"{kind} {setting} {average} {p}"
        size = np.abs(expected).max()
        np.testing.assert_allclose(found.model[:, group], expected, rtol=0, atol=1e-9 * size, err_msg=message)
        objective = naive_crammer_singer.primal(K, labels.astype(int), s, problems.lam[p], A)
        np.testing.assert_allclose(found.certificate.objective[group], objective, rtol=1e-9, err_msg=message)
        gap = objective - dual
        np.testing.assert_allclose(found.certificate.gap[group], gap, rtol=1e-9, atol=1e-9, err_msg=message)
        if rows.dual and counts is not None:
            np.testing.assert_array_equal(found.state.violations[members, group], counts)
        compared += 1
    return compared
