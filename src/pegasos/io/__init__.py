"""Files of rows and labels: LIBSVM, CSV and other tables in text, Parquet, npz, HDF5 and IDX, told by their content.

`read` reads a file into memory, `open_source` in chunks. Each format has one module, which describes such a file as a
`Source`; reading it into memory is reading all rows of that source at once.
"""

from __future__ import annotations

from pegasos.io.dataset import DataError, Dataset
from pegasos.io.options import ReadOptions
from pegasos.io.reading import open_source, read
from pegasos.io.source import NotInPieces

__all__ = ["DataError", "Dataset", "NotInPieces", "ReadOptions", "open_source", "read"]
