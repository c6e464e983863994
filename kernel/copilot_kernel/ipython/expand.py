"""`{expression}` and `$name` in a prompt, from the user's variables, as in IPython's own magics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any

from IPython.utils.text import FullEvalFormatter

_NAME = re.compile(r"\$(\$?)([^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_BRACES = re.compile(r"(?<!\{)\{([^\W\d]\w*)[^{}]*\}(?!\})")


class _Prompt(FullEvalFormatter):
    """`$name` is filled in only if the name exists: "$5" and "$HOME" stay as they are. `$$name` is `$name`."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def parse(self, text: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
        for literal, field, spec, conversion in Formatter.parse(self, text):
            at, kept = 0, ""
            for match in _NAME.finditer(literal):
                kept += literal[at : match.start()]
                at = match.end()
                if match[2].partition(".")[0] not in self._names:
                    kept += match[0]
                elif match[1]:
                    kept += f"${match[2]}"
                else:
                    yield kept, match[2], "", None
                    kept = ""
            yield kept + literal[at:], field, spec, conversion


def expand(text: str, names: Mapping[str, Any]) -> tuple[str, str]:
    """Return `text` with its fields filled in, and a warning if that failed although it names something in `names`.

    As in IPython it is all or nothing: a prompt whose braces hold no expression, such as code, stays as it is.
    Otherwise `{{` and `}}` are literal braces.
    """
    try:
        return str(_Prompt(names).vformat(text, [], names)), ""
    except Exception as error:
        return text, _warning(text, names, error)


def _warning(text: str, names: Mapping[str, Any], error: Exception) -> str:
    if not any(match[1] in names for match in _BRACES.finditer(text)):
        return ""
    why = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"Expressions in braces were not filled in ({why}). Write literal braces as {{{{ and }}}}.\n"
