"""IDX files: images with their labels beside them, and headers that lie."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from pegasos import io
from pegasos.io import DataError
from read_back import complaint, same


def idx(values, code=8):
    values = np.asarray(values)
    sizes = b"".join(size.to_bytes(4, "big") for size in values.shape)
    return bytes([0, 0, code, values.ndim]) + sizes + values.tobytes()


@pytest.fixture
def images(tmp_path):
    """The four files of a data set like MNIST, two of them packed."""
    pixels = np.arange(4 * 6, dtype=np.uint8).reshape(4, 2, 3) * 10
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(pixels))
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.array([3, 1, 4, 1], np.uint8))))
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(pixels[:2])))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(np.array([5, 9], np.uint8)))
    return tmp_path, pixels


def test_images_are_found_with_labels_and_test_part(images):
    folder, pixels = images
    data = io.read(folder / "train-images-idx3-ubyte")
    scaled = (pixels.reshape(4, 6) / np.float32(255)).astype(np.float32)
    same(data, scaled, [3, 1, 4, 1], "idx")
    assert data.X.dtype == np.float32
    assert data.image_shape == (2, 3)
    np.testing.assert_array_equal(data.X_test, scaled[:2])
    np.testing.assert_array_equal(data.y_test, [5, 9])
    test = io.read(folder / "t10k-images-idx3-ubyte.gz")
    same(test, scaled[:2], [5, 9], "idx")
    assert test.X_test is None


def test_labels_alone_are_no_data(images):
    sentence = complaint(images[0] / "t10k-labels-idx1-ubyte")
    assert "holds labels only; give the file of the images, t10k-images-idx3-ubyte" in sentence


def test_images_without_labels_are_for_predicting(images):
    folder, _ = images
    (folder / "t10k-labels-idx1-ubyte").unlink()
    path = folder / "t10k-images-idx3-ubyte.gz"
    assert "its labels are looked for in t10k-labels-idx1-ubyte.gz beside it" in complaint(path)
    assert io.read(path, n_features=6).y is None
    assert complaint(path, n_features=7).endswith("has 6 columns, but the model has 7 features.")


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"\x00\x00\x08\x03" + b"\xff" * 12, "the IDX header says 4294967295 × 4294967295 × 4294967295 numbers"),
        (idx(np.zeros((2, 2, 2), np.uint8))[:-1], "the IDX header says 2 × 2 × 2 numbers, 8 bytes, not 7."),
        (idx(np.zeros((2, 2, 2), np.uint8)) + b"\x00", "the IDX header says 2 × 2 × 2 numbers, 8 bytes, not 9."),
        (b"\x00\x00\x08\x03\x00\x00", "is cut off: its IDX header is not whole."),
        (idx(np.zeros((0, 2, 2), np.uint8)), "has shape (0, 2, 2); images are needed."),
        (idx(np.full((2, 2), np.nan, ">f4"), 13), "column 0 of the images has a missing value (row 1)"),
    ],
)
def test_an_idx_file_that_lies_is_refused(tmp_path, content, sentence):
    (tmp_path / "x-images-idx3-ubyte").write_bytes(content)
    assert sentence in complaint(tmp_path / "x-images-idx3-ubyte")


def test_labels_of_another_number_are_named(images):
    folder, _ = images
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx(np.array([5, 9, 2], np.uint8)))
    with pytest.raises(DataError, match="t10k-labels-idx1-ubyte has 3 labels for the 2 images"):
        io.read(folder / "train-images-idx3-ubyte")


def test_digits_come_back_from_idx(tmp_path, digits):
    pixels = (digits[0] * 16).astype(np.uint8).reshape(-1, 8, 8)
    (tmp_path / "images-idx3-ubyte").write_bytes(idx(pixels))
    (tmp_path / "labels-idx1-ubyte").write_bytes(idx(digits[1].astype(np.uint8)))
    data = io.read(tmp_path / "images-idx3-ubyte")
    same(data, pixels.reshape(-1, 64) / np.float32(255), digits[1], "idx")
    assert data.image_shape == (8, 8)
