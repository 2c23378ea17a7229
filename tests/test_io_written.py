"""What pandas writes is what is read: all combinations of header, index, quoting, separator, decimal and label.

By default a few hundred of them at random, every pair of choices among them; all 32,400 with --all.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from written_tables import CHOICES, cases, outcome, written

SAMPLE = 500


def chosen(everything: bool) -> list[dict[str, str]]:
    """The combinations to test."""
    found = list(cases())
    if everything:
        return found
    order = np.random.default_rng(0).permutation(len(found))
    kept, seen = [], set()
    for place in order:
        pairs = set(combinations(found[place].items(), 2))
        if len(kept) < SAMPLE or not pairs <= seen:
            kept.append(found[place])
            seen |= pairs
    return kept


@pytest.mark.parametrize("small", [1 << 18, 0], ids=["small", "large"])
def test_a_table_that_pandas_wrote_is_read_as_it_was(tmp_path, monkeypatch, at_length, small):
    pytest.importorskip("pandas")
    monkeypatch.setattr("pegasos.io.text.lines.SMALL", small)
    wrong, refused, n_read = [], [], 0
    for case in chosen(at_length):
        table = written(case)
        if table is None:
            continue
        n_read += 1
        what, said = outcome(table, tmp_path / "x.csv")
        if what == "refused" and "a field with one in it has to be quoted" in said:
            refused.append(said)  # a tab that is not quoted separates fields, too
        elif what != "right":
            wrong.append((what, said, case))
    assert not wrong, f"{len(wrong)} of {n_read}, such as {wrong[0]}"
    assert len(refused) < 0.01 * n_read + 3
    assert n_read > 0.8 * SAMPLE


@pytest.mark.parametrize("place", CHOICES["place"])
@pytest.mark.parametrize("header", CHOICES["header"])
@pytest.mark.parametrize("separator", ["comma", "space"])
def test_quotes_that_a_row_needs_are_no_sign_of_a_header(tmp_path, separator, header, place):
    pytest.importorskip("pandas")
    fixed = {"index": "none", "quoting": "minimal", "decimal": ",", "features": "fractions", "labels": "separators"}
    case = fixed | {"header": header, "separator": separator, "place": place}
    assert outcome(written(case), tmp_path / "x.csv")[0] == "right"


def test_every_choice_is_one_of_the_product():
    assert np.prod([len(choice) for choice in CHOICES.values()]) == 32_400
