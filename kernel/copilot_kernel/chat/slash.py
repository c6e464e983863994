"""A `/` at the start of a prompt: agents take what follows it for a command, so it must be meant as one.

What a command changes that we rely on is asked about, or refused; see `permissions/agent_changes.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..acp.messages import Block, PermissionOption, TextBlock
from ..conversation.model import ToolCall
from ..errors import UsageError
from ..permissions.agent_changes import AgentChange, Kind
from ..permissions.question import Question
from ..rendering.plain import visible_line
from .turn import View

AS_TEXT = "What follows is text, not a command:\n"
ANSWERS = PermissionOption("send", "Send it", "allow_once"), PermissionOption("refuse", "Don't send", "reject_once")
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


async def admitted(blocks: Sequence[Block], rows: Iterable[AgentChange], view: View) -> list[tuple[Kind, str]]:
    """The command in the prompt with the kind of each change of `rows` that it makes, if the user lets it.

    Raises UsageError.
    """
    line = blocks[0].text.strip() if isinstance(blocks[0], TextBlock) else ""
    named = [row for row in rows if row.command and is_one_of(line, [row.command])]
    made = [row for row in named if row.applies(" ".join(line.removeprefix(f"/{row.command}").split()))]
    command = visible_line(" ".join(line.split()))
    for row in made:
        if row.kind == "place":
            raise UsageError(f"{command} was not sent: it would change where the agent works.", f"{row.says}.")
        call = ToolCall(id=-1_000_001, turn=0, call_id="", title=command, kind="other")  # none of the agent's
        question = Question(-call.id, call, ANSWERS, f"{row.says}.", head=f"Send {command}?", widens=True)
        if row.kind != "turns" and not (answer := await view.ask(question)).allows:
            raise UsageError(f"{command} was not sent: {answer.words(ANSWERS)}.")
    return [(row.kind, f"{command[:60]}…" if command[60:] else command) for row in made]
