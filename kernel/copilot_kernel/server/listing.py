"""Settings that are lists of texts, however they are written."""

from __future__ import annotations

from ast import literal_eval
from typing import Any

from traitlets import List, TraitError, Unicode


class TextList(List[str]):
    """A list of texts; `"['a', 'b']"` is one, too.

    On the command line of Jupyter's own server, which parses our options before it knows their types, traitlets takes
    such a text for the only item of the list.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(Unicode(), **options)

    def from_string(self, s: str) -> list[str]:
        """`validate` does the work: traitlets ignores what goes wrong here."""
        return [s]

    def from_string_list(self, s_list: list[str]) -> list[str]:
        """See `from_string`."""
        return list(s_list)

    def validate(self, obj: Any, value: Any) -> list[str]:
        """Raises TraitError."""
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list | tuple):
            items = [text for item in items for text in self._texts(obj, item)]
        return super().validate(obj, items) or []

    def _texts(self, obj: Any, item: Any) -> list[Any]:
        if not (isinstance(item, str) and item.lstrip().startswith("[")):
            return [item]
        try:
            texts = literal_eval(item.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            texts = None
        if not isinstance(texts, list):
            option = f"--{type(obj).__name__}.{self.name}"
            raise TraitError(
                f"{option}: {item!r:.100} is not a list. Write {option}=VALUE once for each value, "
                f"or all of them as {option}=\"['VALUE', 'VALUE']\"."
            )
        return texts
