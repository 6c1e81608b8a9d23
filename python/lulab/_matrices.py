"""Test matrices, Matrix Market files, and the judge of factors."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from scipy.sparse import csc_array, issparse

from . import _core
from ._arrays import arrays_of, floats_of, matrix_of


def generator_families() -> dict[str, str]:
    """The families of generate(), each with a sentence."""
    return dict(_core.generator_families())


def generate(family: str, n: int = 1000, *, seed: int = 1, degree: int = 4, decades: int = 8) -> csc_array:
    """A test matrix of about n rows with seeded random values, the same on every machine."""
    return matrix_of(_core.generate(family, n, seed, degree, decades))


def read_matrix_market(path: str | os.PathLike) -> csc_array:
    """A sparse matrix from a Matrix Market file, gzip or not; both triangles of a symmetric one."""
    return matrix_of(_core.read_matrix_market(os.fspath(path)))


def write_matrix_market(path: str | os.PathLike, A: Any, comment: str = "") -> None:
    """A as a Matrix Market file that reads back bit for bit; gzip where path ends in ".gz"."""
    _core.write_matrix_market(os.fspath(path), arrays_of(_canonical(A)), comment)


def judge(A: Any, L: Any, U: Any, p: Any = None, q: Any = None, *, r: Any = None, c: Any = None, F: Any = None,
          x: Any = None, b: Any = None, convention: str = "auto", index_base: int | None = None,
          tolerance: float = 30, seed: int = 1) -> dict[str, Any]:
    """Are these LU factors of A, whatever program made them? If not: where, and why.

    p, q: the permutations, r, c: the scalings, F: KLU's entries above its blocks; left out: none. convention says what
    p, q, r, c mean: lulab, klu, superlu, scipy, eigen, umfpack, matlab, lapack-ipiv, or auto, the one that fits best.
    index_base: what p and q count from; None: as the convention has it. x, b: a solution to judge, too.

    The report: "status" ("ok" or "failed"), "convention", "checks" (each with formula, value, limit, verdict),
    "finding" (None, or fault, what, advice, and where known row, column, found, wanted, window), "failures", "notes".
    Rows and columns in it count from 1, as in its texts.
    """
    def vector(v: Any, dtype: Any) -> Any:
        return None if v is None else np.ascontiguousarray(v, dtype)

    def matrix(m: Any) -> Any:
        return arrays_of(_canonical(m))

    text = _core.judge(matrix(A), matrix(L), matrix(U), None if F is None else matrix(F), vector(p, np.int64),
                       vector(q, np.int64), vector(r, np.float64), vector(c, np.float64), vector(x, np.float64),
                       vector(b, np.float64), convention, -1 if index_base is None else index_base, tolerance, seed)
    return _numbers(json.loads(text))


def _canonical(a: Any) -> Any:
    b = (a if issparse(a) else csc_array(a)).tocsc()
    if not b.has_canonical_format:
        b = b.copy() if b is a else b
        b.sum_duplicates()
    return floats_of(b)


def _numbers(node: Any) -> Any:
    """JSON has no NaN and no infinity; the judge writes them as words."""
    if isinstance(node, dict):
        return {key: _numbers(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_numbers(value) for value in node]
    return float(node) if node in ("nan", "inf", "-inf") else node
