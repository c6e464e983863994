"""One turn for a person at a terminal: what happens as it happens, and the agent's questions."""

from __future__ import annotations

import os
import termios

import anyio

from ..acp.messages import Option
from ..conversation.model import FINAL, Entry, Message, ToolCall
from ..permissions import policy
from ..permissions.question import Answer, Question
from ..rendering.entry import render
from ..rendering.plain import one_line, visible_text
from ..rendering.question import question_text
from .paper import Paper

MARKS = {"completed": "✓", "failed": "✗", "rejected": "⊘", "cancelled": "◼", "waiting": "?"}
STDIN = 0


class Terminal:
    """A `chat.View`. `person`: somebody can read stderr and type; `quiet`: nothing but questions is shown.

    `root` is the agent's folder, for saying which rule would allow a call.
    """

    def __init__(self, paper: Paper, *, person: bool, quiet: bool, root: str) -> None:
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

    async def ask(self, question: Question) -> Answer:
        """One question at a time. A question that is withdrawn says so."""
        if not self._person:
            return self._nobody(question)
        async with self._asking:
            try:
                return await self._choose(question)
            except anyio.get_cancelled_exc_class():
                self._paper.line("(the question was withdrawn)")
                raise

    def finish(self, stop_reason: str) -> None:
        """The end of the turn, and why it stopped, if not for the ordinary reason."""
        self._paper.end()
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
        """A line when it begins and one when it is over."""
        over = call.status in FINAL
        decided = f" ({call.decision})" if over and call.decision else ""
        line = f"{MARKS.get(call.status, '…')} {_name(call)}{decided}"
        if self._shown.get(call.id) != line and (over or call.id not in self._shown):
            self._shown[call.id] = line
            self._paper.line(line)

    def _nobody(self, question: Question) -> Answer:
        rules = policy.rules_for(question.call, question.options, self._root)
        how = "".join(f"""set COPILOT_KERNEL_ALLOW='["{rule}"]', or """ for rule in rules)
        self._paper.line(f"Rejected: {_name(question.call)}. To allow it, {how}run this in a terminal and answer.")
        return Answer(policy.reject(question.options), "nobody", "nobody could be asked")

    async def _choose(self, question: Question) -> Answer:
        self._paper.line("\n" + question_text(question))
        for number, option in enumerate(question.options, 1):
            self._paper.line(f"  {number}) {visible_text(one_line(option.name or option.id))}")
        _forget_typed()
        while True:
            self._paper.prompt(f"Answer 1-{len(question.options)}: ")
            line = await _read_line()
            if not line:
                return Answer(policy.reject(question.options), "you", "no answer")
            self._paper.entered()
            if picked := chosen(line, question.options):
                return Answer(picked, "you")


def chosen(line: str, options: tuple[Option, ...]) -> Option | None:
    """The option that a typed line names by its number."""
    word = line.strip()
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 4 else 0
    return options[number - 1] if 0 < number <= len(options) else None


def _name(call: ToolCall) -> str:
    return one_line(call.title or call.name or call.kind)


def _forget_typed() -> None:
    """What was typed before the question could be read does not answer it."""
    termios.tcflush(STDIN, termios.TCIFLUSH)


async def _read_line() -> str:
    """A line of the terminal; "" at its end. Neither blocks the loop nor leaves a thread behind when cancelled."""
    await anyio.wait_readable(STDIN)
    return os.read(STDIN, 4096).decode("utf-8", "replace")
