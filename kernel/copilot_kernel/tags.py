"""Tags around text that others wrote: the agent sees where it begins and ends, and no text can forge its own tag."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import count

_INTRODUCTION = re.compile(r"(?<!\s)(?:\A|[^\S\n]*\n)\s*\[Copilot Kernel\] ")
_SENT_ALONG = re.compile(r"</((?:notebook-cell|notebook-variable|value|attached-file)(?:-[0-9]{1,9})?)>\Z")
"""Last line of a tag in which something goes with a prompt."""


def tagged(name: str, text: str, /, *beside: str, **attributes: object) -> str:
    """`text` in a tag of that name, which neither `text` nor the texts `beside` it contain.

    Attributes without a value are left out.
    """
    given = _given(attributes)
    tag = unused_tag(name, (text, *beside, *given.values()))
    return f"{opening(tag, attributes)}\n{text}\n</{tag}>"


def parts(texts: Mapping[str, str]) -> str:
    """Each text in a tag of its own, by its name; no text contains the tag of another. Empty ones are left out."""
    return "\n".join(tagged(name, text, *texts.values()) for name, text in texts.items() if text)


def typed(text: str) -> str:
    """What a person wrote of a prompt that an agent replays: without what was sent along after it."""
    rest = _INTRODUCTION.split(text, maxsplit=1)[0]
    while end := _SENT_ALONG.match(whole := rest.rstrip(), whole.rfind("\n") + 1):
        start = whole.rfind(f"<{end[1]} ", 0, end.start())
        if start < 0 or whole[start - 1 : start] not in ("", "\n"):
            break
        rest = whole[:start].rstrip()
    return rest


def unused_tag(name: str, texts: Iterable[str]) -> str:
    """`name`, with the first number that makes it a word which none of `texts` contains, in either case."""
    text = "\n".join(texts).casefold()
    if name not in text:
        return name
    numbers = re.findall(rf"{re.escape(name)}-([0-9]{{1,9}})", text)
    taken = {number[:length] for number in numbers for length in range(1, len(number) + 1)}
    return next(f"{name}-{number}" for number in count(2) if str(number) not in taken)


def opening(tag: str, attributes: Mapping[str, object]) -> str:
    """The tag that begins a text."""
    quoted = (f" {name}={json.dumps(value, ensure_ascii=False)}" for name, value in _given(attributes).items())
    return f"<{tag}{''.join(quoted)}>"


def _given(attributes: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in attributes.items() if value}
