"""Tables in text: delimiters, headers, label columns, and a sentence for whatever is wrong."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegasos import io
from pegasos.io import DataError
from read_back import same_rows as same

ROWS = [[1.0, 2.5], [-3.0, 0.001]]


@pytest.mark.parametrize(
    "content, kind",
    [
        ("1,2.5,1\n-3,1e-3,-1\n", "csv"),
        ("1,2.5,+1\r\n-3,1e-3,-1", "csv"),
        ("1;2.5;1\n-3;1e-3;-1\n", "csv"),
        ("1\t2.5\t1\n-3\t1e-3\t-1\n", "csv"),
        ("1, 2.5, 1\n-3, 1e-3, -1\n", "csv"),
        ('"1","2.5","1"\n"-3",".001","-1"\n', "csv"),
        ("1 2.5 1.0\n-3 1e-3 -1.0\n", "text"),
        ("  1   2.5\t 1\n\n-3 \t1E-3   -1  \n# the end\n", "text"),
        ("1\t2.5\t1\t\n-3\t1e-3\t-1\t\n", "text"),
        ("1 2.5\t1\n-3 1e-3\t-1\n", "text"),
        ("\ufeff1,2.5,1\n-3,1e-3,-1", "csv"),
        ("1,2.5,1\r-3,1e-3,-1\r", "csv"),
        ("a,b,class\n1,2.5,1\n-3,1e-3,-1\n", "csv"),
        ("a b class\n1 2.5 1\n-3 1e-3 -1\n", "text"),
        ("\n# comment\na;b;class\n\n1;2.5;1\n-3;1e-3;-1\n", "csv"),
    ],
)
def test_a_table_is_read_whatever_separates_its_fields(write, content, kind):
    data = io.read(write(content))
    same(data, ROWS, [1, -1])
    assert data.y.dtype == np.int64
    assert data.format == kind
    assert data.name == "train.csv"
    assert data.source.endswith("train.csv")
    assert data.n_features == 2


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bz2", "xz"])
def test_packed_text_is_unpacked_whatever_its_name(write, pack):
    same(io.read(write(pack(b"1,2.5,1\n-3,1e-3,-1\n"), "data.bin")), ROWS, [1, -1])


def test_names_of_the_header_are_kept(write):
    data = io.read(write('"height, cm","say ""a""",class\n1,2,x\n3,4,y\n'))
    assert data.feature_names == ["height, cm", 'say "a"']
    assert data.label_name == "class"
    assert io.read(write("1,2,x\n3,4,y\n")).feature_names is None


@pytest.mark.parametrize(
    "label, X, y, name",
    [
        (None, [[1, 2], [4, 5]], [3, 6], "c"),
        ("c", [[1, 2], [4, 5]], [3, 6], "c"),
        ("a", [[2, 3], [5, 6]], [1, 4], "a"),
        (0, [[2, 3], [5, 6]], [1, 4], "a"),
        (-2, [[1, 3], [4, 6]], [2, 5], "b"),
        ("1", [[1, 3], [4, 6]], [2, 5], "b"),
        ("-1", [[1, 2], [4, 5]], [3, 6], "c"),
    ],
)
def test_the_label_column_goes_by_name_or_number(write, label, X, y, name):
    data = io.read(write("a,b,c\n1,2,3\n4,5,6\n"), label=label)
    same(data, X, y)
    assert data.label_name == name


def test_a_name_that_is_a_number_comes_before_the_number(write):
    data = io.read(write("x,0,y\n1,2,3\n4,5,6\n"), label="0")
    np.testing.assert_array_equal(data.y, [2, 5])


def test_a_header_above_text_is_known_by_the_label_asked_for(write):
    data = io.read(write("0,1,kind\n1,2,red\n4,5,blue\n"), label="kind")
    np.testing.assert_array_equal(data.y, ["red", "blue"])


