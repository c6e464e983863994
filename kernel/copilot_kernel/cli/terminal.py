"""One turn in a terminal: the answer on stdout, all else on stderr, and the agent's questions.

What an agent says is written without control characters: it must not move the cursor, write to the clipboard or hide
what a question is about.
"""

from __future__ import annotations

import os
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from textwrap import indent
from typing import TextIO

import anyio

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..conversation.model import FINAL, Entry, Message, ToolCall
from ..permissions import policy
from ..permissions.question import PermissionAnswer, Question
from ..rendering.elicitation import NOT_ANSWERED, answer_line, elicitation_text, interview
from ..rendering.entry import render
from ..rendering.footer import unasked_words
from ..rendering.plain import clean, one_line, visible_line, visible_text
from ..rendering.question import option_labels, question_text, reason_hint, settings_for, typed_answer
from ..rendering.tool_call import summarize

MARKS = {"completed": "✓", "failed": "✗", "rejected": "⊘", "cancelled": "◼", "waiting": "?"}
STDIN = 0
DIM, PLAIN = "\x1b[2m", "\x1b[0m"
NO_WRITER = -1


class LineStream:
    """A stream that knows whether it is at the start of a line. `on_lost` is called once, when its reader has gone."""

    def __init__(self, stream: TextIO, on_lost: Callable[[], None]) -> None:
        self.used, self.at_start, self.writer = False, True, NO_WRITER
        self._stream, self._on_lost, self._lost = stream, on_lost, False

    def write(self, text: str, look: str = "") -> None:
        """Write `text` at once."""
        text = clean(text)
        if not text or self._lost:
            return
        self.used, self.at_start = True, text.endswith("\n")
        try:
            self._stream.write(f"{look}{text}{PLAIN}" if look else text)
            self._stream.flush()
        except OSError:
            self._lost = True
            self._on_lost()

    def fresh(self) -> None:
        """Go to the start of a line."""
        if not self.at_start:
            self.write("\n")


class StreamPrinter:
    """Writes to stdout and stderr so that no line begins in the middle of another.

    On one screen the streams share its lines, in files each has its own.
    """

    def __init__(self, out: TextIO, err: TextIO, on_lost: Callable[[], None]) -> None:
        self._out, self._err = LineStream(out, on_lost), LineStream(err, on_lost)
        self._shared = out.isatty() and err.isatty()
        self._look = DIM if err.isatty() else ""

    def answer(self, writer: int, text: str, begins: bool) -> None:
        """A piece of message number `writer`; a blank line separates messages, as in the text of the turn."""
        self._switch_to(writer, self._out)
        if begins and self._out.used:
            self._out.write("\n")
        self._out.write(text)

    def aside(self, writer: int, text: str) -> None:
        """A piece of a thought."""
        self._switch_to(writer, self._err)
        self._err.write(text, self._look)

    def line(self, text: str) -> None:
        """One or more whole lines beside the answer."""
        self._switch_to(NO_WRITER, self._err)
        self._err.write(text.rstrip("\n") + "\n")

    def prompt(self, text: str) -> None:
        """The start of a line that the user will end."""
        self._switch_to(NO_WRITER, self._err)
        self._err.fresh()
        self._err.write(text)

    def entered(self) -> None:
        """The user ended the line."""
        self._err.at_start = True

    def end(self) -> None:
        """Leave both streams at the start of a line."""
        self._out.fresh()
        self._err.fresh()

    def _switch_to(self, writer: int, stream: LineStream) -> None:
        streams = (self._out, self._err) if self._shared else (stream,)
        for each in streams:
            if each.writer != writer:
                each.fresh()
            each.writer = writer


class Terminal:
    """A `chat.View`. `person`: there is a user who can read stderr and type; `quiet`: only questions are shown.

    `root` is the agent's folder, for saying which rule would allow a call.
    """

    def __init__(self, printer: StreamPrinter, *, person: bool, quiet: bool, root: str) -> None:
        self._printer, self._person, self._quiet, self._root = printer, person, quiet, root
        self._seen: dict[int, int] = {}
        self._shown: dict[int, str] = {}
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
        """Not shown: what is written cannot be replaced."""

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

    def finish(self, stop_reason: str, unasked: int = 0) -> None:
        """End the turn: say why it stopped, unless it is `end_turn`, and how many actions were `unasked`."""
        self._printer.end()
        if unasked and not self._quiet:
            self._printer.line(unasked_words(unasked))
        if stop_reason != "end_turn" and not self._quiet:
            self._printer.line(f"(stopped: {stop_reason})")

    def _message(self, entry: Message) -> None:
        start = self._seen.get(entry.id, 0)
        self._seen[entry.id] = entry.text.count
        text = "".join(entry.text.parts(start))
        if entry.speaker == "thought":
            self._printer.aside(entry.id, text)
        else:
            self._printer.answer(entry.id, text, begins=not start)

    def _tool_call(self, call: ToolCall) -> None:
        """A line when the call begins, and one with the end of its output when it is over."""
        over, known = call.status in FINAL, summarize(call, self._root)
        mark = "✗" if known.exit_code and over else MARKS.get(call.status, "…")
        ended = f" (exit code {known.exit_code})" if over and known.exit_code is not None else ""
        decided = f" ({visible_line(call.decision)})" if over and call.decision else ""
        unasked = f" ({'' if call.unasked.covered else '⚠ '}{visible_line(call.unasked.words)})" if call.unasked else ""
        line = f"{mark} {' · '.join(known.names)}{ended}{decided}{unasked}"
        if over and known.output:
            line += "\n" + indent(known.output, "  ")
        if self._shown.get(call.id) != line and (over or call.id not in self._shown):
            self._shown[call.id] = line
            self._printer.line(line)

    def _reject(self, question: Question) -> PermissionAnswer:
        how = "".join(f"set {setting}, or " for setting in settings_for(question.rules))
        self._printer.line(f"Rejected: {_name(question.call)}. To allow it, {how}run this in a terminal and answer.")
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
        self._printer.line("\n" + question_text(question, self._root))
        for number, line in enumerate(option_labels(question), 1):
            self._printer.line(f"  {number}) {line}")
        if hint := reason_hint(question):
            self._printer.line(f" {hint}")
        _discard_input()
        while True:
            if not (line := await self._input(f"Answer 1-{len(question.options)}: ")):
                return PermissionAnswer(policy.reject(question.options), "you", "no answer")
            if answer := typed_answer(line, question):
                return answer

    async def _input(self, prompt: str) -> str:
        """A line of the terminal; "" at its end. Neither blocks the loop nor leaves a thread behind when cancelled."""
        self._printer.prompt(prompt)
        await anyio.wait_readable(STDIN)
        if line := os.read(STDIN, 4096).decode("utf-8", "replace"):
            self._printer.entered()
        return line


def _name(call: ToolCall) -> str:
    return visible_line(call.best_title or call.name or call.kind)


def _discard_input() -> None:
    """Drop what was typed before the question could be read."""
    termios.tcflush(STDIN, termios.TCIFLUSH)
