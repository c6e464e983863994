"""Questions that some agents put into a permission request, for want of a better place, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def questions(raw_input: Any) -> str:
    """The questions in `raw_input`, each with its options; nothing if they hold anything that we do not know."""
    asked = raw_input.get("questions") if isinstance(raw_input, Mapping) else None
    if not isinstance(asked, list) or not all(map(_is_question, asked)):
        return ""
    return "\n".join(map(_asked, asked))


def _asked(question: Mapping[str, Any]) -> str:
    several = " (any number of these)" if question.get("multiSelect") is True else ""
    head = f"{question['header']}: " if question.get("header") else ""
    options = (f"  - {': '.join(filter(None, option.values()))}" for option in question.get("options", ()))
    return "\n".join((f"{head}{question['question']}{several}", *options))


def _is_question(value: Any) -> bool:
    if not isinstance(value, Mapping) or not set(value) <= {"question", "header", "options", "multiSelect"}:
        return False
    words = (value.get("question"), value.get("header", ""))
    known = isinstance(value.get("multiSelect", False), bool) and isinstance(value.get("options", []), list)
    return known and all(isinstance(each, str) for each in words) and all(map(_is_option, value.get("options", [])))


def _is_option(value: Any) -> bool:
    """`label` comes first."""
    names = tuple(value) if isinstance(value, Mapping) else ()
    return names in (("label",), ("label", "description")) and all(isinstance(value[name], str) for name in names)
