"""Solver and BatchSolver: one pattern, many matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, issparse

from . import _core
from ._arrays import RightSides, arrays_of, floats_of, matrix_of, transposed
from ._device_arrays import StepArrays
from ._errors import LulabError
from ._splu import warn_of


class Factors(NamedTuple):
    """L @ U = P R A C Q: entry (i, j) of the right side is r[p[i]] * A[p[i], q[j]] * c[q[j]]."""

    L: csc_array
    U: csc_array
    p: np.ndarray
    q: np.ndarray
    r: np.ndarray
    c: np.ndarray


class _Pattern:
    """The pattern of an analyzed matrix, and the order in which the caller gives its values."""

    def __init__(self, A: Any) -> None:
        a = _sparse(A)
        self.takes_values = issparse(A) and A.format in ("csc", "csr", "coo")
        # Of each entry of A.data in the sorted matrix; None: the same.
        self.place, self.sorted_nnz = _places(a)
        self.nnz = self.sorted_nnz if self.place is None else self.place.size
        self.matrix = arrays_of(_sorted(a))
        self.n: int = a.shape[0]

    def in_order(self, values: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Values of so many matrices, (..., nnz), as the compiled half takes them."""
        if not self.takes_values:
            raise ValueError("values alone are taken after analyze() of a CSC, CSR or COO matrix; give a matrix")
        values = np.asarray(values).astype(np.float64, casting="safe", copy=False)
        if values.shape != (*shape, self.nnz):
            raise ValueError(f"values has the shape {values.shape}; the analyzed matrix has {self.nnz} entries, so "
                             f"{(*shape, self.nnz)} is expected")
        if self.place is None:
            return np.ascontiguousarray(values).ravel()
        if self.nnz == self.sorted_nnz:
            moved = np.empty_like(values, order="C")
            moved[..., self.place] = values
            return moved.ravel()
        rows = values.reshape(-1, self.nnz)
        return np.concatenate([np.bincount(self.place, weights=row, minlength=self.sorted_nnz) for row in rows])


    def device_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Of values in device memory, where they are taken in the compiled half's order."""
        if self.place is not None:
            raise ValueError("step_device() takes values in the order of sorted columns: analyze A.tocsc()")
        return (*shape, self.nnz)


def _columns_of(order: Any) -> list[int]:
    columns = np.asarray(order)
    if columns.ndim != 1 or (columns.size > 0 and columns.dtype.kind not in "iu"):
        raise ValueError("column_order is an array of whole numbers, the columns of A from 0 as they are eliminated")
    if columns.size > 0 and not (-1 <= columns.min() and columns.max() < 2**31):
        raise ValueError(f"column_order names columns from {columns.min()} to {columns.max()}")
    return columns.tolist()


class _Options:
    def __init__(self, precision: str, rung_options: dict[str, float] | None, column_order: Any,
                 options: dict[str, Any]) -> None:
        if precision not in ("double", "single"):
            raise ValueError(f"precision is {precision!r}; double and single are known")
        self.single = precision == "single"
        self.texts = {key: _text_of(value) for key, value in options.items()}
        self.texts.update({f"rung.{name}": _text_of(value) for name, value in (rung_options or {}).items()})
        if column_order is not None and "order" in options:
            raise ValueError("order and column_order exclude each other")
        self.columns = None if column_order is None else _columns_of(column_order)


class _Steps:
    """Holds the arrays of steps that may not be over: their memory must not be given to others."""

    _in_use: list[StepArrays]

    def _hold(self, arrays: StepArrays) -> None:
        if any(held.arguments() == arrays.arguments() for held in self._in_use):
            return
        if len(self._in_use) == 16:
            self.wait()
        self._in_use.append(arrays)

    def _release(self, wait: Callable[[], Any]) -> Any:
        """What wait() returns. Steps that other threads enqueue meanwhile keep their arrays."""
        over, self._in_use = self._in_use, []
        try:
            return wait()
        finally:
            over.clear()

    def wait(self) -> None:
        raise NotImplementedError


