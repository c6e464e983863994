"""The line that says what a running turn is doing, by a clock of its own."""

import pytest
from copilot_kernel.acp.messages import PlanEntry
from copilot_kernel.chat.activity import LONG_SECONDS, SILENT, TICK_SECONDS, ActivityLine
from copilot_kernel.conversation.model import Conversation, Entries, Entry, Message, Plan, ToolCall
from copilot_kernel.conversation.text import GrowingText
from msgspec.structs import replace


class Stage:
    """A turn whose entries and questions a test sets, tick by tick."""

    def __init__(self) -> None:
        self.now, self.questions, self.progress, self.lines = 100.0, 0, "", list[str]()
        self.conversation = Conversation(turn=1)
        self._end = 0.0
        self.line = ActivityLine(
            self.lines.append,
            lambda: self.conversation,
            lambda: self.questions,
            lambda: self.progress,
            self._sleep,
            lambda: self.now,
        )

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self._end:
            raise EOFError

    async def passes(self, seconds: float, *entries: Entry) -> list[str]:
        """The lines of so many seconds, after the agent sent `entries`."""
        if entries:
            self.conversation = replace(self.conversation, entries=Entries(entries))
            self.line.beat()
        self.lines.clear()
        self._end = self.now + seconds
        with pytest.raises(EOFError):
            await self.line.run()
        return list(self.lines)


def said(speaker: str) -> Message:
    return Message(0, 1, speaker, GrowingText().append("Hm."))


def running(entry_id: int = 0) -> ToolCall:
    command = {"command": "pytest -q"}
    return ToolCall(entry_id, 1, "c", "Run the tests", kind="execute", status="in_progress", raw_input=command)


def reading(title: str) -> ToolCall:
    return ToolCall(0, 1, "c", title, kind="read", status="in_progress")


async def test_a_silent_model_is_waited_for_in_steps_and_after_a_minute_the_line_says_so() -> None:
    lines = await Stage().passes(LONG_SECONDS + TICK_SECONDS)
    steps = ["", " · 1 s", " · 2 s", *(f" · {seconds} s" for seconds in range(5, 60, 5))]
    assert lines == [*(f"Waiting for the model{step}" for step in steps), f"{SILENT} · 60 s"]


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (said("thought"), "Thinking"),
        (said("agent"), "Answering"),
        (running(), "Running pytest -q"),
        (reading("Read\x1b[1m a.py"), "Read⟨U+001B⟩[1m a.py"),
        (reading("x" * 100), f"{'x' * 79}…"),
        (replace(running(), status="pending"), "Running pytest -q"),
        (replace(running(), status="completed"), "Waiting for the model"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
async def test_the_newest_entry_says_what_the_agent_does(entry: Entry, line: str) -> None:
    assert await Stage().passes(1, entry) == [line]


async def test_a_message_that_has_stopped_growing_is_no_longer_being_written() -> None:
    assert await Stage().passes(4, said("agent")) == [
        "Answering",
        "Answering · 1 s",
        "Waiting for the model · 2 s",
    ]


async def test_the_seconds_of_a_call_count_from_its_beginning_whatever_it_sends() -> None:
    stage = Stage()
    first = await stage.passes(6, running())
    assert first[-1] == "Running pytest -q · 5 s"
    assert await stage.passes(5, running()) == ["Running pytest -q · 10 s"]
    assert await stage.passes(1, running(1)) == ["Running pytest -q"]


async def test_an_open_question_is_what_the_turn_waits_for() -> None:
    stage = Stage()
    stage.questions = 1
    assert await stage.passes(30, running()) == ["? Waiting for you · 1 question below"]
    stage.questions = 2
    assert await stage.passes(1) == ["? Waiting for you · 2 questions below"]
    stage.questions = 0
    assert await stage.passes(1) == ["Running pytest -q"]


async def test_the_step_of_the_plan_is_named() -> None:
    steps = [PlanEntry("one", status="completed"), PlanEntry("two", status="in_progress"), PlanEntry("three")]
    assert await Stage().passes(1, Plan(0, 1, tuple(steps)), running(1)) == ["Running pytest -q · step 2 of 3"]


async def test_what_the_agent_says_of_a_retry_stands_there_until_it_goes_on() -> None:
    stage = Stage()
    stage.progress = "Retrying..."
    assert await stage.passes(2, said("agent")) == ["Retrying...", "Retrying... · 1 s"]
    stage.progress = ""
    assert await stage.passes(1, said("agent")) == ["Answering"]
