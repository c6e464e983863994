"""Completion and inspection of our `%commands` and what may follow them, and of the agent's `/commands`.

`@paths` and files to attach are completed, too.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio.to_thread

from ..commands import command_table
from ..commands.command_context import CommandContext, CommandState
from ..errors import CopilotError
from ..places import notebook
from ..prompts.context import completions as mentions
from ..rendering.plain import clean, one_line, prose
from .paths import beneath, everywhere

SESSIONS_LIMIT = 1.0
"""Seconds that the agent may take to list its sessions for a completion."""
MAX_MATCHES = 200
"""Matches of one completion."""

_OURS = re.compile(r"[ \t]*%+([A-Za-z]\w*)(?:[ \t]+(.*))?")
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


async def complete(code: str, cursor: int, context: CommandContext) -> dict[str, Any]:
    """The content of a `complete_reply`; `cursor` counts characters."""
    line = code[:cursor].rpartition("\n")[2]
    word, matches = await _matches(line, context)
    found = [match for match in matches if match.text != word and _can_be_typed(match.text)][:MAX_MATCHES]
    return _reply(found, cursor - len(word), cursor)


async def _matches(line: str, context: CommandContext) -> tuple[str, Iterable[Match]]:
    """The word that is being typed at the end of the line, and what it may become."""
    if (match := _OURS.fullmatch(line)) and match[2] is not None:
        return await _argument(match[1], match[2], context)
    if match := _NAME.fullmatch(line):
        names = (Match(f"%{entry.name}", "command", entry.summary) for entry in command_table.TABLE.values())
        return match[1], _beginning(names, match[1])
    if match := _MENTION.fullmatch(line):
        paths = await _looked_up(everywhere, context, match[1].removeprefix('"'))
        files = [Match(f'"{path}"' if " " in path else path, "file") for path in paths]
        return match[1], [*await _cells(match[1]), *files]
    if match := _SLASH.fullmatch(line):
        found = context.situation().conversation.commands
        theirs = (Match(f"/{each.name}", "agent's command", _joined(each.hint, each.description)) for each in found)
        return match[1], _beginning(theirs, match[1])
    return "", ()


async def _argument(name: str, typed: str, context: CommandContext) -> tuple[str, Iterable[Match]]:
    if name == "attach":
        return await _file(typed, context)
    # Those that were listed last, unless a running agent lists them at once.
    if name in ("resume", "delete") and context.situation().info is not None:
        with suppress(CopilotError, TimeoutError):
            await asyncio.wait_for(context.list_sessions(here=True), SESSIONS_LIMIT)
    start, choices = command_table.complete(name, typed, context.situation())
    found = (Match(choice.word, name, _joined(choice.name, choice.about)) for choice in choices)
    return typed[start:], _beginning(found, typed[start:])


async def _file(typed: str, context: CommandContext) -> tuple[str, Iterable[Match]]:
    """The last of several paths; one with blanks is quoted."""
    match = _LAST_WORD.fullmatch(typed)
    if match is None:
        return "", ()
    paths = await _looked_up(beneath, context, match[1].lstrip("'\""))
    return match[1], [Match(path if path.startswith("~") else shlex.quote(path), "file") for path in paths]


async def _looked_up(find: Callable[[str, str], list[str]], context: CommandContext, typed: str) -> list[str]:
    """Look up paths in a thread: a folder may be slow."""
    return await anyio.to_thread.run_sync(find, context.settings.folder, typed, abandon_on_cancel=True)


async def _cells(typed: str) -> list[Match]:
    """Mentions of the notebook's cells; its file may be large."""
    found = await anyio.to_thread.run_sync(mentions, typed, notebook(), None, abandon_on_cancel=True)
    return [Match(text, "mention", about) for text, about in found]


def _joined(*parts: str) -> str:
    return " · ".join(filter(None, parts))


def _beginning(found: Iterable[Match], word: str) -> list[Match]:
    return sorted((match for match in found if match.text.startswith(word)), key=lambda match: match.text)


def _can_be_typed(text: str) -> bool:
    """Return True if a text can be typed on one line, with nothing hidden in it."""
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


# -- inspection -----------------------------------------------------------------------------------------------------


def inspect(code: str, cursor: int, now: CommandState) -> dict[str, Any]:
    """The content of an `inspect_reply`; plain text, since some of it is the agent's."""
    about = _about(code, cursor, now)
    return {"status": "ok", "found": bool(about), "data": {"text/plain": about} if about else {}, "metadata": {}}


def _about(code: str, cursor: int, now: CommandState) -> str:
    begin = code.rfind("\n", 0, cursor) + 1
    line = code[begin:].partition("\n")[0]
    if match := _OURS.fullmatch(line):
        return _ours(match[1], (match[2] or "").strip(), now) if cursor - begin >= match.start(1) - 1 else ""
    return _theirs(line.strip(), now)


def _ours(name: str, typed: str, now: CommandState) -> str:
    """The help of the command, and what the agent says of the choice that stands after it."""
    if name not in command_table.TABLE:
        return ""
    entry = command_table.TABLE[name]
    start, choices = command_table.complete(name, typed, now)
    chosen = next((f"{each.label}: {each.about}" for each in choices if typed and each.word == typed[start:]), "")
    parts = (entry.usage, entry.summary, entry.details, prose(chosen))
    return "\n\n".join(part for part in parts if part)


def _theirs(line: str, now: CommandState) -> str:
    """The longest name that the line begins with."""
    begun = [each for each in now.conversation.commands if f"{line} ".startswith(f"/{each.name} ")]
    if not begun:
        return ""
    command = max(begun, key=lambda each: len(each.name))
    usage = f"/{command.name} {one_line(command.hint)}" if command.hint else ""
    return "\n\n".join(part for part in (usage, prose(command.description)) if part) or f"/{command.name}"
