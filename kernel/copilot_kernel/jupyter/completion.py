"""Completion: our `%commands` and what may follow them, the agent's `/commands`, `@paths` and files to attach."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..errors import CopilotError
from ..frontend.arguments import offer
from ..frontend.context import CommandContext
from ..frontend.situation import Situation
from ..frontend.table import TABLE
from ..rendering.plain import clean, one_line
from .paths import beneath, everywhere

SESSIONS_LIMIT = 1.0
"""Seconds that the agent may take to list its sessions for a completion."""
MOST = 200
"""Matches of one completion."""

_TYPED = re.compile(r"[ \t]*%+([A-Za-z]\w*)([ \t]+)(.*)")
_NAME = re.compile(r"[ \t]*(%\w*)")
_SLASH = re.compile(r"[ \t]*(/.*)")
_MENTION = re.compile(r"""(?:|.*[\s(\[{<,;:'"])@("[^"]*|[^\s"@]*)""")
_LAST_WORD = re.compile(r"""(?:|.*[ \t])('[^']*|"[^"]*|[^ \t'"]*)""")


@dataclass(frozen=True, slots=True)
class Match:
    """`text` replaces the word that was typed; `kind` is shown beside it, `about` is the rest of what is known."""

    text: str
    kind: str
    about: str = ""


async def complete(code: str, cursor: int, command_context: CommandContext) -> dict[str, Any]:
    """The content of a `complete_reply`; `cursor` counts characters."""
    line = code[:cursor].rpartition("\n")[2]
    word, matches = await _matches(line, command_context)
    found = [match for match in matches if match.text != word and _can_be_typed(match.text)][:MOST]
    return _reply(found, cursor - len(word), cursor)


async def _matches(line: str, command_context: CommandContext) -> tuple[str, Iterable[Match]]:
    """The word that is being typed at the end of the line, and what it may become."""
    if match := _TYPED.fullmatch(line):
        return await _argument(match[1], match[3], command_context)
    if match := _NAME.fullmatch(line):
        names = (Match(f"%{entry.name}", "command", entry.summary) for entry in TABLE.values())
        return match[1], _beginning(names, match[1])
    if match := _MENTION.fullmatch(line):
        paths = await everywhere(command_context.settings.folder, match[1].removeprefix('"'))
        return match[1], [Match(f'"{path}"' if " " in path else path, "file") for path in paths]
    if match := _SLASH.fullmatch(line):
        return match[1], _beginning(agents_commands(command_context.situation()), match[1])
    return "", ()


async def _argument(name: str, typed: str, command_context: CommandContext) -> tuple[str, Iterable[Match]]:
    if name == "attach":
        return await _file(typed, command_context)
    if name in ("resume", "delete"):
        await _list_sessions(command_context)
    start, choices = offer(name, typed, command_context.situation())
    found = (Match(choice.word, name, _joined(choice.name, choice.about)) for choice in choices)
    return typed[start:], _beginning(found, typed[start:])


async def _file(typed: str, command_context: CommandContext) -> tuple[str, Iterable[Match]]:
    """The last of several paths; one with blanks is quoted."""
    match = _LAST_WORD.fullmatch(typed)
    if match is None:
        return "", ()
    paths = await beneath(command_context.settings.folder, match[1].lstrip("'\""))
    return match[1], [Match(path if path.startswith("~") else shlex.quote(path), "file") for path in paths]


async def _list_sessions(command_context: CommandContext) -> None:
    """Those that were listed last, unless the agent, if it runs, lists them at once."""
    if command_context.situation().info is not None:
        with suppress(CopilotError, TimeoutError):
            await asyncio.wait_for(command_context.list_sessions(here=True), SESSIONS_LIMIT)


def agents_commands(now: Situation) -> list[Match]:
    """The agent's `/commands`."""
    found = now.conversation.commands
    return [Match(f"/{each.name}", "agent's command", _joined(each.hint, each.description)) for each in found]


def _joined(*parts: str) -> str:
    return " · ".join(filter(None, parts))


def _beginning(found: Iterable[Match], word: str) -> list[Match]:
    return sorted((match for match in found if match.text.startswith(word)), key=lambda match: match.text)


def _can_be_typed(text: str) -> bool:
    """On one line, with nothing hidden in it."""
    return text != "" and text == clean(text) and "\n" not in text


def _reply(found: list[Match], start: int, end: int) -> dict[str, Any]:
    place = {"start": start, "end": end}
    types = [place | {"text": each.text, "type": each.kind, "signature": one_line(each.about)} for each in found]
    return {
        "status": "ok",
        "matches": [match.text for match in found],
        "cursor_start": start,
        "cursor_end": end,
        "metadata": {"_jupyter_types_experimental": types},
    }
