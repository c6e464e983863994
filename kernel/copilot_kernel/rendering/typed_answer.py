"""Answers in a line of text, where there are no buttons."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ..conversation.form import InputError
from ..permissions import policy
from ..permissions.question import PermissionAnswer, Question
from .permission_options import label, remark
from .plain import clean, unbroken

T = TypeVar("T")

MAX_ATTEMPTS = 10
"""Lines of input that answer nothing, before the question counts as not answered."""
_BECAUSE = re.compile(r"\s+because\s+(?=\S)", re.IGNORECASE)


def line_prompt(question: Question) -> str:
    """All answers with their numbers on one line, and how to give a reason."""
    numbered = enumerate(zip(_names(question), map(remark, question.options), strict=True), 1)
    listed = (f"{number}) {name} ({words})" if words else f"{number}) {name}" for number, (name, words) in numbered)
    reject = policy.reject(question.options)
    is_asked_why = reject is not None and question.call is not None
    hint = f" (“{question.options.index(reject) + 1} because …” tells the agent why)" if is_asked_why else ""
    return f"{'  '.join(listed)}{hint}: "


async def read_line(ask: Callable[[str], Awaitable[str]], prompt: str, read: Callable[[str], T]) -> T:
    """Return what `read` makes of the first line that it takes; of another, it raises InputError, which is told.

    Raises EOFError at the end of input, which `ask` raises, and after too many lines.
    """
    mistake = ""
    for _ in range(MAX_ATTEMPTS):
        line = await ask(mistake + prompt)
        try:
            return read(line)
        except InputError as error:
            mistake = f"{error} " if str(error) else ""
    raise EOFError("no valid line was typed")


def typed_answer(question: Question, line: str) -> PermissionAnswer:
    """The answer in `line`: a number or name, for a rejection also `because` and a reason. Raises InputError."""
    names, options = _names(question), question.options
    if (index := find_index(line, names)) is not None:
        return PermissionAnswer(options[index], "you")
    for found in _BECAUSE.finditer(line):
        if (index := find_index(line[: found.start()], names)) is not None:
            answer = PermissionAnswer(options[index], "you", feedback=unbroken(clean(line[found.end() :])))
            if answer.rejects:
                return answer
    raise InputError


def _names(question: Question) -> list[str]:
    return [label(question, option) for option in question.options]


def find_index(typed: str, *names: Sequence[str]) -> int | None:
    """The index whose number was typed, or else a name that no other has; several `names` are tried in turn."""
    word = " ".join(typed.split()).casefold()
    numbers = [str(number) for number in range(1, len(names[0]) + 1)]
    for known in (numbers, *names):
        found = [index for index, name in enumerate(known) if name.casefold() == word]
        if len(found) == 1:
            return found[0]
    return None
