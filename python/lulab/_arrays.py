"""SciPy's matrices and NumPy's arrays as the compiled half takes them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import SparseEfficiencyWarning, csc_array, issparse

Arrays = tuple  # n_rows, n_cols, col_ptr, row_idx, values
_LARGEST = np.iinfo(np.int32).max


def floats_of(a: Any) -> Any:
    """A in float32 or float64, whatever holds its numbers without loss, as SciPy does."""
    dtype = a.dtype
    if dtype.kind == "c":
        raise TypeError(f"A is complex ({dtype}); lulab factors real matrices only")
    if dtype in (np.float32, np.float64):
        return a
    for wider in (np.float32, np.float64):
        if np.can_cast(dtype, wider):
            return a.astype(wider)
    raise TypeError(f"cannot upcast [{dtype}] to a floating point format")


def canonical(a: Any, caller: str, stacklevel: int = 3) -> csc_array:
    """A by columns, rows sorted, equal places summed. A itself is not changed."""
    if not (issparse(a) and a.format == "csc"):
        a = csc_array(a)
        warnings.warn(f"{caller} converted its input to CSC format", SparseEfficiencyWarning, stacklevel=stacklevel)
    if not a.has_canonical_format:
        a = a.copy()
        a.sum_duplicates()
    return a


def arrays_of(a: Any) -> Arrays:
    """Of a canonical matrix."""
    m, n = a.shape
    if max(m, n) > _LARGEST:
        raise ValueError(f"A has {max(m, n)} rows or columns; at most {_LARGEST} are possible")
    # Contiguous and of the machine's byte order; no copy where they are so already.
    return (m, n, np.ascontiguousarray(a.indptr, np.int64), np.ascontiguousarray(a.indices[:a.nnz], np.int32),
            np.ascontiguousarray(a.data[:a.nnz], np.float64))


def matrix_of(arrays: Arrays) -> csc_array:
    m, n, col_ptr, row_idx, values = arrays
    if col_ptr[-1] <= _LARGEST:
        col_ptr = col_ptr.astype(np.int32)
    a = csc_array((values, row_idx, col_ptr), shape=(m, n))
    a.has_canonical_format = True
    return a


class RightSides:
    """b as the compiled half takes it, and x of the shape, order and type that SciPy gives it."""

    def __init__(self, b: Any, n: int, dtype: Any) -> None:
        b = np.asarray(b).astype(dtype, casting="safe", copy=False)
        if b.ndim not in (1, 2):
            raise ValueError("object too deep for desired array" if b.ndim > 2 else "b is a number, not an array")
        if b.shape[0] != n:
            raise ValueError(f"b is of incompatible size: it has {b.shape[0]} rows, A has {n}")
        self.dtype = dtype
        self.shape = b.shape
        self.columns = 1 if b.ndim == 1 else b.shape[1]
        self.b = np.asarray(b, np.float64).ravel(order="F")
        if not self.b.flags.c_contiguous:
            self.b = np.ascontiguousarray(self.b)
        self.x = np.full(self.b.size, np.nan)

    def solution(self) -> np.ndarray:
        return self.x.astype(self.dtype, copy=False).reshape(self.shape, order="F")


def transposed(trans: str) -> bool:
    """SciPy's letters; A is real, so H is T."""
    if not isinstance(trans, str) or len(trans) != 1 or trans.upper() not in "NTH":
        raise ValueError("trans must be N, T, or H")
    return trans.upper() != "N"
