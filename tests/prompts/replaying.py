"""A recorded conversation with a real agent, played again to cells of this process: all that a reader saw of it.

The agent's side is the transcript, spoken in a thread behind a port of loopback; the rest is the kernel's own session,
with the widgets of its questions. In the agent's folder lies what lay there, and edits are made as they are reported.
"""

import asyncio
import json
import re
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from copilot_kernel.errors import CopilotError
from copilot_kernel.prompts.kernel_session import KernelSession
from copilot_kernel.rendering.plain import visible_text
from copilot_widgets.base import WIDGET_VIEW, shortened

from ..agent.replay import Gone, Replay
from ..limits import LIMIT
from ..output.asked import Models
from ..output.recording import Bundle, RecordingCell
from ..real.agents import NOTES
from ..real.turns import Turn, is_method, last_words, turns
from ..rendering.allowed import text_of
from ..trusting import trust_environment
from ..widgets.connected import connected

Json = dict[str, Any]
Records = list[Json]
PROJECT = "/project"
_ONCE = re.compile(r"(copilot-undo-\d+)-[0-9a-f]+")
"""What names a turn beside those of other conversations."""


@dataclass(frozen=True)
class Asked:
    """A question as it stood in the cell, and its buttons from left to right, with what stands between them."""

    bundle: Bundle
    buttons: list[str]


@dataclass
class Cell:
    """What its reader saw: each question when it came, and what stands there at the end; `sent` is all in between."""

    questions: list[Asked] = field(default_factory=list)
    outputs: list[Bundle] = field(default_factory=list)
    sent: list[Bundle] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    """HTML that widgets have shown."""


def played(records: Records) -> list[Cell]:
    """The conversation's cells, each run to its end."""
    with tempfile.TemporaryDirectory(prefix="played-") as folder:
        work = Path(folder).resolve() / "project"
        work.mkdir()
        (work / "notes.txt").write_text(NOTES)
        here: Records = json.loads(json.dumps(records).replace(PROJECT, str(work)))
        with (
            _agent(here) as address,
            _alone(Path(folder), work, address),
            _widgets() as models,
            asyncio.Runner() as runner,
        ):
            cells = runner.run(asyncio.wait_for(_run(here, models), LIMIT))
        return [_named(cell, str(work)) for cell in cells]


def _named(cell: Cell, work: str) -> Cell:
    """The folder by its name in the transcript, and nothing that is another one each time."""

    def named(bundle: Bundle) -> Bundle:
        return json.loads(_ONCE.sub(r"\1", json.dumps(bundle).replace(work, PROJECT)))

    return Cell(
        [Asked(named(asked.bundle), asked.buttons) for asked in cell.questions],
        [named(output) for output in cell.outputs],
        cell.sent,
        cell.labels,
    )


# -- the agent ------------------------------------------------------------------------------------------------------


