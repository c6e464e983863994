"""What an agent wants to know: filled in with widgets, line by line, or declined by nobody."""

import asyncio
import warnings
from typing import Any

import pytest
from copilot_kernel.acp.elicitation import Elicitation, ElicitationAnswer, FieldChoice, FormField
from copilot_kernel.conversation.form import REQUIRED, WHOLE_NUMBER
from copilot_kernel.output.display import Display
from copilot_kernel.pages.page_reporter import PageReporter
from copilot_kernel.rendering.elicitation_view import elicitation_text
from copilot_kernel.views.open_question import NOBODY
from ipywidgets import Widget

from ..limits import LIMIT, until
from .asked import Models
from .recording import RecordingCell

COLOURS = (FieldChoice("r", "Red"), FieldChoice("b", "Blue"))
FORM = Elicitation(
    "Who are you?",
    fields=(
        FormField("name", "text", "Name", required=True),
        FormField("age", "integer", "Age", default=36),
        FormField("colour", "choice", "Colour", choices=COLOURS, default="b"),
        FormField("extras", "choices", "Extras", choices=COLOURS, default=("r",)),
        FormField("gift", "boolean", "Gift", default=True),
    ),
)
VISIT = Elicitation("Sign in", "url", id="e", url="https://x.example/login")


class Asked:
    """A request that stands in a cell."""

    def __init__(self, display: Display, task: asyncio.Task[ElicitationAnswer]) -> None:
        self.display, self.task = display, task

    async def end(self) -> ElicitationAnswer:
        answer = await asyncio.wait_for(self.task, LIMIT)
        self.display.close()
        return answer


async def ask(cell: RecordingCell, request: Elicitation = FORM) -> Asked:
    """Ask, and come back when it stands there, with its widgets if it has any, or is over."""
    display = Display(cell, PageReporter())
    task = asyncio.create_task(display.elicit(request))
    await until(lambda: len(cell.sent) > cell.widgets or task.done())
    return Asked(display, task)


def no_widget_is_left(models: Models) -> bool:
    with warnings.catch_warnings(action="ignore"):
        return (models.models, dict(Widget.widgets)) == ({}, {})


# -- widgets --------------------------------------------------------------------------------------------------------


async def test_what_is_submitted_is_the_answer_and_a_line_stands_where_the_form_stood(models: Models) -> None:
    cell = RecordingCell()
    asked = await ask(cell)
    models.enter("Name", "Ada")
    models.click(models.described("Submit"))
    values = {"name": "Ada", "age": 36, "colour": "b", "extras": ("r",), "gift": True}
    assert await asked.end() == ElicitationAnswer("accept", values)
    assert cell.plain == ["ℹ Answered: Name: Ada; Age: 36; Colour: Blue; Extras: Red; Gift: yes\nWho are you?", ""]
    assert (no_widget_is_left(models), cell.prompts) == (True, [])


async def test_a_mistake_is_told_in_the_form_which_stays(models: Models) -> None:
    cell = RecordingCell()
    asked = await ask(cell)
    models.enter("Age", "old")
    models.click(models.described("Submit"))
    await asyncio.sleep(0)
    said = [state["value"] for state in models.models.values() if "alert" in str(state.get("value"))]
    assert (asked.task.done(), said) == (
        False,
        [f'<b role="alert">⚠ {problem}</b>' for problem in (REQUIRED, WHOLE_NUMBER)],
    )
    models.enter("Age", "")
    models.enter("Name", "Ada")
    models.click(models.described("Submit"))
    values = {"name": "Ada", "colour": "b", "extras": ("r",), "gift": True}
    assert await asked.end() == ElicitationAnswer("accept", values)


@pytest.mark.parametrize(
    ("button", "answer", "line"),
    [("Agree", "accept", "Agreed to open https://x.example/login"), ("Decline", "decline", "Declined")],
)
async def test_an_address_needs_consent(models: Models, button: str, answer: Any, line: str) -> None:
    cell = RecordingCell()
    asked = await ask(cell, VISIT)
    models.click(models.described(button))
    assert await asked.end() == ElicitationAnswer(answer)
    assert (cell.plain, no_widget_is_left(models)) == ([f"ℹ {line}\nSign in", ""], True)


# -- a line of input, and nobody -------------------------------------------------------------------------------------


async def test_in_a_console_it_is_printed_and_asked_line_by_line() -> None:
    cell = RecordingCell(cell_id=None)
    for line in ("1", "", "Ada", "x", "7", "red", "2,1", "n"):
        cell.typed.put_nowait(line)
    values = {"name": "Ada", "age": 7, "colour": "r", "extras": ("b", "r"), "gift": False}
    assert await (await ask(cell)).end() == ElicitationAnswer("accept", values)
    assert cell.printed == (
        f"{elicitation_text(FORM)}\n"
        "ℹ Answered: Name: Ada; Age: 7; Colour: Red; Extras: Blue, Red; Gift: no\nWho are you?\n"
    )
    assert cell.prompts[1:3] == ["Name (required): ", f"{REQUIRED} Name (required): "]


async def test_at_the_end_of_input_it_is_not_answered() -> None:
    cell = RecordingCell(cell_id=None)
    cell.typed.put_nowait(None)
    assert await (await ask(cell)).end() == ElicitationAnswer("cancel", reason="no answer was given")


@pytest.mark.parametrize("request_", [FORM, VISIT])
async def test_where_nobody_can_be_asked_it_is_declined_with_a_line(request_: Elicitation) -> None:
    cell = RecordingCell(live=False)
    answer = await (await ask(cell, request_)).end()
    assert answer == ElicitationAnswer("decline", reason="no one can answer here")
    assert cell.plain == [f"ℹ Declined ({NOBODY})\n{request_.message}"]
