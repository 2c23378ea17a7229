"""Predictions for Dask collections, as Dask arrays: each block is predicted when the array is computed."""

from __future__ import annotations

import warnings
from typing import Any

import dask
import numpy as np

from pegasos.distributed.partitions import blocks_of, lengths_of


def lazily(model, method: str, X) -> Any:
    """A Dask array of ``model.method(block)`` for each block of rows of a collection; the model is sent to workers."""
    import dask.array as da

    example = _example(model, method)
    sent, call = dask.delayed(model, traverse=False), dask.delayed(_predicted)
    blocks = blocks_of(X, "X")
    lengths: list = lengths_of(X) or [np.nan] * len(blocks)
    parts = [
        da.from_delayed(call(sent, method, block, example[:0]), (length, *example.shape[1:]), meta=example[:0])
        for block, length in zip(blocks, lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _predicted(model, method: str, block, empty: np.ndarray) -> np.ndarray:
    """The prediction for a block; `empty` for a block without rows, which scikit-learn refuses."""
    return getattr(model, method)(block) if block.shape[0] else empty


def _example(model, method: str) -> np.ndarray:
    """The result for one row."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return getattr(model, method)(np.zeros((1, model.n_features_in_), np.float32))
