"""Tables of rows to predict: with labels or without, and columns found by name."""

from __future__ import annotations

import numpy as np
import pytest

from pegasos import io
from pegasos.io import DataError
from read_back import same_rows as same


def test_rows_to_predict_may_have_no_labels(write):
    path = write("1,2\n3,4\n")
    data = io.read(path, n_features=2)
    assert data.y is None
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    data = io.read(path, n_features=1)
    np.testing.assert_array_equal(data.y, [2, 4])
    assert io.read(write("1\n2\n"), n_features=1).X.shape == (2, 1)
    assert io.read(write("a,b\n1,2\n"), n_features=2, usual_label="class").y is None
    np.testing.assert_array_equal(io.read(write("c,b\n1,2\n"), n_features=1, label="c").y, [1])


def test_labels_that_are_all_missing_are_none_for_predicting(write):
    path = write("1,2,?\n3,4,?\n")
    assert io.read(path, n_features=2).y is None
    with pytest.raises(DataError, match="the label is missing"):
        io.read(path)


def test_other_numbers_of_columns_than_the_models_are_named(write):
    path = write("1,2,3,4\n5,6,7,8\n")
    with pytest.raises(DataError) as caught:
        io.read(path, n_features=2)
    assert (
        str(caught.value)
        == "train.csv has 4 columns, but the model has 2 features (3 with a label); --drop leaves columns out."
    )
    with pytest.raises(DataError, match="has 1 columns besides 'b', but the model has 2 features"):
        io.read(write("a,b\n1,2\n"), n_features=2, label="b")


def test_columns_are_found_by_name_in_any_order(write):
    path = write("class,b,a\nx,1,2\ny,3,4\n")
    data = io.read(path, feature_names=["a", "b"])
    same(data, [[2, 1], [4, 3]], ["x", "y"])
    assert data.feature_names == ["a", "b"]
    assert data.label_name == "class"
    assert io.read(write("b,a\n1,2\n"), feature_names=["a", "b"]).y is None
    with pytest.raises(DataError) as caught:
        io.read(path, feature_names=["a", "c", "d"])
    assert str(caught.value) == "train.csv has no column 'c' (and 1 more), which is a feature of the model."


def test_columns_that_a_model_does_not_know_are_left_out_with_a_warning(write):
    path = write("id,b,class,a\nq7,1,x,2\nq8,3,y,4\n")
    with pytest.warns(UserWarning, match="the column 'id' is neither a feature of the model nor the label"):
        data = io.read(path, feature_names=["a", "b"], label="class")
    same(data, [[2, 1], [4, 3]], ["x", "y"])
    with pytest.warns(UserWarning, match="the columns 'id', 'class' are neither"):
        assert io.read(path, feature_names=["a", "b"]).y is None


def test_names_do_not_matter_where_the_file_has_none(write):
    data = io.read(write("1,2,3\n4,5,6\n"), feature_names=["a", "b"])
    same(data, [[1, 2], [4, 5]], [3, 6])


def test_the_usual_label_column_is_used_where_there_is_one(tmp_path):
    (tmp_path / "rows.csv").write_text("7,1.5,2.5\n8,3.5,4.5\n")
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 2)), y=np.array([1, 2]))
    table = io.read(tmp_path / "rows.csv", n_features=2, usual_label=0)
    np.testing.assert_array_equal(table.y, [7, 8])
    assert io.read(tmp_path / "rows.csv", n_features=2, usual_label="kind").y.tolist() == [2.5, 4.5]
    assert io.read(tmp_path / "rows.npz", n_features=2, usual_label="kind").y.tolist() == [1, 2]
    with pytest.raises(DataError, match="no column is called 'kind'"):
        io.read(tmp_path / "rows.csv", n_features=2, label="kind")
