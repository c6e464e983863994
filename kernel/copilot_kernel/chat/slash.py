"""A `/` at the start of a prompt: agents take what follows it for a command, so it must be meant as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..acp.messages import Block, TextBlock

AS_TEXT = "What follows is text, not a command:\n"
_SLASH = re.compile(r"[\s\ufeff]*/")


def has_slash(blocks: Sequence[Block]) -> bool:
    """Whether an agent could take the prompt for a command."""
    return bool(blocks) and isinstance(blocks[0], TextBlock) and _SLASH.match(blocks[0].text) is not None


def as_text(text: str) -> str:
    """`text`, with words before it if an agent could take it for a command."""
    return AS_TEXT + text if has_slash([TextBlock(text)]) else text


def is_one_of(line: str, names: Iterable[str]) -> bool:
    """Whether `line` is a command with one of the names. Names may hold spaces."""
    rests = (line.removeprefix(f"/{name}") for name in names)
    return any(rest != line and (not rest or rest[0].isspace()) for rest in rests)


def checked(blocks: Sequence[Block], names: Iterable[str]) -> Sequence[Block]:
    """The prompt; as text, if it begins with `/` and is none of the agent's commands, which have these `names`."""
    match blocks:
        case [TextBlock(text), *rest] if has_slash(blocks) and not is_one_of(text.strip(), names):
            return (TextBlock(as_text(text)), *rest)
    return blocks
