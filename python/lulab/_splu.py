"""splu with the interface of scipy.sparse.linalg.splu."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from . import _core
from ._arrays import RightSides, arrays_of, canonical, floats_of, matrix_of, transposed


class _OwnedBy:
    """An array that keeps its owner alive, as SciPy's perm_r and perm_c do."""

    def __init__(self, array: np.ndarray, owner: object) -> None:
        self.__array_interface__ = array.__array_interface__
        self.owner = owner, array


class SuperLU:
    """Factors of a matrix: Pr @ A @ Pc = L @ U, as scipy.sparse.linalg.SuperLU has them. Made by splu().

    Threads may share one; those that solve at the same time wait for each other.
    """

    def __init__(self, solver: _core.Solver, n: int, dtype: np.dtype) -> None:
        self._solver = solver
        self._n = n
        self._dtype = dtype
        self._factors: tuple | None = None

    def solve(self, rhs: np.ndarray, trans: str = "N") -> np.ndarray:
        """Solve A @ x = rhs ("N") or A.T @ x = rhs ("T", "H"); rhs: (n,) or (n, k).

        x is refined where its backward error is above 1e-14; LinAlgWarning where that does not help.
        """
        is_transposed = transposed(trans)
        sides = RightSides(rhs, self._n, self._dtype)
        if sides.x.size > 0:
            refined = self._solver.solve(sides.b, sides.x, sides.columns, is_transposed)
            warn_of(refined, sides.b)
        return sides.solution()

    @property
    def shape(self) -> tuple[int, int]:
        return self._n, self._n

    @property
    def nnz(self) -> int:
        """Entries of L and U, the ones of L among them."""
        return int(self.L.nnz + self.U.nnz)

    @property
    def L(self) -> csc_array:
        """Unit lower triangular, in the type of A."""
        return self._taken()[0]

    @property
    def U(self) -> csc_array:
        return self._taken()[1]

    @property
    def perm_r(self) -> np.ndarray:
        """Row i of A is row perm_r[i] of L @ U."""
        return np.asarray(_OwnedBy(self._taken()[2], self))

    @property
    def perm_c(self) -> np.ndarray:
        """Column j of A is column perm_c[j] of L @ U."""
        return np.asarray(_OwnedBy(self._taken()[3], self))

    def __reduce__(self):
        raise TypeError("cannot pickle 'SuperLU' object")

    def _taken(self) -> tuple:
        if self._factors is None:
            lower, upper, p, q, _, _ = self._solver.factors(True)
            self._factors = (matrix_of(lower), matrix_of(upper), _inverse(p), _inverse(q))
        return self._factors


def _inverse(p: np.ndarray) -> np.ndarray:
    inverse = np.empty_like(p)
    inverse[p] = np.arange(p.size, dtype=p.dtype)
    return inverse


def warn_of(refined: tuple, b: np.ndarray) -> None:
    """Of an x that may be wrong. NaN and infinity in b are no surprise."""
    converged, omega = refined[:2]
    if converged or not np.isfinite(b).all():
        return
    from scipy.linalg import LinAlgWarning
    warnings.warn(f"the backward error of x is {omega:.1e}: A may be singular to working precision", LinAlgWarning,
                  stacklevel=3)


_ORDERS = {"NATURAL": "natural", "MMD_ATA": "auto", "MMD_AT_PLUS_A": "auto", "COLAMD": "auto"}
# What tunes SuperLU's code, and has nothing to tune here.
_WITHOUT_EFFECT = {"PanelSize", "Relax", "PrintStat", "PivotGrowth", "ConditionNumber", "Trans", "SymmetricMode"}
_PIVOTING = "06_pruned"  # the rung that picks rows by value, column by column, as SuperLU does


def _options_of(given: dict[str, Any]) -> dict[str, str]:
    options = {"backward_error": "1e-14", "expected_steps": "1"}
    for key, value in given.items():
        if value is None:
            continue
        if key == "ColPerm":
            if not isinstance(value, str) or value.upper() not in _ORDERS:
                raise ValueError("invalid value for 'ColPerm' parameter")
            options["order"] = _ORDERS[value.upper()]
        elif key == "DiagPivotThresh":
            # A fraction of the largest entry of the column; below 0 and above 1 it means what 0 and 1 mean.
            options["pivot_tol"] = repr(min(max(float(value), 0.0), 1.0))
            options["rung"] = _PIVOTING
            options.setdefault("scaling", "off")  # so that it is the entries of A that are compared
        elif key == "Equil":
            options["scaling"] = "on" if value else "off"
        elif key == "IterRefine":
            if value not in ("NOREFINE", "SINGLE", "DOUBLE", "EXTRA"):
                raise ValueError("invalid value for 'IterRefine' parameter")
            if value != "NOREFINE":
                options["refine"] = "always"
        elif key not in _WITHOUT_EFFECT:
            raise TypeError(f"{key!r} is an invalid keyword argument for this function")
    return options


def splu(A: Any, permc_spec: str | None = None, diag_pivot_thresh: float | None = None, relax: int | None = None,
         panel_size: int | None = None, options: dict[str, Any] | None = None) -> SuperLU:
    """LU factorization of a sparse square matrix, called as scipy.sparse.linalg.splu.

    Rows are matched to columns by value before anything else, so that pivots on the diagonal are large; they are
    checked, and chosen by value where they do not do. With diag_pivot_thresh they are chosen by value in any case.
    permc_spec "NATURAL" keeps the order of the columns; the other names leave the choice to lulab. relax, panel_size
    and options that tune SuperLU have no effect.

    Raises ValueError (not square, NaN or infinity in A), TypeError (complex A), SingularError, a RuntimeError.
    """
    A = floats_of(canonical(A, "splu"))
    m, n = A.shape
    if m != n:
        raise ValueError("can only factor square matrices")
    given = {"DiagPivotThresh": diag_pivot_thresh, "ColPerm": permc_spec, "PanelSize": panel_size, "Relax": relax}
    given.update(options or {})
    solver = _core.Solver(A.dtype == np.float32, _options_of(given))
    arrays = arrays_of(A)
    solver.analyze(arrays)
    solver.factor(arrays[4])
    return SuperLU(solver, n, A.dtype)
