"""Completion of commands, of what follows them, and of files, and what is said of commands, without a kernel."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp.messages import AgentInfo, AvailableCommand, Mode, SessionInfo, SessionState
from copilot_kernel.commands.command_context import CommandState
from copilot_kernel.commands.command_table import TABLE
from copilot_kernel.config import Settings
from copilot_kernel.conversation.model import Conversation
from copilot_kernel.errors import AgentExited
from copilot_kernel.jupyter import completion
from copilot_kernel.jupyter.completion import MAX_MATCHES, complete, inspect

STATE = SessionState(
    "s",
    "https://x.example#plan",
    (Mode("https://x.example#plan", "Plan", "thinks first"), Mode("https://x.example#agent", "Agent")),
    options=({"id": "careful", "type": "boolean", "currentValue": True, "name": "Careful"},),
)
COMMANDS = (
    AvailableCommand("review", "Look it over", hint="FILE"),
    AvailableCommand("reset", "Begin again"),
    AvailableCommand("memory show", "What I know"),
    AvailableCommand("$skill"),
    AvailableCommand("mean\nname", "Cannot be typed"),
    AvailableCommand("hidden\x1b[2K"),
)
NOW = CommandState(Settings(), Conversation(state=STATE, commands=COMMANDS), AgentInfo())


class CommandContext:
    """`listing` is what asking the agent for its sessions does."""

    def __init__(self, now: CommandState = NOW, folder: Path | None = None) -> None:
        self.now, self.settings = now, Settings(cwd=str(folder or ""))
        self.listing: Callable[[], Coroutine[Any, Any, Any]] = self.lists
        self.asked = 0

    def situation(self) -> CommandState:
        return self.now

    async def list_sessions(self, here: bool) -> None:
        self.asked += 1
        await self.listing()

    async def lists(self) -> None:
        self.now = replace(self.now, sessions=(SessionInfo("0123456789", title="Plans"),))


async def completed(
    code: str, cursor: int | None = None, command_context: CommandContext | None = None
) -> dict[str, Any]:
    return await complete(code, len(code) if cursor is None else cursor, command_context or CommandContext())


async def matches(code: str, command_context: CommandContext | None = None) -> list[str]:
    return list((await completed(code, command_context=command_context))["matches"])


@pytest.mark.parametrize(
    ("code", "cursor", "found", "start"),
    [
        ("/re", 3, ["/reset", "/review"], 0),
        ("/review", 7, [], 0),
        ("/memory sh", 10, ["/memory show"], 0),
        ("/$", 2, ["/$skill"], 0),
        ("%hel", 4, ["%help"], 0),
        ("😀\n  /res now", 8, ["/reset"], 4),
        ("see /re", 7, [], 7),
        ("/review it", 10, [], 0),
        ("", 0, [], 0),
        ("%mode ", 6, ["agent", "plan"], 6),
        ("%%mode  p", 9, ["plan"], 8),
        ("Hello\n%mode a\nworld", 13, ["agent"], 12),
        ("%options careful o", 18, ["off", "on"], 17),
        ("%nonsense a", 11, [], 10),
    ],
)
async def test_commands_and_what_follows_them(code: str, cursor: int, found: list[str], start: int) -> None:
    reply = await completed(code, cursor)
    assert (reply["matches"], reply["cursor_start"], reply["cursor_end"]) == (found, start, cursor)


async def test_every_command_is_offered() -> None:
    assert await matches("%") == sorted(f"%{name}" for name in TABLE)


async def test_what_cannot_be_typed_is_not_offered() -> None:
    assert await matches("/") == ["/$skill", "/memory show", "/reset", "/review"]


async def test_kinds_and_descriptions_come_with_the_matches() -> None:
    experimental = "_jupyter_types_experimental"
    agents = (await completed("/rev"))["metadata"][experimental]
    modes = (await completed("%mode p"))["metadata"][experimental]
    assert agents == [
        {"start": 0, "end": 4, "text": "/review", "type": "agent's command", "signature": "FILE · Look it over"}
    ]
    assert modes == [{"start": 6, "end": 7, "text": "plan", "type": "mode", "signature": "Plan · thinks first"}]


# -- sessions -------------------------------------------------------------------------------------------------------


async def test_an_agent_that_runs_is_asked_for_its_sessions() -> None:
    assert await matches("%resume ") == ["01234567", "last"]


async def test_an_agent_that_does_not_run_is_not_started() -> None:
    command_context = CommandContext(replace(NOW, info=None, sessions=(SessionInfo("abcdefghij"),)))
    assert (await matches("%delete ", command_context), command_context.asked) == (["abcdefgh"], 0)


async def fails() -> None:
    raise AgentExited("gone")


async def hangs() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("listing", [fails, hangs])
async def test_an_agent_that_does_not_answer_holds_up_nobody(
    listing: Callable[[], Coroutine[Any, Any, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "SESSIONS_LIMIT", 0.01)
    command_context = CommandContext()
    command_context.listing = listing
    assert await matches("%resume ", command_context) == ["last"]


# -- files ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> CommandContext:
    for name in ("notes.txt", "src/main.py", "src/names.py", "my file.txt", "deep/er/notice.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return CommandContext(folder=tmp_path)


@pytest.mark.parametrize(
    ("code", "found", "start"),
    [
        ("@no", ["notes.txt", "deep/er/notice.md"], 1),
        ("Look at (@src/", ["src/main.py", "src/names.py"], 10),
        ("%attach a.png\n@NA", ["src/names.py"], 15),
        ("/review @ma", ["src/main.py"], 9),
        ('see @"my f', ['"my file.txt"'], 5),
        ("anna@no", [], 7),
        ("@../", [], 1),
        ("%attach no", ["notes.txt"], 8),
        ("%attach notes.txt src/m", ["src/main.py"], 18),
        ("%attach my", ["'my file.txt'"], 8),
        ("%attach 'my f", ["'my file.txt'"], 8),
    ],
)
async def test_files(project: CommandContext, code: str, found: list[str], start: int) -> None:
    reply = await completed(code, command_context=project)
    assert (reply["matches"], reply["cursor_start"]) == (found, start)


async def test_mentions_of_cells_come_before_files(
    project: CommandContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = tmp_path / "a.ipynb"
    book.write_text('{"cells": [{"id": "ab1", "cell_type": "code", "source": "Hello\\nyou"}]}')
    monkeypatch.setenv("JPY_SESSION_NAME", str(book))
    assert (await matches("@a", project))[:2] == ["above", "a.ipynb"]
    (found,) = (await completed("See @cell:a", command_context=project))["metadata"]["_jupyter_types_experimental"]
    assert (found["text"], found["type"], found["signature"]) == ("cell:ab1", "mention", "Hello")


async def test_there_are_only_so_many_matches(tmp_path: Path) -> None:
    for number in range(MAX_MATCHES + 5):
        (tmp_path / f"file-{number}").touch()
    assert len(await matches("@file", CommandContext(folder=tmp_path))) == MAX_MATCHES


# -- what is said about the command under the cursor -------------------------------------------------------------------

MODE = "\n\n".join((TABLE["mode"].usage, TABLE["mode"].summary, TABLE["mode"].details))


@pytest.mark.parametrize(
    ("code", "cursor", "about"),
    [
        ("/review a.py", 3, "/review FILE\n\nLook it over"),
        ("/review a.py", 10, "/review FILE\n\nLook it over"),
        ("first\n/reset", 12, "Begin again"),
        ("/memory show it", 9, "What I know"),
        ("/$skill", 2, "/$skill"),
        ("%new", 0, f"%new\n\n{TABLE['new'].summary}"),
        ("%%mode", 5, MODE),
        ("%mode plan", 8, f"{MODE}\n\nPlan: thinks first"),
        ("%mode plan", 3, f"{MODE}\n\nPlan: thinks first"),
        ("%mode nonsense", 8, MODE),
        ("/unknown", 3, None),
        ("/resetting", 3, None),
        ("%unknown", 3, None),
        ("see /review", 6, None),
        ("%new\nsecond line", 8, None),
        ("", 0, None),
    ],
)
async def test_the_command_under_the_cursor_is_explained(code: str, cursor: int, about: str | None) -> None:
    reply = inspect(code, cursor, NOW)
    assert (reply["found"], reply["data"].get("text/plain")) == (about is not None, about)
