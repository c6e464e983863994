"""One turn for a person at a terminal: what happens as it happens, and the agent's questions."""

from __future__ import annotations

import os
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from textwrap import indent

import anyio

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..conversation.model import FINAL, Entry, Message, ToolCall
from ..permissions import policy
from ..permissions.question import Answer, Question
from ..rendering.elicitation import answer_line, elicitation_text
from ..rendering.entry import render
from ..rendering.interview import NOT_ANSWERED, Interview
from ..rendering.plain import one_line, visible_line, visible_text
from ..rendering.question import question_text
from ..rendering.reasons import settings_for
from ..rendering.tool_call import brief
from ..rendering.typed import offered, reason_hint, typed_answer
from .paper import StreamPrinter

MARKS = {"completed": "✓", "failed": "✗", "rejected": "⊘", "cancelled": "◼", "waiting": "?"}
STDIN = 0


class Terminal:
    """A `chat.View`. `person`: somebody can read stderr and type; `quiet`: nothing but questions is shown.

    `root` is the agent's folder, for saying which rule would allow a call.
    """

    def __init__(self, paper: StreamPrinter, *, person: bool, quiet: bool, root: str) -> None:
        self._paper, self._person, self._quiet, self._root = paper, person, quiet, root
        self._seen: dict[int, int] = {}
        self._shown: dict[int, str] = {}
        self._asking = anyio.Lock()

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
                self._paper.line(render(entry)["text/plain"])

    def status(self, words: str) -> None:
        """What is written cannot be taken back."""

    async def ask(self, question: Question) -> Answer:
        """One question at a time. A question that is withdrawn says so."""
        if not self._person:
            return self._nobody(question)
        async with self._asked():
            return await self._choose(question)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """A form or an address, one at a time, line by line."""
        answer = ElicitationAnswer("decline", reason="nobody could be asked")
        if self._person:
            async with self._asked():
                answer = await self._interview(request)
        self._paper.line(f"{visible_text(one_line(request.message))}: {answer_line(request, answer)}")
        return answer

    def finish(self, stop_reason: str, unasked: int = 0) -> None:
        """The end of the turn, why it stopped if not for the ordinary reason, how much was done without asking."""
        self._paper.end()
        if unasked and not self._quiet:
            self._paper.line(f"⚠ {unasked} ran without asking")
        if stop_reason != "end_turn" and not self._quiet:
            self._paper.line(f"(stopped: {stop_reason})")

    def _message(self, entry: Message) -> None:
        start = self._seen.get(entry.id, 0)
        self._seen[entry.id] = entry.text.count
        text = "".join(entry.text.parts(start))
        if entry.speaker == "thought":
            self._paper.aside(entry.id, text)
        else:
            self._paper.answer(entry.id, text, begins=not start)

    def _tool_call(self, call: ToolCall) -> None:
        """A line when it begins; when it is over one more, and the end of its output."""
        over, known = call.status in FINAL, brief(call, self._root)
        mark = "✗" if known.exit_code and over else MARKS.get(call.status, "…")
        ended = f" (exit code {known.exit_code})" if over and known.exit_code is not None else ""
        decided = f" ({visible_line(call.decision)})" if over and call.decision else ""
        unasked = f" ({'' if call.unasked.covered else '⚠ '}{visible_line(call.unasked.words)})" if call.unasked else ""
        line = f"{mark} {' · '.join(known.names)}{ended}{decided}{unasked}"
        if over and known.output:
            line += "\n" + indent(known.output, "  ")
        if self._shown.get(call.id) != line and (over or call.id not in self._shown):
            self._shown[call.id] = line
            self._paper.line(line)

    def _nobody(self, question: Question) -> Answer:
        how = "".join(f"set {setting}, or " for setting in settings_for(question.rules))
        self._paper.line(f"Rejected: {_name(question.call)}. To allow it, {how}run this in a terminal and answer.")
        return Answer(policy.reject(question.options), "nobody", "nobody could be asked")

    @asynccontextmanager
    async def _asked(self) -> AsyncIterator[None]:
        async with self._asking:
            try:
                yield
            except anyio.get_cancelled_exc_class():
                self._paper.line("(the question was withdrawn)")
                raise

    async def _interview(self, request: Elicitation) -> ElicitationAnswer:
        interview = Interview(request)
        self._paper.line("\n" + elicitation_text(request))
        _forget_typed()
        answer = None
        while answer is None:
            self._paper.prompt(interview.prompt)
            line = await _read_line()
            if not line:
                return NOT_ANSWERED
            self._paper.entered()
            answer = interview.take(line)
        return answer

    async def _choose(self, question: Question) -> Answer:
        self._paper.line("\n" + question_text(question, self._root))
        for number, line in enumerate(offered(question), 1):
            self._paper.line(f"  {number}) {line}")
        if hint := reason_hint(question):
            self._paper.line(f" {hint}")
        _forget_typed()
        while True:
            self._paper.prompt(f"Answer 1-{len(question.options)}: ")
            line = await _read_line()
            if not line:
                return Answer(policy.reject(question.options), "you", "no answer")
            self._paper.entered()
            if answer := typed_answer(line, question):
                return answer


def _name(call: ToolCall) -> str:
    return visible_line(call.best_title or call.name or call.kind)


def _forget_typed() -> None:
    """What was typed before the question could be read does not answer it."""
    termios.tcflush(STDIN, termios.TCIFLUSH)


async def _read_line() -> str:
    """A line of the terminal; "" at its end. Neither blocks the loop nor leaves a thread behind when cancelled."""
    await anyio.wait_readable(STDIN)
    return os.read(STDIN, 4096).decode("utf-8", "replace")