class Solver(_Steps):
    """Analyze a pattern once, factor rarely, refactor and solve for new values often.

        solver = lulab.Solver()
        solver.analyze(A)
        solver.factor(A)
        for values, b in steps:
            x = solver.step(values, b)

    precision: of the factors, "double" or "single"; x is double in both. Options are those of the C interface, as
    option_keys() lists them: rung="90_klu", order="amd", threads=2, refine="never", ... An option of one rung is
    written rung_options={"name": number}. column_order: the columns of A, from 0, as they are to be eliminated; the
    rows follow the matching.

    Where a call takes values, they are a matrix of the analyzed pattern, or its entries in the order of A.data.
    Threads that call one Solver at the same time wait for each other; the GIL is released while it works.
    """

    def __init__(self, *, precision: str = "double", rung_options: dict[str, float] | None = None,
                 column_order: Any = None, **options: Any) -> None:
        chosen = _Options(precision, rung_options, column_order, options)
        self._solver = _core.Solver(chosen.single, chosen.texts, chosen.columns)
        self._pattern: _Pattern | None = None
        self._in_use = []

    def analyze(self, A: Any) -> None:
        """Matching, ordering and fill. The values of A should be typical."""
        self._pattern = None
        pattern = _Pattern(A)
        self._solver.analyze(pattern.matrix)
        self._pattern = pattern

    def factor(self, values: Any) -> None:
        """Factor; pivots may be chosen by value."""
        self._solver.factor(self._values_of(values))

    def refactor(self, values: Any) -> None:
        """Factor with the pivots of the last factor(), unless they do not suit the values."""
        self._solver.refactor(self._values_of(values))

    def solve(self, b: np.ndarray, trans: str = "N") -> np.ndarray:
        """x of A @ x = b ("N") or A.T @ x = b ("T", "H"); b: (n,) or (n, k)."""
        is_transposed = transposed(trans)
        sides = RightSides(b, self._analyzed().n, np.float64)
        if sides.x.size > 0:
            warn_of(self._solver.solve(sides.b, sides.x, sides.columns, is_transposed), sides.b)
        return sides.solution()

    def step(self, values: Any, b: np.ndarray) -> np.ndarray:
        """refactor(values), then x of A @ x = b, in one call; b: (n,)."""
        sides = RightSides(b, self._analyzed().n, np.float64)
        if len(sides.shape) != 1:
            raise ValueError("step takes one right-hand side; call refactor() and solve() for several")
        warn_of(self._solver.step(self._values_of(values), sides.b, sides.x), sides.b)
        return sides.solution()

    def step_device(self, values: Any, b: Any, x: Any, stream: int = 0) -> None:
        """Enqueue a step in device memory: refactor(values), then x of A @ x = b, which is written to x.

        values, b, x: contiguous float64 arrays on the GPU that have __dlpack__ (CuPy, PyTorch, JAX) or
        __cuda_array_interface__ (Numba), values in the order of sorted columns; nothing is copied. They must not
        change until the step is over; they are held until wait(), which a step calls where others are held for sixteen. stream: the cudaStream_t as
        a number; 0: the default stream. The step comes after what the arrays' own streams are given by now. What reads
        x must run on this stream or after it. An x that is not good is NaN; wait() says why. A build without CUDA takes
        host arrays.
        """
        pattern = self._analyzed()
        arrays = StepArrays(stream, values, b, x, pattern.device_shape(()), (pattern.n,))
        self._hold(arrays)
        self._solver.step_device(*arrays.arguments())

    def wait(self) -> None:
        """Wait for the last step_device(). Raises where its pivots do not suit the values: call refactor() then."""
        refined = self._release(self._solver.wait)
        if not refined[0]:
            raise LulabError(f"x is not good: its backward error is {refined[1]:.1e}", "needs_repivot")

    def condition(self) -> tuple[float, float]:
        """Estimates of 1 / (norm(A) norm(inv(A))) in the 1-norm, and of the same for the scaled matrix R A C."""
        return self._solver.condition()

    def factors(self) -> Factors:
        """Copies of L and U, with what they are factors of."""
        lower, upper, p, q, r, c = self._solver.factors(False)
        return Factors(matrix_of(lower), matrix_of(upper), p, q, r, c)

    @property
    def statistics(self) -> dict[str, Any]:
        """What is known of the analysis and the last factorization: rung and why it was chosen, order, fill, pivot
        growth, re-pivotings, times in ms. NaN or -1: not known."""
        return self._solver.statistics()

    def _analyzed(self) -> _Pattern:
        if self._pattern is None:
            raise ValueError("analyze() must succeed first")
        return self._pattern

    def _values_of(self, values: Any) -> np.ndarray:
        pattern = self._analyzed()
        if not (issparse(values) or getattr(values, "ndim", 1) == 2):
            return pattern.in_order(values, ())
        a = arrays_of(_sorted(_sparse(values)))
        if not self._solver.knows(a):
            raise ValueError("this matrix has another pattern than the one analyzed; call analyze() for it")
        return a[4]


