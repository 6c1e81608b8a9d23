"""LU factorization of sparse matrices.

    splu(A)      the interface of scipy.sparse.linalg.splu
    Solver()     analyze a pattern once, refactor and solve for new values often; BatchSolver() for many at once
    judge(...)   are these LU factors of A?
    generate(...), read_matrix_market(...), write_matrix_market(...)
"""

from ._core import version as __version__
from ._errors import LulabError, SingularError
from ._matrices import generate, generator_families, judge, read_matrix_market, write_matrix_market
from ._solver import BatchSolver, Factors, Solver, option_keys
from ._splu import SuperLU, splu

__all__ = [
    "BatchSolver", "Factors", "LulabError", "SingularError", "Solver", "SuperLU", "__version__", "generate",
    "generator_families", "judge", "option_keys", "read_matrix_market", "splu", "write_matrix_market",
]
