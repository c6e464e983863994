"""A kernel's session in this process, with cells that record; its agent is the demo agent, a process of its own."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from copilot_kernel.errors import CopilotError
from copilot_kernel.prompts.kernel_session import KernelSession

from ..limits import LIMIT
from ..output.recording import Bundle, RecordingCell
from ..trusting import trust_environment


@dataclass
class Outcome:
    """What a cell shows in the end, and its error."""

    text: str
    error: CopilotError | None = None
    outputs: Sequence[tuple[Bundle, Bundle]] = ()
    """Data and metadata, as they are in the end."""


class Session:
    """Cells run one after another; `%new` makes the agent forget what was said."""

    def __init__(self, runner: asyncio.Runner, work: Path) -> None:
        self.work, self._runner = work, runner
        self.kernel_session = KernelSession()
        self.kernel_session.notices.is_introduced = True
        self.cells: list[RecordingCell] = []

    def run(self, code: str, *typed: str, live: bool = True, answer: str = "") -> Outcome:
        """Run one cell to its end; where `typed` lines are given, it is one of a console, in which they are typed.

        `answer` is typed in a notebook's cell, if it asks.
        """
        return self._runner.run(asyncio.wait_for(self._run(code, typed, answer, live), LIMIT))

    async def _run(self, code: str, typed: tuple[str, ...], answer: str, live: bool) -> Outcome:
        cell = RecordingCell(live, None if typed else "cell")
        cell.widgets = False
        self.cells.append(cell)
        for line in typed or filter(None, [answer]):
            cell.typed.put_nowait(line)
        failure = None
        try:
            await self.kernel_session.run(cell, code)
        except CopilotError as error:
            failure = error
        return Outcome("\n".join(cell.plain), failure, tuple(cell.shown.values()))

    def status(self, name: str) -> str:
        """What `%status` says of `name`."""
        lines = [line for line in self.run("%status").text.splitlines() if line.startswith(f"{name}  ")]
        return lines[0].removeprefix(name).strip() if lines else ""

    async def close(self) -> None:
        await self.kernel_session.runner.close()


@contextmanager
def session(folder: Path, **environ: str) -> Iterator[Session]:
    """A session whose settings are `environ` alone, and whose agent remembers nothing of other tests."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    paths = {name: str(folder / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "COPILOT_KERNEL_DEMO_HOME")}
    settings = {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_KERNEL_CWD": str(work), "COPILOT_DEMO_PACE": "0"}
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        for name, value in {**paths, "COPILOT_KERNEL_STATE": str(folder / "state"), **settings, **environ}.items():
            patch.setenv(name, value)
        trust_environment({})
        made = Session(runner, work)
        try:
            yield made
        finally:
            runner.run(made.close())
