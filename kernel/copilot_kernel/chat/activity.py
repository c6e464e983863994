"""The line that says what a running turn is doing: "Running pytest -q · 34 s · step 3 of 6"."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio

from ..conversation import inputs
from ..conversation.model import Conversation, Message, Plan
from ..rendering.plain import visible_line
from ..rendering.status import ASKING

SILENT = "The agent has not answered yet"
TICK_SECONDS = 1.0
"""Between two looks at the conversation; the line changes at most so often."""
PAUSE_SECONDS = 2.0
"""Silence after which a message no longer counts as being written."""
LONG_SECONDS = 60.0
"""Silence that is worth a remark."""
_STEPS = (1, 2, 5, 10)
_MAX_CHARS = 80


class _Activity(NamedTuple):
    """Activity of the agent. `entry_id` tells two calls of one title apart."""

    words: str
    entry_id: int = -1


WAITING = _Activity("Waiting for the model")


class ActivityLine:
    """Gives `show` the line whenever it changes.

    `questions` counts those that wait for the user; `progress` is what the agent itself says of what it waits for.
    """

    def __init__(
        self,
        show: Callable[[str], None],
        conversation: Callable[[], Conversation],
        questions: Callable[[], int],
        progress: Callable[[], str] = str,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show, self._conversation, self._questions, self._progress = show, conversation, questions, progress
        self._sleep, self._clock = sleep, clock
        self._heard_at = self._began_at = clock()
        self._activity, self._line = WAITING, ""

    def beat(self, _: object = None) -> None:
        """Note that the agent sent something; may be called thousands of times a second."""
        self._heard_at = self._clock()

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            if (line := self._current()) != self._line:
                self._line = line
                self._show(line)
            await self._sleep(TICK_SECONDS)

    def _current(self) -> str:
        if count := self._questions():
            self.beat()
            return f"{ASKING} Waiting for you · {count} question{'s' * (count > 1)} below"
        now, conversation = self._clock(), self._conversation()
        silent = now - self._heard_at
        progress = visible_line(self._progress())
        activity = _Activity(progress) if progress else _activity(conversation, silent)
        if activity != self._activity:
            self._activity, self._began_at = activity, self._heard_at if activity is WAITING else now
        words = activity.words
        if activity is WAITING and silent >= LONG_SECONDS:
            words = SILENT
        return " · ".join(filter(None, (words, _seconds(now - self._began_at), _step(conversation))))


def _activity(now: Conversation, silent: float) -> _Activity:
    # Some agents report nothing between the answer to a question and the end of the call.
    running = [call for call in now.entries.unfinished() if call.turn == now.turn and call.status != "waiting"]
    if running:
        call = running[-1]
        commands = inputs.commands(call.raw_input)
        words = visible_line(f"Running {commands[0]}" if commands else call.best_title or call.name)
        return _Activity(words if len(words) <= _MAX_CHARS else f"{words[: _MAX_CHARS - 1]}…", call.id)
    last = now.entries.last
    if isinstance(last, Message) and last.turn == now.turn and last.speaker != "user" and silent < PAUSE_SECONDS:
        return _Activity("Thinking" if last.speaker == "thought" else "Answering", last.id)
    return WAITING


def _seconds(passed: float) -> str:
    """Round to steps, so that the line changes rarely."""
    is_long = passed >= _STEPS[-1]
    shown = int(passed) // 5 * 5 if is_long else max((step for step in _STEPS if step <= passed), default=0)
    return f"{shown} s" if shown else ""


def _step(now: Conversation) -> str:
    """The first step of the plan that is in progress."""
    plan = now.entries.find(Plan, now.turn)
    steps = plan.entries if plan else ()
    number = next((index for index, step in enumerate(steps, 1) if step.status == "in_progress"), None)
    return f"step {number} of {len(steps)}" if number else ""
