"""A question answered in a line of text, where there are no buttons: what to ask, and what a line means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from ..permissions import policy
from ..permissions.question import Answer, Question
from .plain import one_line, visible_text
from .reasons import remark

T = TypeVar("T")

_BECAUSE = re.compile(r"\s+because\s+(?=\S)", re.IGNORECASE)


def names(question: Question) -> list[str]:
    """The options' names, each on one line, with nothing hidden."""
    return [" ".join(visible_text(option.name).split()) or option.kind for option in question.options]


def offered(question: Question) -> list[str]:
    """The names, with what must be said beside them."""
    remarks = (remark(option) for option in question.options)
    return [f"{name} ({words})" if words else name for name, words in zip(names(question), remarks, strict=True)]


def prompt(question: Question) -> str:
    """All answers with their numbers on one line, and how to give a reason."""
    listed = "  ".join(f"{number}) {line}" for number, line in enumerate(offered(question), 1))
    return f"{listed}{reason_hint(question)}: "


def reason_hint(question: Question) -> str:
    """How to say no with a reason; nothing where there is no plain no."""
    reject = policy.reject(question.options)
    if reject is None:
        return ""
    return f" (“{question.options.index(reject) + 1} because …” tells the agent why)"


def typed_answer(line: str, question: Question) -> Answer | None:
    """What `line` answers: a number or a name, for a no also `because` and a reason; None if that is no answer."""
    if (option := named(line, names(question), question.options)) is not None:
        return Answer(option, "you")
    for found in _BECAUSE.finditer(line):
        option = named(line[: found.start()], names(question), question.options)
        if option is not None and (answer := Answer(option, "you", feedback=one_line(line[found.end() :]))).rejects:
            return answer
    return None


def named(typed: str, names: Sequence[str], options: Sequence[T]) -> T | None:
    """The option whose number or (unambiguous) name was typed."""
    word = " ".join(typed.split()).casefold()
    numbers = [str(number) for number in range(1, len(options) + 1)]
    if word in numbers:
        return options[numbers.index(word)]
    found = [option for name, option in zip(names, options, strict=True) if name.casefold() == word]
    return found[0] if len(found) == 1 else None