@pytest.mark.parametrize(
    "labels, expected, kind",
    [
        (["1.0", "-1.0"], [1, -1], "i"),
        (["0.5", "1"], [0.5, 1], "f"),
        (["1e3", "2"], [1000, 2], "i"),
        (["007", "008"], ["007", "008"], "U"),
        (["yes", "no"], ["yes", "no"], "U"),
        (["1", "no"], ["1", "no"], "U"),
        (['"a, b"', "c"], ["a, b", "c"], "U"),
        (["rötlich", "blau"], ["rötlich", "blau"], "U"),
        (["Iris setosa", "Iris virginica"], ["Iris setosa", "Iris virginica"], "U"),
        (["1e400x", "2"], ["1e400x", "2"], "U"),
    ],
)
def test_labels_are_whole_numbers_or_numbers_or_text(write, labels, expected, kind):
    data = io.read(write(f"1.5,2,{labels[0]}\n3,4,{labels[1]}\n"))
    assert data.y.dtype.kind == kind
    assert data.y.tolist() == expected


def test_text_in_latin_1_is_read(write):
    data = io.read(write("größe,b,art\n1,2,rötlich\n3,4,blau\n".encode("latin-1")))
    assert data.feature_names == ["größe", "b"]
    assert data.y.tolist() == ["rötlich", "blau"]


def test_the_fingerprint_tells_text_labels_apart(write):
    first, second, third = (io.read(write(f"1,2,{name}\n3,4,b\n")).fingerprint for name in ("a", "c", "a"))
    assert first == third != second


@pytest.mark.parametrize(
    "content, sentence",
    [
        ("", "train.csv is empty: it holds no rows."),
        ("\n \n# nothing\n", "train.csv is empty: it holds no rows."),
        ("a,b,c\n", "train.csv holds only a header, and no rows."),
        ("1\n2\n", "train.csv has one column; a table needs at least one feature and a label, with one of , ; |"),
        (
            "size,colour,y\n1,red,0\n2,blue,1\n",
            "train.csv: column 'colour' holds 'red' (line 2), which is no number; encode categories as numbers first, "
            "leave the column out with --drop 'colour', or give --label 'colour' if it is the label.",
        ),
        ("1.5,x,0\n2,3,1\n", "train.csv: column 1 holds 'x' (line 1), which is no number; encode categories"),
        ("age,y\n1,0\n,1\n", "train.csv: column 'age' has a missing value (line 3); fill it in or drop the row."),
        ("age,y\n1,0\nNA,1\n", "train.csv: column 'age' has a missing value (line 3); fill it in or drop the row."),
        ("age,y\n1,0\n?,1\n", "column 'age' has a missing value (line 3)"),
        ("age,y\n1,0\nnan,1\n", "column 'age' has a missing value (line 3)"),
        ("age,y\n1,0\n-inf,1\n", "train.csv: column 'age' holds -inf (line 3); every value must be finite."),
        ("age,y\n1,0\n1e999,1\n", "train.csv: column 'age' holds 1e999 (line 3); every value must be finite."),
        ("age,y\n1,0\n2,\n", "train.csv: in line 3, the label is missing; fill it in or drop the row."),
        ("1,0\n2,inf\n", "train.csv: in line 2, the label is inf; labels must be finite."),
        ("1,2,0\n3,1\n", "train.csv: line 2 has 2 fields, but the first row has 3."),
        ("1 2 0\n\n3 4 5 1\n", "train.csv: line 3 has 4 fields, but the first row has 3."),
        ("a,b\n1,2,3\n4,5,6\n", "train.csv: line 1 has 2 fields, but line 2 has 3."),
        ("a,a,y\n1,2,3\n", "train.csv: two columns are called 'a'; give each its own name."),
        ("1,5;2,5;0\n1.5;2,5;1\n", "column 0 holds '1,5' (line 1), which is no number; write decimals with a point."),
        ("1,500;2,500;0\n3,000;4,000;1\n", "'1,500' is a number in thousands or one with decimals; --decimal ,"),
        ('1,2,"a\nb\n3,4,c\n', "line 1 has a quoted field that does not end"),
        ("1_000,2,2\n4,5,6\n", "column 0 holds '1_000' (line 1), which is no number"),
        ("1,٣,1\n4,5,6\n", "column 1 holds '٣' (line 1), which is no number"),
        ("x" * 5000 + ",1\n2,3\n4,5\n" + "y,1\n", "which is no number"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_a_sentence(write, content, sentence):
    with pytest.raises(DataError) as caught:
        io.read(write(content))
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "label, sentence",
    [
        ("klass", "train.csv has no column 'klass'; did you mean 'class'? The columns are 'a', 'b', 'class'."),
        ("zzz", "train.csv has no column 'zzz'; the columns are 'a', 'b', 'class'."),
        (3, "train.csv has 3 columns, numbered 0 to 2; there is no column 3."),
        ("-4", "train.csv has 3 columns, numbered 0 to 2; there is no column -4."),
    ],
)
def test_a_label_column_that_is_not_there_is_named(write, label, sentence):
    with pytest.raises(DataError) as caught:
        io.read(write("a,b,class\n1,2,3\n"), label=label)
    assert str(caught.value) == sentence


def test_a_label_name_needs_a_header(write):
    with pytest.raises(DataError, match="has no header, so no column is called 'class'"):
        io.read(write("1,2,3\n4,5,6\n"), label="class")


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"\x00\x01\x02junk" * 99, "neither text nor Parquet"),
        (b"\x7fELF\x02\x01\x01\x00", "neither text nor Parquet"),
        ("1,2,3\n".encode("utf-16"), "is text in UTF-16; save it in UTF-8"),
        (b"\x89PNG\r\n\x1a\n", "is a picture"),
        (b"\x80\x04\x95\x00", "is a Python pickle"),
        (gzip.compress(b"1,2,3\n" * 999, mtime=0)[:-20], "is cut off: its gzip data end early"),
        (gzip.compress(b"1,2,3\n" * 999, mtime=0)[:-8] + b"\x00" * 8, "is damaged: its gzip data cannot be unpacked"),
        (bz2.compress(b"1,2,3\n" * 999)[:-9], "is cut off: its bz2 data end early"),
        (lzma.compress(b"1,2,3\n" * 999)[:-9], "is cut off: its xz data end early"),
        (b"\x1f\x8bjunk", "train.csv is"),
        (gzip.compress(b"PAR1PAR1", mtime=0), "is a parquet file packed with gzip; unpack it first"),
    ],
)
def test_what_is_no_text_is_said_to_be_none(write, content, sentence):
    with pytest.raises(DataError) as caught:
        io.read(write(content))
    assert sentence in str(caught.value)