class BatchSolver(_Steps):
    """Many matrices of one pattern, factored and solved in one call each.

        batch = lulab.BatchSolver()
        batch.analyze(A, systems=100)            # A: a typical one
        batch.factor(values)                     # (systems, nnz), each in the order of A.data
        x = batch.solve(b)                       # (systems, n)
        x = batch.step(values, b)                # both

    A system that fails does not disturb the others: its x is NaN, and errors[system] is the exception that says why.
    Arguments as Solver.
    """

    def __init__(self, *, precision: str = "double", rung_options: dict[str, float] | None = None,
                 column_order: Any = None, **options: Any) -> None:
        chosen = _Options(precision, rung_options, column_order, options)
        self._solver = _core.BatchSolver(chosen.single, chosen.texts, chosen.columns)
        self._pattern: _Pattern | None = None
        self._systems = 0
        self._in_use = []
        #: Of the last call: for each system None, or an exception.
        self.errors: list[Exception | None] = []

    def analyze(self, A: Any, systems: int) -> None:
        self._pattern = None
        self.errors = []
        pattern = _Pattern(A)
        self._solver.analyze(pattern.matrix, systems)
        self._pattern, self._systems = pattern, systems

    def factor(self, values: np.ndarray) -> None:
        self.errors = self._solver.factor(self._analyzed().in_order(values, (self._systems,)))

    def solve(self, b: np.ndarray) -> np.ndarray:
        sides, x = self._sides_of(b)
        self.errors = self._solver.solve(sides, x)
        return x.reshape(self._systems, -1)

    def step(self, values: np.ndarray, b: np.ndarray) -> np.ndarray:
        sides, x = self._sides_of(b)
        self.errors = self._solver.step(self._analyzed().in_order(values, (self._systems,)), sides, x)
        return x.reshape(self._systems, -1)

    def step_device(self, values: Any, b: Any, x: Any, stream: int = 0) -> None:
        """As Solver.step_device(), for all systems: values (systems, nnz), b and x (systems, n)."""
        pattern = self._analyzed()
        arrays = StepArrays(stream, values, b, x, pattern.device_shape((self._systems,)), (self._systems, pattern.n))
        self._hold(arrays)
        self._solver.step_device(*arrays.arguments())

    def wait(self) -> None:
        """Wait for the last step_device(); errors[system] is set then. A system whose pivots do not suit its values
        is "needs_repivot": factor() or step() give it pivots of its own."""
        self.errors = self._release(self._solver.wait)

    @property
    def statistics(self) -> dict[str, Any]:
        return self._solver.statistics()

    def _analyzed(self) -> _Pattern:
        if self._pattern is None:
            raise ValueError("analyze() must succeed first")
        return self._pattern

    def _sides_of(self, b: Any) -> tuple[np.ndarray, np.ndarray]:
        wanted = self._systems, self._analyzed().n
        b = np.asarray(b).astype(np.float64, casting="safe", copy=False)
        if b.shape != wanted:
            raise ValueError(f"b has the shape {b.shape}; {wanted} is expected")
        return np.ascontiguousarray(b).ravel(), np.full(b.size, np.nan)


def option_keys() -> list[str]:
    """The options of Solver."""
    return _core.option_keys()


def _text_of(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    return value if isinstance(value, str) else repr(float(value))


def _sparse(a: Any) -> Any:
    return floats_of(a if issparse(a) else csc_array(a))


def _sorted(a: Any) -> Any:
    b = a.tocsc()
    if not b.has_canonical_format:
        b = b.copy() if b is a else b
        b.sum_duplicates()
    return b


def _places(a: Any) -> tuple[np.ndarray | None, int]:
    """Where each entry of a.data stands by columns and rows, equal places once; None: in its own order."""
    if a.format == "csc" and a.has_canonical_format:
        return None, a.nnz
    coo = a.tocoo()
    order = np.lexsort((coo.row, coo.col))
    row, col = coo.row[order], coo.col[order]
    is_new = np.ones(order.size, bool)
    is_new[1:] = (row[1:] != row[:-1]) | (col[1:] != col[:-1])
    place = np.empty(order.size, np.int64)
    place[order] = np.cumsum(is_new) - 1
    return place, int(np.count_nonzero(is_new))
