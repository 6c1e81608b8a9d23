"""What the compiled half raises."""

from __future__ import annotations


class LulabError(RuntimeError):
    """A numerical phase or the machine failed. `code` is the status of lulab, such as "needs_repivot"; `rows` and
    `columns` are those of A, from 0, where they are known."""

    def __init__(self, message: str, code: str = "", rows: list[int] | None = None,
                 columns: list[int] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.rows = rows or []
        self.columns = columns or []

    def __reduce__(self):
        return type(self), (str(self), self.code, self.rows, self.columns)


class SingularError(LulabError):
    """A is singular, by its pattern or by its values."""


def error_of(code: str, message: str, rows: list[int], columns: list[int]) -> Exception:
    if code in ("invalid_argument", "parse_error"):
        return ValueError(message)
    if code == "out_of_memory":
        return MemoryError(message)
    if code == "not_implemented":
        return NotImplementedError(message)
    if code in ("structurally_singular", "numerically_singular"):
        return SingularError(f"Factor is exactly singular: {message}", code, rows, columns)  # SciPy's words first
    return LulabError(message, code, rows, columns)
