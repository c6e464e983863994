"""Values in a few words: bounded, with secrets hidden, and without calling code of the user's.

Only builtin containers are looked into, through the methods of the builtin type. What else a value is, `other` says:
the caller decides whether that may call `repr`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile
from typing import Any, TypeVar

from ..redaction import HIDDEN, Redactor, is_secret

T = TypeVar("T")

MAX_BITS = 1000
"""Python takes very long to write larger integers, or refuses."""
SLACK = 1000
"""Characters beyond the limit that are searched for secrets: a secret that is cut is not recognized."""
PLAIN_MODULES = frozenset({"datetime", "decimal", "fractions", "uuid", "pathlib", "numpy"})
"""The `repr` of their types is short, and calls nothing of the user's."""

_QUOTED = (str, bytes, bytearray)
_PLAIN = (bool, float, complex, type(None), type(...), range)
_SEQUENCES = ((list, "[", "]"), (tuple, "(", ")"), (set, "{", "}"), (frozenset, "frozenset({", "})"))
_SIZED = (*_QUOTED, dict, list, tuple, set, frozenset, deque, range)


def type_name(kind: type) -> str:
    """The name of a class, whatever its metaclass does."""
    return str(type.__getattribute__(kind, "__name__"))


def module_of(value: object) -> str:
    """The top-level module of a value's class; empty if it does not say."""
    module = type.__getattribute__(type(value), "__module__")
    return module.partition(".")[0] if isinstance(module, str) else ""


def has_method(kind: type, name: str) -> bool:
    """Return True if a class or a base of it defines `name`, without asking its metaclass."""
    return any(name in vars(base) for base in type.__getattribute__(kind, "__mro__"))


def size(value: object) -> str:
    """The length of a builtin value; empty for others, whose `__len__` may be the user's."""
    base = next((base for base in _SIZED if issubclass(type(value), base)), None)
    return "" if base is None else str(base.__len__(value))  # type: ignore[arg-type]


class ValueText:
    """Writes values. `other` describes those that are not builtin.

    `items` bounds each container, `chars` each text; together they may come to a little more than `chars`.
    """

    def __init__(self, redactor: Redactor, other: Callable[[object], str], *, items: int, chars: int) -> None:
        self._redactor, self._other = redactor, other
        self._items, self._chars = items, chars
        self._left = chars

    def of(self, value: object, levels: int = 3) -> str:
        """`value`, with so many levels of containers."""
        self._left = self._chars
        return self._of(value, levels)

    def _of(self, value: object, level: int) -> str:
        text = self._text(value, level)
        self._left -= len(text)
        return text

    def _text(self, value: object, level: int) -> str:
        kind = type(value)
        if kind in _PLAIN:
            return repr(value)
        if kind is int:
            return _integer(value)  # type: ignore[arg-type]
        if issubclass(kind, _QUOTED):
            return self._quoted(value)
        if issubclass(kind, dict):
            return self._named(kind, dict, self._mapping(value, level))  # type: ignore[arg-type]
        for base, opening, closing in _SEQUENCES:
            if issubclass(kind, base):
                return self._sequence(value, base, opening, closing, level)
        if module_of(value) in PLAIN_MODULES and not has_method(kind, "__len__"):
            return self.cut(repr(value))
        return self.cut(self._other(value))

    def cut(self, text: str) -> str:
        """`text` without secrets, and not longer than allowed."""
        shown = self._redactor.text(text[: self._chars + SLACK])
        return shown if len(text) <= self._chars else f"{shown[: self._chars]}…"

    def _quoted(self, value: Any) -> str:
        base: Any = next(base for base in _QUOTED if issubclass(type(value), base))
        return self.cut(base.__repr__(base.__getitem__(value, slice(self._chars + SLACK))))

    def _sequence(self, value: Any, base: Any, opening: str, closing: str, level: int) -> str:
        fields = vars(type(value)).get("_fields")
        if base is tuple and isinstance(fields, tuple) and len(fields) == tuple.__len__(value):
            pairs = zip(fields, tuple.__iter__(value), strict=True)
            return f"{type_name(type(value))}({self._members(pairs, len(fields), '=', level)})"
        count = base.__len__(value)
        if count == 0 and base in (set, frozenset):
            return f"{base.__name__}()"
        shown = [self._of(item, level - 1) for item in self._first(base.__iter__(value), level)]
        comma = "," if base is tuple and count == 1 else ""
        text = f"{opening}{', '.join(shown + _rest(count, len(shown)))}{comma}{closing}"
        return self._named(type(value), base, text)

    def _mapping(self, value: dict[Any, Any], level: int) -> str:
        """A member with a telling name is hidden, and the value in `{"name": "API_KEY", "value": …}`."""
        named = dict.get(value, "name")
        pairs: Iterable[tuple[Any, Any]] = dict.items(value)
        if type(named) is str and is_secret(named) and dict.__contains__(value, "value"):
            pairs = ((key, HIDDEN if key == "value" else item) for key, item in pairs)
        return f"{{{self._members(pairs, dict.__len__(value), ': ', level)}}}"

    def _members(self, pairs: Iterable[tuple[Any, Any]], count: int, sign: str, level: int) -> str:
        shown = []
        for key, item in self._first(pairs, level):
            name = key if sign == "=" else self._of(key, level - 1)
            hidden = type(key) is str and is_secret(key)
            shown.append(f"{name}{sign}{HIDDEN if hidden else self._of(item, level - 1)}")
        return ", ".join(shown + _rest(count, len(shown)))

    def _first(self, items: Iterable[T], level: int) -> Iterator[T]:
        """Return as many as may be shown, and as there is room for."""
        return takewhile(lambda _: self._left > 0, islice(items, self._items if level > 0 else 0))

    def _named(self, kind: type, base: type, text: str) -> str:
        return text if kind is base else f"{type_name(kind)}({text})"


def _integer(value: int) -> str:
    bits = value.bit_length()
    return repr(value) if bits <= MAX_BITS else f"<integer of {bits} bits>"


def _rest(count: int, shown: int) -> list[str]:
    return [f"… {count - shown} more"] if count > shown else []
