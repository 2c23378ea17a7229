"""What the tests of reading share: rows that come back as they should, and complaints that name the file."""

import numpy as np
import pytest

from pegasos import io
from pegasos.io import DataError


def same(data, X, y, kind):
    """Assert that dense rows and labels of a file of this kind are these."""
    np.testing.assert_array_equal(data.X, X)
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.y, y)
    assert data.format == kind


def complaint(path, **wish):
    """The sentence of the DataError that reading the file raises."""
    with pytest.raises(DataError) as caught:
        io.read(path, **wish)
    assert path.name in str(caught.value)
    return str(caught.value)


def same_rows(data, X, y):
    """Assert that dense rows and labels are these, bit for bit."""
    np.testing.assert_array_equal(data.X, X)
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.y, y)
