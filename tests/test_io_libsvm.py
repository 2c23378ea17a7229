"""LIBSVM text: labels, comments, both ways of counting, rows to predict, and lines that are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, random
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from pegasos import io
from pegasos.io import DataError


@pytest.fixture
def write(tmp_path):
    """A function that writes a file and gives its path."""

    def write(content, name="train.svm"):
        path = tmp_path / name
        path.write_text(content, newline="")
        return path

    return write


def same(data, X, y):
    assert isinstance(data.X, csr_matrix)
    assert data.X.dtype == np.float64
    assert data.X.has_sorted_indices
    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.y, y)


@pytest.mark.parametrize(
    "content",
    [
        "1 1:0.5 3:2\n-1 2:1e-3\n",
        "+1 1:.5 3:2.0 \r\n-1 2:0.001",
        "# made by hand\n\n1 qid:3 1:0.5 3:2 # first\n  -1\tqid:4 2:1E-3\n",
        "1.0 3:2 1:0.5\n-1.0 2:+1e-3#\n",
        "\ufeff1 0:0.5 2:2\n-1 1:1e-3\n",
    ],
)
def test_lines_are_read_whatever_their_dress(write, content):
    data = io.read(write(content))
    same(data, [[0.5, 0, 2], [0, 0.001, 0]], [1, -1])
    assert data.y.dtype == np.int64
    assert data.format == "libsvm"


def test_rows_may_be_empty_and_labels_may_be_text(write):
    same(io.read(write("spam\nham 2:1\nspam # nothing\n")), [[0, 0], [0, 1], [0, 0]], ["spam", "ham", "spam"])
    same(io.read(write("0.5 1:1\n2 1:3\n")), [[1], [3]], [0.5, 2])


def test_rows_to_predict_may_have_no_labels(write):
    data = io.read(write("1:2 3:4\n2:5\n"), n_features=3)
    same(data, [[2, 0, 4], [0, 5, 0]], None)
    assert data.y is None


def test_fewer_features_than_the_model_has_are_filled_with_zeros(write):
    same(io.read(write("1 1:2\n-1 2:3\n"), n_features=4), [[2, 0, 0, 0], [0, 3, 0, 0]], [1, -1])
    same(io.read(write("1 0:2\n-1 2:3\n"), n_features=4), [[2, 0, 0, 0], [0, 0, 3, 0]], [1, -1])
    same(io.read(write("1\n-1 1:0\n"), n_features=2), [[0, 0], [0, 0]], [1, -1])


def test_features_beyond_those_of_the_model_are_left_out_with_a_warning(write):
    with pytest.warns(UserWarning, match="train.svm has 2 features beyond the 2 of the model; unseen in training"):
        data = io.read(write("1 1:2 3:9\n-1 2:3\n1 3:1 7:1\n"), n_features=2)
    same(data, [[2, 0], [0, 3], [0, 0]], [1, -1, 1])


@pytest.mark.parametrize(
    "content, sentence",
    [
        ("1,2 1:0.5\n3 2:1\n", "train.svm: in line 1, the row has several labels ('1,2'); one label a row is needed."),
        ("1 1:0.5\n-1 2:x\n", "train.svm: feature 2 holds 'x' (line 2), which is no number"),
        ("1 1:0.5\n-1 2:\n", "train.svm: feature 2 has a missing value (line 2)"),
        ("1 1:0.5\n-1 2:nan\n", "train.svm: feature 2 has a missing value (line 2)"),
        ("1 1:0.5\n-1 2:inf\n", "train.svm: feature 2 holds inf (line 2); every value must be finite."),
        ("1 1:0.5\n-1 2:1e999\n", "train.svm: feature 2 holds 1e999 (line 2); every value must be finite."),
        ("1 1:0.5 2:1\n-1 -2:1\n", "train.svm: in line 2, '-2:1' is not an entry index:value of the LIBSVM format."),
        ("1 1:0.5 2:1\n\n-1 2:1 oops\n", "train.svm: in line 3, 'oops' is not an entry index:value"),
        ("1 1:0.5 2:1 3:1\n-1 a:1\n", "train.svm: in line 2, 'a:1' is not an entry index:value"),
        ("1 1:0.5\n-1 99999999999:1\n", "train.svm: in line 2, the feature index '99999999999' is too large."),
        ("1 1:0.5\n-1 2:1 1:3 2:1\n", "train.svm: in line 2, a feature comes twice."),
        ("1 1:0.5\n2:1\n", "train.svm: in line 2, the row has no label, but the rows before have one."),
        ("1:0.5\n1 2:1\n", "train.svm: in line 2, the row has a label, but the rows before have none."),
        ("nan 1:0.5\n1 2:1\n", "train.svm: in line 1, the label is missing"),
    ],
)
@pytest.mark.parametrize("fast", [False, True])
def test_what_is_wrong_with_a_line_is_said_in_a_sentence(write, monkeypatch, content, sentence, fast):
    monkeypatch.setattr("pegasos.io.text.lines.SMALL", 0 if fast else 1 << 18)
    with pytest.raises(DataError) as caught:
        io.read(write(content))
    assert sentence in str(caught.value)


def test_a_label_column_cannot_be_chosen(write):
    with pytest.raises(DataError, match="can be chosen in tables only; in a LIBSVM file it is the first entry"):
        io.read(write("1 1:0.5\n"), label="y")


def test_rows_without_any_entry_are_no_data(write):
    with pytest.raises(DataError, match="has one column"):
        io.read(write("1\n-1\n"))


ENTRY = st.floats(allow_nan=False, allow_infinity=False, width=64)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.dictionaries(st.integers(0, 12), ENTRY, max_size=5), min_size=1, max_size=8).filter(any),
    base=st.sampled_from([0, 1]),
)
def test_files_are_read_as_scikit_learn_reads_them(tmp_path_factory, rows, base):
    path = tmp_path_factory.mktemp("pairs") / "x.svm"
    lines = ("1 " + " ".join(f"{i + base}:{v!r}" for i, v in sorted(row.items())) for row in rows)
    path.write_text("\n".join(lines) + "\n")
    data = io.read(path)
    X, y = load_svmlight_file(str(path), zero_based="auto" if base else not all(0 not in row for row in rows))
    np.testing.assert_array_equal(data.X.toarray(), X.toarray()[:, : data.n_features])
    np.testing.assert_array_equal(data.y, y)


@pytest.mark.parametrize("zero_based", [True, False])
def test_digits_come_back(tmp_path, digits, zero_based):
    X, y = digits
    X = np.column_stack([np.ones(len(X)), X, np.ones(len(X))])  # columns of zeros at the end cannot be told
    dump_svmlight_file(X, y, str(tmp_path / "x"), zero_based=zero_based)
    same(io.read(tmp_path / "x"), X, y)


def test_sparse_rows_come_back(tmp_path):
    X = random(200, 1000, 0.05, format="csr", random_state=0)
    X.data = X.data.round(12)
    dump_svmlight_file(X, np.arange(200) % 3, str(tmp_path / "x"), zero_based=False)
    same(io.read(tmp_path / "x", n_features=1000), X.toarray(), np.arange(200) % 3)


@pytest.mark.data
def test_the_text_of_a9a_holds_what_the_arrays_hold(data_folder):
    for text, arrays in (("a9a.bz2", "a9a_train.npz"), ("a9a.t.bz2", "a9a_test.npz")):
        read, stored = io.read(data_folder / text, n_features=123), io.read(data_folder / arrays)
        assert (read.X != stored.X).nnz == 0
        np.testing.assert_array_equal(read.y, stored.y)


def test_features_to_predict_count_from_where_those_of_training_did(tmp_path):
    """Of a file from 0 whose feature 0 never occurs, nothing but the training file tells where it counts from."""
    (tmp_path / "train.svm").write_text("1 0:1 2:3\n-1 1:2\n")
    (tmp_path / "test.svm").write_text("1 1:5 2:7\n")
    train = io.read(tmp_path / "train.svm")
    assert train.first_index == 0
    alone = io.read(tmp_path / "test.svm", n_features=3)
    like_training = io.read(tmp_path / "test.svm", n_features=3, first_index=train.first_index)
    np.testing.assert_array_equal(alone.X.toarray(), [[5, 7, 0]])
    np.testing.assert_array_equal(like_training.X.toarray(), [[0, 5, 7]])


def test_a_feature_0_where_training_counts_from_1_is_an_error(tmp_path):
    (tmp_path / "test.svm").write_text("1 0:5 2:7\n")
    with pytest.raises(DataError, match="test.svm has a feature 0, but the features of the training"):
        io.read(tmp_path / "test.svm", n_features=3, first_index=1)
