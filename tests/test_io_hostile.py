"""Text that once was read wrongly without a word, or without end: each is right now, or an error that says why."""

from __future__ import annotations

import time

import numpy as np
import pytest

from pegasos import io
from pegasos.io import DataError


@pytest.fixture(params=[1 << 40, 0], ids=["plain", "compiled"])
def read(request, tmp_path, monkeypatch):
    """A function that reads content, either as a small file is read or as a large one."""
    monkeypatch.setattr("pegasos.io.text.lines.SMALL", request.param)

    def read(content, **wish):
        path = tmp_path / "x.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return io.read(path, **wish)

    return read


def table(label, rows=60, separator=","):
    """Rows of two fractions and a label, a text or a function of the number of the row."""
    words = label if callable(label) else lambda row: label[row % len(label)]
    return "".join(separator.join([f"{row / 8}", f"{row / 4 - 1}", words(row)]) + "\n" for row in range(rows))


@pytest.mark.parametrize("names", ["0,1,kind\n", "0,1,2\n", "7,8,kind\n"])
def test_whole_numbers_above_words_and_fractions_are_names(read, names):
    data = read(names + table(["a", "b", "c"]))
    assert data.X.shape == (60, 2)
    assert data.feature_names == names.split(",")[:2]
    assert set(data.y) == {"a", "b", "c"}


@pytest.mark.parametrize("first", [2**53, 12345678901234567, -(2**63), 2**63 - 3])
def test_whole_numbers_of_64_bits_are_labels_to_the_last_digit(read, first):
    labels = [first, first + 1, first + 2]
    expected = [labels[row % 3] for row in range(60)]
    assert read(table([str(label) for label in labels])).y.tolist() == expected
    pairs = "".join(f"{label} 1:{row}\n" for row, label in enumerate(expected))
    assert read(pairs).y.tolist() == expected


def test_whole_numbers_beyond_64_bits_or_beside_fractions_do_not_merge(read):
    far = [str(2**64 + 1), str(2**64 + 2)]
    assert sorted(set(read(table(far)).y)) == far
    beside = [str(2**53 + 1), str(2**53), "0.5"]
    assert len(set(read(table(beside)).y)) == 3


@pytest.mark.parametrize("digits", [20_000, 100_000])
@pytest.mark.parametrize("before", ["", "-", "0.", "1e"])
def test_very_many_digits_and_a_letter_are_seen_to_be_no_number_at_once(read, digits, before):
    began = time.process_time()
    with pytest.raises(DataError, match="is no number"):
        read(f"1,2,a\n3,4,b\n{before}{'1' * digits}x,3,a\n")
    with pytest.raises(DataError, match="is no number"):
        read(f"1 1:2\n2 1:{before}{'1' * digits}x\n")
    assert time.process_time() - began < 5  # it was hours


def test_a_field_of_a_million_characters_is_called_long_not_unquoted(read):
    with pytest.raises(DataError, match="line 3 has a field of more than 131072 characters"):
        read(f"1,2,a\n3,4,b\n{'1' * 1_000_000}x,3,a\n")
    assert read(f"1 1:{'1' * 300}\n2 1:{'1' * 1_000_000}e-999999\n").X.toarray()[1, 0] == 1.1111111111111112


@pytest.mark.parametrize("separator", [",", "\t", ";", " "])
@pytest.mark.parametrize("rows", [60, 20_000])
def test_quotes_are_taken_off_whatever_the_size(read, separator, rows):
    labels = ['"a b"', '"say ""no"""', '"c"']
    data = read(table(labels, rows, separator))
    turned = "".join(separator.join([labels[row % 3], f"{row / 8}", f"{row / 4}"]) + "\n" for row in range(rows))
    first = read(turned, label=0)
    for found in (data, first):
        assert set(found.y) == {"a b", 'say "no"', "c"}
        assert found.X.shape == (rows, 2)


@pytest.mark.parametrize("separator", [",", "\t", " "])
def test_labels_that_begin_with_a_hash_are_no_comments(read, separator):
    lines = [f"#{row % 3}{separator}{row / 8}{separator}{row / 4}\n" for row in range(90)]
    data = read("# a comment\n" + "".join(lines), label=0)
    assert data.X.shape == (90, 2)
    assert sorted(set(data.y)) == ["#0", "#1", "#2"]
    mixed = "".join(line if row % 3 == 0 else line[1:].replace(separator, f"u{separator}", 1)
                    for row, line in enumerate(lines))  # fmt: skip
    assert read(mixed, label=0).X.shape == (90, 2)


