"""`copilot-kernel ask`: one turn in the terminal."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskStatus

from ..acp.messages import TextBlock
from ..chat import Chat, Turn, open_chat
from ..chat.attachments import mentions
from ..chat.slash import as_text
from ..config import Settings
from ..conversation.model import ToolCall
from ..errors import CopilotError, UsageError
from ..permissions.rulebook import Rulebook
from .error_text import CANCELLED, FAILED, MISUSED, next_steps
from .printer import StreamPrinter
from .sessions import load_settings
from .terminal import Terminal


def run(arguments: argparse.Namespace) -> int:
    """Run the turn and show it, or print it as JSON; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    outcome: Turn | CopilotError
    try:
        outcome = anyio.run(_ask, _settings(arguments.agent), _prompt(arguments.prompt), arguments.json)
    except UsageError as error:
        outcome = error
    if isinstance(outcome, Turn):
        if arguments.json:
            print(json.dumps(_answer(outcome)))
        return CANCELLED if outcome.stop_reason == "cancelled" else 0
    if not arguments.json:
        raise outcome
    failure = {"type": type(outcome).__name__, "message": str(outcome), "hint": next_steps(outcome)}
    print(json.dumps({"error": failure}))
    return MISUSED if isinstance(outcome, UsageError) else FAILED


def _settings(agent: str | None) -> Settings:
    settings = load_settings(agent)
    book = Rulebook.of(settings)
    for problem in (*settings.problems, *book.problems, *book.warnings):
        print(f"copilot-kernel: {problem}", file=sys.stderr)
    return settings


def _prompt(text: str) -> str:
    prompt = as_text(sys.stdin.read()) if text == "-" else text
    if not prompt.strip():
        raise UsageError("The prompt is empty.", 'For example: copilot-kernel ask "What does this folder hold?"')
    return prompt


async def _ask(settings: Settings, prompt: str, quiet: bool) -> Turn | CopilotError:
    interrupted = anyio.Event()
    async with anyio.create_task_group() as tasks:
        async with open_chat(settings, place="copilot-kernel ask") as chat:
            printer = StreamPrinter(sys.stdout, sys.stderr, on_lost=chat.cancel)
            person = sys.stdin.isatty() and sys.stderr.isatty()
            terminal = Terminal(printer, person=person, quiet=quiet, root=chat.agent.cwd)
            await tasks.start(_cancel_on_signal, chat, interrupted)
            tasks.start_soon(printer.keep_status)
            outcome = await _turn(chat, prompt, terminal)
        tasks.cancel_scope.cancel()
    if interrupted.is_set() and isinstance(outcome, Turn):
        return replace(outcome, stop_reason="cancelled")
    return outcome


async def _turn(chat: Chat, prompt: str, terminal: Terminal) -> Turn | CopilotError:
    """The error as a value: a task group would wrap it in a group."""
    turn = await chat.ask([TextBlock(prompt), *mentions(prompt, chat.agent.cwd)], terminal)
    terminal.finish(turn, await chat.changes(turn))
    return turn.failure or turn


async def _cancel_on_signal(chat: Chat, interrupted: anyio.Event, *, task_status: TaskStatus[None]) -> None:
    """The first one cancels the turn, the second ends the agent."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for _ in signals:
            interrupted.set()
            chat.cancel()


def _answer(turn: Turn) -> dict[str, Any]:
    return {
        "text": turn.text,
        "stop_reason": turn.stop_reason,
        "tool_calls": [_call(call) for call in turn.tool_calls],
        "unasked": turn.unasked,
        "session_id": turn.session_id,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.call_id,
        "title": call.best_title,
        "kind": call.kind,
        "status": call.status,
        "decision": call.decision,
        "unasked": call.unasked.words if call.unasked else "",
        "locations": [{"path": place.path, "line": place.line} for place in call.locations],
        "raw_input": call.raw_input,
        "raw_output": call.raw_output,
    }
