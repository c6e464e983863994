"""A kernel in which a cell is run again whose last turn changed files; the agent is a function."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat import TurnEnd, TurnOutcome
from copilot_kernel.chat.net_changes import net_changes
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.errors import CopilotError
from copilot_kernel.pages.page_notebook import PageNotebook
from copilot_kernel.prompts.kernel_session import KernelSession

from ..output.recording import Bundle, RecordingCell, call, said

FILES = "This prompt changed a.py, b.py last time"
SENT = f"ℹ {FILES}. This run starts from the changed files."
HOW = "To send the prompt again, change it or set COPILOT_KERNEL_RERUN=run."
KEPT = f"ℹ Not sent (rerun = keep). {FILES}.\nIts answer is below. {HOW}"
LOST = f"ℹ Not sent (rerun = keep). {FILES}.\nIts answer is not recorded. {HOW}"


def edits(entry_id: int, *paths: str) -> list[ToolCall]:
    return [
        call(number, kind="edit", content=(Diff(path, "old\n", "new\n"),))
        for number, path in enumerate(paths, entry_id)
    ]


@dataclass
class Kernel:
    """A kernel's session; its agent changes two files of `folder` in each turn whose prompt says so."""

    session: KernelSession
    folder: Path
    prompts: list[str]
    fails: bool = False
    stop_reason: str = "end_turn"
    changes: bool = True

    async def ask(self, blocks: Any, view: Any) -> TurnOutcome:
        text = blocks[0].text
        self.prompts.append(text)
        calls = edits(10, "a.py", "b.py") if self.changes and "change" in text else []
        for entry in (said(1, f"# Answer {len(self.prompts)}"), *calls):
            view.show(entry)
        for each in calls:
            (self.folder / each.content[0].path).write_text("new\n", "utf-8")
        turn = TurnOutcome(len(self.prompts), self.stop_reason, "Answer", tuple(calls), "session", "Agent")
        self.session.runner.chat = cast(Any, SimpleNamespace(end_of=self.end_of))
        return replace(turn, failure=CopilotError("The agent ended.")) if self.fails else turn

    async def end_of(self, turn: TurnOutcome) -> TurnEnd:
        self.session.runner.chat = None
        undo: Any = SimpleNamespace(uncertain=lambda number: (), history=SimpleNamespace(content_before=None))
        return TurnEnd(turn, await net_changes(turn, str(self.folder), undo))

    async def run(self, code: str, cell: RecordingCell | None = None, **values: str) -> RecordingCell:
        cell = cell or again()
        cell.source = cell.source or code
        await self.session.run(cell, code, values)
        return cell

    def set(self, value: str) -> None:
        context = self.session.command_context
        context.settings = replace(context.settings, rerun=value)


def again(live: bool = True, cell_id: str = "cell", request_id: str = "") -> RecordingCell:
    """The cell, run once more."""
    cell = RecordingCell(live)
    cell.cell_id = cell.saved_id = cell_id
    cell.widgets = False
    cell.request_id = request_id or cell.request_id
    return cell


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kernel:
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "demo")
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("COPILOT_KERNEL_STATE", str(tmp_path))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.chdir(tmp_path)
    return started(monkeypatch)


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_RERUN", "keep")


def started(monkeypatch: pytest.MonkeyPatch, notebook: PageNotebook | None = None) -> Kernel:
    """A kernel that has just begun."""
    kernel = Kernel(KernelSession(notebook=notebook), Path.cwd(), [])
    kernel.session.notices.is_introduced = True
    monkeypatch.setattr(kernel.session.runner, "ask", kernel.ask)
    return kernel


def outputs(cell: RecordingCell) -> list[tuple[Bundle, Bundle]]:
    """As a notebook saves them."""
    return list(cell.shown.values())
