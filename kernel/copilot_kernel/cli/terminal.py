"""One turn in a terminal: what is shown of it, and the agent's questions."""

from __future__ import annotations

import os
import termios
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from textwrap import indent

import anyio

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..chat import Turn
from ..chat.turn_record import endings
from ..conversation.calls import is_of_sub_agent
from ..conversation.model import FINAL, Entry, Message, ToolCall
from ..permissions import policy
from ..permissions.question import PermissionAnswer, Question
from ..rendering.changes import TurnChanges, changes_of
from ..rendering.elicitation import NOT_ANSWERED, answer_line, elicitation_text, interview
from ..rendering.entry import render
from ..rendering.permission_options import settings_for
from ..rendering.plain import one_line, visible_line, visible_text
from ..rendering.question import folded_amount, question_summary, question_text
from ..rendering.tool_call import OF_TASK, CallSummary, summarize
from ..rendering.typed_answer import option_labels, reason_hint, typed_answer
from .printer import StreamPrinter

MARKS = {"completed": "✓", "failed": "✗", "rejected": "⊘", "cancelled": "◼", "waiting": "?"}
STDIN = 0
_MAX_OUTPUT_LINES = 5
_NOTABLE_SECONDS = 0.1
_DETAILS = "?"
"""Typed instead of an answer, it shows the whole question."""