def test_paths_that_are_no_files_raise_their_own_errors(tmp_path, write):
    with pytest.raises(FileNotFoundError, match="nothing.csv does not exist"):
        io.read(tmp_path / "nothing.csv")
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file in it"):
        io.read(tmp_path)
    path = write("1,2,3\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read every file")
    with pytest.raises(PermissionError, match="cannot be read: permission denied"):
        io.read(path)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=2, max_size=6)
    ),
    delimiter=st.sampled_from([",", ";", "\t", " ", "  "]),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_numbers_come_back_as_they_were_written(tmp_path_factory, rows, delimiter, ending):
    path = tmp_path_factory.mktemp("tables") / "x.txt"
    path.write_text("".join(delimiter.join([*map(repr, row), "1"]) + ending for row in rows), newline="")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(io.read(path), rows, [1] * len(rows))


def test_digits_come_back_from_every_kind_of_table(tmp_path, digits):
    X, y = digits
    for name, delimiter in (("a.csv", ","), ("a.tsv", "\t"), ("a.txt", " ")):
        np.savetxt(tmp_path / name, np.column_stack([X, y]), delimiter=delimiter, fmt="%.17g")
        same(io.read(tmp_path / name), X, y)


@pytest.mark.data
def test_the_text_of_cs303_is_what_numpy_reads(data_folder):
    path = data_folder / "cs303_train_data.txt"
    if not path.exists():
        pytest.skip("PEGASOS_DATA holds no cs303_train_data.txt")
    data, table = io.read(path), np.loadtxt(path)
    same(data, table[:, :-1], table[:, -1])
    assert (np.bincount(data.y + 1)[[0, 2]] == [704, 630]).all()


@pytest.mark.data
def test_missing_values_of_the_wisconsin_set_are_found(data_folder):
    with pytest.raises(DataError, match=r"column 6 has a missing value \(line 24\)"):
        io.read(data_folder / "breast-cancer-wisconsin.data")


def test_an_index_that_pandas_wrote_is_no_feature(tmp_path):
    (tmp_path / "indexed.csv").write_text(",width,kind\n0,1.5,a\n1,2.5,b\n")
    with pytest.warns(UserWarning, match="the first column has no name; taken as an index and left out"):
        data = io.read(tmp_path / "indexed.csv")
    assert data.feature_names == ["width"]
    np.testing.assert_array_equal(data.X, [[1.5], [2.5]])