@contextmanager
def _agent(records: Records) -> Iterator[str]:
    """The address of an agent that says what the transcript says, to the first client that comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LIMIT)
        thread = Thread(target=_speak, args=(server, records), daemon=True)
        thread.start()
        yield "tcp://{}:{}".format(*server.getsockname())
    thread.join(LIMIT)


def _speak(server: socket.socket, records: Records) -> None:
    with suppress(OSError):
        connection, _ = server.accept()
        with connection, connection.makefile("r", encoding="utf-8") as heard, suppress(Gone):

            def say(message: Json) -> None:
                _edit(message)
                connection.sendall(json.dumps(message).encode() + b"\n")

            Replay(records, heard, say).run()


def _edit(message: Json) -> None:
    """The agent has changed the file itself when it says so."""
    update = message.get("params", {}).get("update", {})
    parts = update.get("content") if update.get("status") == "completed" else []
    for part in parts if isinstance(parts, list) else []:
        if part.get("type") == "diff":
            with suppress(OSError, ValueError):
                path, old = Path(part["path"]), part.get("oldText") or ""
                text = path.read_text() if path.exists() else ""
                path.write_text(text.replace(old, part["newText"], 1) if old else part["newText"])


# -- the reader -----------------------------------------------------------------------------------------------------


@contextmanager
def _alone(folder: Path, work: Path, address: str) -> Iterator[None]:
    """No settings but these; no time passes in a turn; who else uses this machine does not matter."""
    settings = {
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "COPILOT_KERNEL_AGENT": address,
        "COPILOT_KERNEL_CWD": str(work),
        "COPILOT_KERNEL_STATE": str(folder / "state"),
        "HOME": str(folder),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("JPY_SESSION_NAME", raising=False)
        for name, value in settings.items():
            patch.setenv(name, value)
        trust_environment({})
        patch.setattr("copilot_kernel.chat.chat.time", SimpleNamespace(monotonic=lambda: 0.0))
        patch.setattr("copilot_kernel.acp.tcp.exposed_to", lambda agent: "")
        yield


@contextmanager
def _widgets() -> Iterator[Models]:
    with pytest.MonkeyPatch.context() as patch, contextmanager(connected)(patch, Models()) as models:
        yield models


async def _run(records: Records, models: Models) -> list[Cell]:
    session = KernelSession()
    session.notices.is_introduced = True
    try:
        cells, said = [], _said(records[: -sum(len(turn.records) for turn in turns(records))])
        for turn in turns(records) or [Turn(records)]:
            cells.append(await _Reader(session, models, turn, said).read())
            said += _said(turn.records)
        return cells
    finally:
        await session.runner.close()


def _said(records: Records) -> int:
    return sum(record["from"] == "agent" for record in records)


class _Reader:
    """Does in one cell what the client of the transcript did; the agent had said so much `before`."""

    def __init__(self, session: KernelSession, models: Models, turn: Turn, before: int) -> None:
        self._session, self._models, self._turn, self._before = session, models, turn, before
        self._recorded, self._cell = RecordingCell(), Cell()

    async def read(self) -> Cell:
        running = asyncio.create_task(self._execute())
        said, asked = self._before, 0
        for record in self._turn.records:
            said += record["from"] == "agent"
            asked += is_method(record, "session/request_permission")
            click, is_cancel = self._turn.click(record), is_method(record, "session/cancel")
            if click or is_cancel:
                await self._has_heard(said)
                await self._seen(asked)
            if click:
                self._models.click(self._button(*click))
            elif is_cancel:
                assert self._session.runner.cancel()
        await running
        await self._has_heard(said)
        for update in self._turn.late if self._turn.cancelled else ():
            await self._shows(last_words(update))
        self._cell.sent = [bundle for _, bundle in self._recorded.sent]
        self._cell.outputs = [each for each in self._recorded.outputs if each.get("text/plain") or WIDGET_VIEW in each]
        return self._cell

    async def _execute(self) -> None:
        with suppress(CopilotError):
            await self._session.run(self._recorded, "Follow the transcript.")

    @property
    def _heard(self) -> int:
        """Messages of the agent's that were read."""
        chat = self._session.runner.chat
        return sum(direction == "<" for direction, _ in chat.agent.log.lines) if chat else 0

    async def _has_heard(self, count: int) -> None:
        await _until(lambda: self._heard >= count)

    async def _seen(self, count: int) -> None:
        """Wait until so many questions have come, and look at those that are new."""
        await _until(lambda: len(self._roots) >= count)
        await self._models.released()
        for root in self._roots[len(self._cell.questions) :]:
            outputs = self._recorded.outputs
            at = next(at for at, output in enumerate(outputs) if _root(output) == root)
            self._cell.questions.append(Asked(outputs[at - 1], list(self._words(root))))
            self._cell.labels |= {str(self._models.models[each].get("value", "")) for each in self._inside(root)}

    async def _shows(self, words: str) -> None:
        start = re.sub(r"\s+", "", words)[:12]
        await _until(lambda: start in re.sub(r"\s+", "", "".join(map(_text, self._recorded.outputs))))

    @property
    def _roots(self) -> list[str]:
        """The boxes with the buttons of a question, in the order in which they came."""
        sent = (bundle for _, bundle in self._recorded.sent)
        return list(dict.fromkeys(filter(None, map(_root, sent))))

    def _button(self, name: str, number: int) -> str:
        """Of question `number` the one for an answer of this name."""
        label, models = shortened(visible_text(name)), self._models.models
        buttons = {key: str(models[key].get("description")) for key in self._inside(self._roots[number])}
        return next(key for key, text in buttons.items() if text == label or text.startswith(f"{label} ("))

    def _inside(self, model: str) -> Iterator[str]:
        yield model
        for child in self._models.models[model].get("children", ()):
            yield from self._inside(child.removeprefix("IPY_MODEL_"))

    def _words(self, model: str) -> Iterator[str]:
        """What is seen of a widget."""
        state = self._models.models[model]
        layout = self._models.models[state["layout"].removeprefix("IPY_MODEL_")]
        if layout.get("display") == "none":
            return
        if state["_model_name"] == "ButtonModel":
            yield f"[{state['description']}]"
        elif state["_model_name"] == "HTMLModel" and (words := _seen_of(str(state["value"]))):
            yield words
        for child in state.get("children", ()):
            yield from self._words(child.removeprefix("IPY_MODEL_"))


def _seen_of(html: str) -> str:
    return text_of(re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)).strip()


def _text(bundle: Bundle) -> str:
    return str(bundle.get("text/plain", ""))


def _root(bundle: Bundle) -> str:
    return str(bundle.get(WIDGET_VIEW, {}).get("model_id", ""))


async def _until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + LIMIT / 2
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.001)