class Terminal:
    """A `chat.View`. `person`: there is a user who can read stderr and type.

    `quiet`: only questions and the status line are shown.
    `root` is the agent's folder, for saying which rule would allow a call.
    """

    def __init__(
        self,
        printer: StreamPrinter,
        *,
        person: bool,
        quiet: bool,
        root: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._printer, self._person, self._quiet, self._root, self._clock = printer, person, quiet, root, clock
        self._seen: dict[int, int] = {}
        # Of each call: the row shown last, when it began to run, and how long it took.
        self._shown: dict[int, str] = {}
        self._began: dict[int, float] = {}
        self._took: dict[int, float] = {}
        self._question_lock = anyio.Lock()

    def show(self, entry: Entry) -> None:
        """Write what is new of `entry`."""
        if self._quiet:
            return
        match entry:
            case Message(speaker="user"):
                pass
            case Message():
                self._message(entry)
            case ToolCall():
                self._tool_call(entry)
            case _:
                self._printer.line(render(entry)["text/plain"])

    def status(self, words: str) -> None:
        """Show it on a line that is replaced in place, if stderr is a terminal."""
        self._printer.status(words)

    @property
    def attended(self) -> bool:
        """There is a terminal."""
        return bool(self._person)

    async def ask(self, question: Question) -> PermissionAnswer:
        """One question at a time. A question that is withdrawn says so."""
        if not self._person:
            return self._reject(question)
        async with self._one_at_a_time():
            return await self._choose(question)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """A form or an address, one at a time, line by line."""
        answer = ElicitationAnswer("decline", reason="no one could answer")
        if self._person:
            async with self._one_at_a_time():
                answer = await self._interview(request)
        self._printer.line(f"{visible_text(one_line(request.message))}: {answer_line(request, answer)}")
        return answer

    def finish(self, turn: Turn, changes: TurnChanges | None = None) -> None:
        """End the turn and sum it up. All that stands beneath an answer is written here.

        Without `changes`, those that the calls report.
        """
        self._printer.end()
        if self._quiet:
            return
        for ending in endings(turn, changes or changes_of(turn.tool_calls, self._root), timed=True):
            self._printer.line(ending["text/plain"])

    def _message(self, entry: Message) -> None:
        start = self._seen.get(entry.id, 0)
        self._seen[entry.id] = len(entry.text)
        text = "".join(entry.text.parts(start))
        if entry.speaker == "thought":
            self._printer.aside(entry.id, text)
        else:
            self._printer.answer(entry.id, text, begins=not start)

    def _tool_call(self, call: ToolCall) -> None:
        """A row when the call is over, and one when it begins where no status line says so."""
        seconds, is_over = self._seconds(call), call.status in FINAL
        if not is_over and (self._printer.has_status or call.id in self._shown):
            return
        row = _row(call, summarize(call, self._root), seconds)
        if self._shown.get(call.id) != row:
            self._shown[call.id] = row
            self._printer.line(row)

    def _seconds(self, call: ToolCall) -> float:
        """How long the call has been running, or ran; the time that a question takes does not count."""
        now = self._clock()
        if call.status in ("pending", "waiting"):
            self._began[call.id] = now
        seconds = now - self._began.setdefault(call.id, now)
        return self._took.setdefault(call.id, seconds) if call.status in FINAL else seconds

    def _reject(self, question: Question) -> PermissionAnswer:
        how = "".join(f"set {setting}, or " for setting in settings_for(question.rules))
        self._printer.line(f"Denied: {_name(question.call)}. To allow it, {how}run this in a terminal and answer.")
        return PermissionAnswer(policy.reject(question.options), "none", "no one could answer")

    @asynccontextmanager
    async def _one_at_a_time(self) -> AsyncIterator[None]:
        async with self._question_lock:
            try:
                yield
            except anyio.get_cancelled_exc_class():
                self._printer.line("(the question was withdrawn)")
                raise

    async def _interview(self, request: Elicitation) -> ElicitationAnswer:
        async def ask(prompt: str) -> str:
            if not (line := await self._input(prompt)):
                raise EOFError
            return line

        self._printer.line("\n" + elicitation_text(request))
        _discard_input()
        return await interview(request, ask) or NOT_ANSWERED

    async def _choose(self, question: Question) -> PermissionAnswer:
        self._printer.line(f"\n? {question_summary(question, self._root)}")
        for number, choice in enumerate(_choices(question), 1):
            self._printer.line(f"  {number}) {choice}")
        _discard_input()
        while True:
            line = await self._input(f"Answer 1-{len(question.options)}, or {_DETAILS} for details: ")
            if not line:
                return PermissionAnswer(policy.reject(question.options), "none", "no answer")
            if line.strip() == _DETAILS:
                self._printer.line(question_text(question, self._root))
            elif answer := typed_answer(line, question):
                return answer

    async def _input(self, prompt: str) -> str:
        """A line of the terminal; "" at its end. Neither blocks the loop nor leaves a thread behind when cancelled."""
        self._printer.prompt(prompt)
        await anyio.wait_readable(STDIN)
        if line := os.read(STDIN, 4096).decode("utf-8", "replace"):
            self._printer.entered()
        return line


def _row(call: ToolCall, known: CallSummary, seconds: float) -> str:
    """One line; if the call failed, the end of its output beneath."""
    is_over, has_run, unasked = call.status in FINAL, call.status in ("completed", "failed"), call.unasked
    failed = is_over and (bool(known.exit_code) or call.status == "failed")
    facts = (
        *known.names,
        f"exit {known.exit_code}" if is_over and known.exit_code else "",
        f"{seconds:.1f} s" if has_run and seconds >= _NOTABLE_SECONDS else "",
        visible_line(call.decision) if is_over else "",
        f"{'' if unasked.covered else '⚠ '}{visible_line(unasked.words)}" if unasked else "",
    )
    row = f"{'✗' if failed else MARKS.get(call.status, '…')} {' · '.join(filter(None, facts))}"
    shown = f"{row}\n{indent(_end(known.output), '  ')}" if failed and known.output else row
    return f"{OF_TASK}{indent(shown, '  ').lstrip()}" if is_of_sub_agent(call) else shown


def _end(output: str) -> str:
    """The last lines of `output`."""
    shown = output.split("\n")
    return output if len(shown) <= _MAX_OUTPUT_LINES else "\n".join(("…", *shown[-_MAX_OUTPUT_LINES:]))


def _choices(question: Question) -> list[str]:
    """What each answer is called; how much it allows if not all of that is in view, and how to give a reason."""
    choices = option_labels(question)
    for index, option in enumerate(question.options):
        if option.kind == "allow_once" and (amount := folded_amount(question)):
            choices[index] += f": {amount}"
    if (reject := policy.reject(question.options)) is not None:
        choices[question.options.index(reject)] += reason_hint(question)
    return choices


def _name(call: ToolCall) -> str:
    return visible_line(call.best_title or call.name or call.kind)


def _discard_input() -> None:
    """Drop what was typed before the question could be read."""
    termios.tcflush(STDIN, termios.TCIFLUSH)
