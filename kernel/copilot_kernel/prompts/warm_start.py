"""Starts the agent before the first prompt, once the kernel has been idle for a moment, and ends it if no prompt comes.

Nobody notices: nothing is shown, asked or sent to the front end, and a failure is left for the first prompt to meet.
No session is opened, since Copilot CLI keeps each one on disk for good, also one that was never used.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import CopilotError

if TYPE_CHECKING:
    from ..config import Settings
    from .kernel_session import KernelSession

START_AFTER_SECONDS = 0.5
"""Between the first request of a front end and the start of the agent. Clients of batch runs send a cell at once."""
UNUSED_SECONDS = 300.0
"""Time after which the agent ends if no prompt came: Copilot CLI takes 200 MB."""

_NEEDED = (
    "chat",
    "chat.introduction",
    "output.cell_output",
    "commands.command_table",
    "prompts.context",
    "output.display",
    "prompts.gateway",
    "prompts.rerun",
    "rendering.failure",
)

_log = logging.getLogger(__name__)


class WarmStart:
    """One for a kernel. All methods belong to the loop's thread. `sleep` counts in seconds."""

    def __init__(
        self, kernel_session: KernelSession, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._kernel_session, self._sleep = kernel_session, sleep
        self._task: asyncio.Task[None] | None = None

    def schedule(self) -> None:
        """A front end has sent its first request; later ones change nothing."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), context=Context())

    def cancel(self) -> None:
        """The kernel ends, and will close what was opened."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        await self._sleep(START_AFTER_SECONDS)
        try:
            await self._start()
        except CopilotError as error:
            _log.debug("the agent was not started before the first prompt: %s", error)
        await self._sleep(UNUSED_SECONDS)
        await self._kernel_session.runner.close_reserve()

    async def _start(self) -> None:
        import_needed()
        settings = self._kernel_session.load()
        if not _is_wanted(settings):
            return
        if chat := await self._kernel_session.reserve_chat(settings):
            await chat.prepare()


def import_needed() -> None:
    """Import what the first prompt imports before it is sent."""
    for name in _NEEDED:
        import_module(f"copilot_kernel.{name}")


def _is_wanted(settings: Settings) -> bool:
    """Return True if the agent is installed, and does nothing in the folder before a session is opened.

    Opening a notebook must not run what a stranger has put beside it: other agents start the MCP servers and plugins
    of the folder that they are started in. And a sandbox protects what exists at its start.
    """
    from ..acp.locate import located

    if not settings.warm_start or settings.sandbox != "off":
        return False
    try:
        return located(settings).is_copilot or settings.agent == "demo"
    except CopilotError:
        return False
