"""Summaries of pandas', polars' and numpy's values. None of the three is imported here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..redaction import is_secret
from .values import module_of, type_name

MAX_COLUMNS = 200
MAX_COUNTED_ROWS = 1_000_000
MAX_COUNTED_CELLS = 10_000_000
"""Nulls are counted in smaller tables only."""
HIDDEN_COLUMNS = "(columns whose names suggest secrets are left out)"

_TYPES = {
    "pandas": ("DataFrame", "Series", "Index"),
    "polars": ("DataFrame", "Series"),
    "numpy": ("ndarray",),
}
_ATTRIBUTES = frozenset({"columns", "dtypes", "dtype", "index", "shape", "name"})


def is_table(value: object) -> bool:
    """Return True if `value` is summarized here. A user's subclass is not: its methods are the user's."""
    library = module_of(value)
    names = (type_name(base) for base in type.__getattribute__(type(value), "__mro__"))
    return library in _TYPES and any(name in _TYPES[library] for name in names)


def shape(value: Any) -> str:
    """Return the shape, such as `100×3`; the length of a series."""
    return "×".join(map(str, value.shape))


def brief(value: Any) -> str:
    """The names of the columns, or the type of the elements."""
    if not _has_columns(value):
        return str(value.dtype)
    return ", ".join(str(name) for name in list(value.columns)[:MAX_COLUMNS])


def attribute(value: Any, name: str) -> Any:
    """One of the attributes that describe a table. Raises AttributeError for others."""
    if name not in _ATTRIBUTES:
        raise AttributeError(name)
    return getattr(value, name)


def summary(value: Any, rows: int) -> str:
    """Columns with types and nulls, and the first rows."""
    if module_of(value) == "numpy":
        return _array(value, rows)
    if not _has_columns(value):
        return _column(value, rows)
    names = list(value.columns)
    return "\n".join([*_columns(value, names), f"first {rows} rows:", *_head(value, names, rows)])


def _has_columns(value: Any) -> bool:
    return any(type_name(base) == "DataFrame" for base in type.__getattribute__(type(value), "__mro__"))


def _array(value: Any, rows: int) -> str:
    import numpy

    elements = numpy.array2string(value, threshold=100, edgeitems=min(rows, 10), max_line_width=120)
    return f"dtype: {value.dtype}\n{elements}"


def _column(value: Any, rows: int) -> str:
    nulls = _null_counts(value)
    head = str(value.head(rows)) if hasattr(value, "head") else repr(value[:rows])
    return f"dtype: {value.dtype}{_in_words(nulls[0])}\nfirst {rows} rows:\n{head}"


def _columns(value: Any, names: Sequence[Any]) -> list[str]:
    nulls = _null_counts(value)
    described = zip(names[:MAX_COLUMNS], value.dtypes, nulls, strict=False)
    lines = [f"  {name}: {dtype}{_in_words(count)}" for name, dtype, count in described]
    left = len(names) - len(lines)
    counted = [] if nulls[0] is not None else ["(nulls are not counted in a table of this size)"]
    return ["columns:", *lines, *([f"  … {left} more"] if left > 0 else []), *counted]


def _head(value: Any, names: Sequence[Any], rows: int) -> list[str]:
    """The first rows; of a wide table, pandas and polars show some of the columns."""
    shown = [number for number, name in enumerate(names) if not is_secret(str(name))]
    head = value.head(rows)
    head = head[:, shown] if module_of(value) == "polars" else head.iloc[:, shown]
    text = head.to_string(max_cols=20, max_colwidth=60) if hasattr(head, "to_string") else str(head)
    return [text, *([HIDDEN_COLUMNS] if len(shown) < len(names) else [])]


def _null_counts(value: Any) -> Sequence[int | None]:
    """Count missing values for each column; None where that would take too long."""
    width = len(value.columns) if _has_columns(value) else 1
    rows = len(value)
    if rows > MAX_COUNTED_ROWS or rows * width > MAX_COUNTED_CELLS:
        return [None] * max(width, 1)
    if module_of(value) == "polars":
        counts: Iterable[int] = value.null_count().row(0) if _has_columns(value) else [value.null_count()]
    else:
        found = value.isna().sum()
        counts = found.tolist() if _has_columns(value) else [found]
    return [int(count) for count in counts] or [0]


def _in_words(count: int | None) -> str:
    return f", {count} nulls" if count else ""