def test_features_that_begin_with_a_hash_are_no_comments_either(read):
    lines = ["{}{},{},a\n".format("#" if row % 3 == 0 else "", row, row / 8) for row in range(90)]
    with pytest.raises(DataError, match=r"column 0 holds '#0' \(line 1\)"):
        read("".join(lines))


@pytest.mark.parametrize("blank", ["\xa0", "\u3000", "\x0c", " \x85"])
def test_a_line_of_an_odd_blank_is_no_row(read, blank):
    data = read(f"1 1:2\n{blank}\n-1 1:3\n")
    assert data.y.tolist() == [1, -1]
    with pytest.raises(DataError, match="in line 4, the row has no label, but the rows before have one"):
        read(f"1 1:2\n{blank}\n-1 1:3\n1:3\n")
    assert read(f"1,2,a\n{blank}\n3,4,b\n").y.tolist() == ["a", "b"]


def test_a_tab_in_a_field_that_is_not_quoted_is_named(read):
    with pytest.raises(DataError, match="line 6 has 4 fields, but the first row has 3; tabs separate fields as blanks"):
        read(table(lambda row: "two\twords" if row == 5 else "word", separator=" "))


HOSTILE = [
    "5e-324", "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
    "2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308", "1.7976931348623158e+308",
    "9007199254740993", "9007199254740993.0000000000000000000000000000000001",
    "0.1000000000000000055511151231257827021181583404541015625",
    "123456789012345678901234567890", ".5", "5.", "+1", "-0", "1E5", "1e-999999999999", "0e999999999999",
    "0." + "0" * 400 + "1e400", "1" + "0" * 400 + "e-400", "3." + "14159265" * 50, "9" * 300 + "." + "9" * 300,
    "0" * 1000 + "7", "1e0000000000000000000000000000000000002",
    "8.98846567431157854072637118658521783990352837629224982994587384015786303900147192e307",
]  # fmt: skip


def test_hostile_numbers_are_what_python_makes_of_them_in_every_reader(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    tokens = HOSTILE + [repr(value) for value in rng.integers(0, 0x7FF << 52, 500).view(np.float64).tolist()]
    tokens += [f"{m}e{e}" for m, e in zip(rng.integers(0, 2**63, 500), rng.integers(-345, 280, 500), strict=True)]
    tokens += ["1" * 90_000 + "e-89990", "0." + "0" * 90_000 + "25e90001"]
    expected = np.array([float(token) for token in tokens]).view(np.uint64)
    path = tmp_path / "x.csv"
    for small in (1 << 40, 0):
        monkeypatch.setattr("pegasos.io.text.lines.SMALL", small)
        for form in ("{},a\n", '{},"a"\n', '"{}",a\n', "{}\ta\n", "{} a\n", "{} ,a\n"):
            path.write_text("".join(form.format(token) for token in tokens), newline="")
            found = io.read(path, header=False).X[:, 0]
            assert (np.abs(found).view(np.uint64) == np.abs(expected.view(np.float64)).view(np.uint64)).all(), form
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected.view(np.float64)))
        path.write_text("".join(f"1 1:{token}\n" for token in tokens))
        X = io.read(path).X.data
        assert (X.view(np.uint64) == expected).all()


def test_a_quoted_field_that_the_file_ends_in_is_named(read):
    with pytest.raises(DataError, match="line 4 has a quoted field that does not end"):
        read('0\t8\t"1,5"\t1\r\n1\t7\t"2,5"\t2\r\n2\t7\t"3,5"\t1\r\n2\t6\t"5,', decimal=",")


def test_long_names_of_columns_are_cut_in_sentences(read):
    with pytest.raises(DataError, match="column 'nnn.*… holds 'red'") as error:
        read("n" * 400 + ",size,kind\n" + "red,2,a\n" * 3 + "1,2,b\n")
    assert len(str(error.value)) < 300


def test_characters_that_there_are_not_are_refused(tmp_path):
    labels = np.array([0x110000, ord("b")], np.uint32).view("<U1")
    np.savez(tmp_path / "x.npz", X=np.eye(2), y=labels)
    with pytest.raises(DataError, match="hold characters that there are not"):
        io.read(tmp_path / "x.npz")
