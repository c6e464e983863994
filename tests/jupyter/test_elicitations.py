"""What the demo agent wants to know and what it gets and sends, seen from a front end on a real kernel."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from .commanding import Picked
from .front_end import LIMIT, FrontEnd, Outcome

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n-and-more").decode()


@pytest.fixture(scope="module")
def notebook(front_end: FrontEnd) -> FrontEnd:
    """A front end that has shown that it has widgets."""
    front_end.open_control()
    return front_end


def answered(outcome: Outcome) -> Any:
    """What the demo agent says it was answered."""
    said = next(line for line in outcome.text.splitlines() if line.startswith("You answered: "))
    return json.loads(said.removeprefix("You answered: "))


# -- forms and addresses ----------------------------------------------------------------------------------------------


def test_a_form_is_filled_in_while_the_cell_runs(notebook: FrontEnd) -> None:
    shown = Picked(notebook, "demo: elicit form")
    shown.enter("Name", value="Ada")
    shown.enter("Mail address", value="ada@example.org")
    shown.enter("Size", index=2)
    shown.enter("Weight", value="2.5")
    shown.enter("Is it a gift?", value=True)
    shown.enter("Extras", index=[0, 2])
    shown.click("Submit")
    outcome = shown.finish()
    content = {"name": "Ada", "mail": "ada@example.org", "colour": "green", "size": "l", "count": 3, "weight": 2.5}
    content |= {"gift": True, "extras": ["card", "candle"]}
    assert answered(outcome) == {"action": "accept", "content": content}
    assert "Answered: Name: Ada; Mail address: ada@example.org; Colour: green; Size: Large" in outcome.text


def test_what_will_not_do_is_told_in_the_form(notebook: FrontEnd) -> None:
    shown = Picked(notebook, "demo: elicit form")
    shown.enter("Name", value="A")
    shown.enter("How many", value="11")
    shown.click("Submit")
    for words in ("Enter at least 2 characters (now 1).", "Enter at most 10."):
        notebook.see(lambda m, words=words: m["msg_type"] == "comm_msg" and words in str(m["content"]))
    assert shown.cell not in notebook.replies
    shown.click("Decline")
    outcome = shown.finish()
    assert (answered(outcome), "ℹ Declined" in outcome.text) == ({"action": "decline"}, True)


def test_an_address_is_shown_whole_and_agreed_to(notebook: FrontEnd) -> None:
    url = "https://example.org/sign-in?state=" + "x" * 200
    shown = Picked(notebook, f"demo: elicit url {url}")
    question = next(m["content"]["data"] for m in notebook.outputs(shown.cell) if url in str(m["content"]))
    shown.click("Agree")
    outcome = shown.finish()
    assert (url in question["text/plain"], f'<a href="{url}" target="_blank"' in question["text/html"]) == (True, True)
    assert answered(outcome) == {"action": "accept"}
    for line in (f"Agreed to open {url}", "What the agent asked you to visit is done"):
        assert line in outcome.text


def test_a_form_that_is_taken_back_closes(notebook: FrontEnd) -> None:
    outcome = Picked(notebook, "demo: elicit-withdrawn 0.2").finish()
    for line in ("Cancelled (withdrawn)", "I took my question back."):
        assert line in outcome.text


def test_an_interrupt_cancels_the_form_and_the_turn(notebook: FrontEnd) -> None:
    shown = Picked(notebook, "demo: elicit form\nsay Never said.")
    notebook.manager.interrupt_kernel()
    outcome = shown.finish()
    assert outcome.status == "error", outcome.text
    assert outcome.error == ("Cancelled", "The turn was cancelled.")
    assert ("ℹ Cancelled" in outcome.text, "Never said." in outcome.text) == (True, False)


def test_in_a_console_a_form_is_asked_line_by_line(notebook: FrontEnd) -> None:
    front_end = notebook
    schema = {"properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 3}}}
    cell = front_end.execute(f"demo: elicit form {json.dumps(schema)}", cell_id=None)
    prompts = []
    for line in ("1", "Ada", "many", ""):
        prompts.append(front_end.client.get_stdin_msg(timeout=LIMIT)["content"]["prompt"])
        front_end.client.input(line)
    outcome = front_end.finish(cell)
    assert prompts == [
        "1) Answer  2) Decline: ",
        "name: ",
        "count (a whole number; default: 3): ",
        "Enter a whole number, such as 3. count (a whole number; default: 3): ",
    ]
    assert answered(outcome) == {"action": "accept", "content": {"name": "Ada", "count": 3}}


def test_questions_inside_a_permission_request_can_be_read(notebook: FrontEnd) -> None:
    shown = Picked(notebook, "demo: question Which colour?:Red|Green;And why?")
    question = next(
        m["content"]["data"] for m in notebook.outputs(shown.cell) if "The agent has questions" in str(m["content"])
    )
    shown.click("Submit")
    assert "Which colour?\n    - Red\n    - Green\n  And why?: And why?" in question["text/plain"]
    assert "Allowed: Submit (you)" in shown.finish().text


# -- files ------------------------------------------------------------------------------------------------------------


def test_all_that_an_agent_sends_is_shown_or_offered(notebook: FrontEnd) -> None:
    outcome = notebook.run("demo: image\nsvg\naudio\nlink\nresource\nblob\ntool image svg audio link resource blob")
    shown = "".join(str(m["content"]["data"]) for m in outcome.outputs if m["msg_type"] == "display_data")
    marks = ("'image/png'", "data:image/svg+xml;base64,", "<audio", "https://example.org/demo.txt", "A note.")
    assert [mark for mark in (*marks, 'download="attachment.bin"') if mark not in shown] == []
