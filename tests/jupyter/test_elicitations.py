"""What the demo agent wants to know and what it gets and sends, seen from a front end on a real kernel."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import StartKernel
from .front_end import LIMIT, FrontEnd, Outcome, parent

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n-and-more").decode()


@pytest.fixture(scope="module")
def notebook(front_end: FrontEnd) -> FrontEnd:
    """A front end that has shown that it has widgets."""
    opening = {"comm_id": "control", "target_name": "jupyter.widget.control", "data": {}}
    front_end.idle(front_end.send("comm_open", opening, {"version": "1.0.0"}))
    return front_end


class Shown:
    """A cell in which something stands that wants an answer."""

    def __init__(self, front_end: FrontEnd, code: str) -> None:
        self.front_end, self._start = front_end, len(front_end.published)
        self.cell = front_end.execute(code)
        front_end.see(lambda m: parent(m) == self.cell and WIDGET_VIEW in str(m["content"]), start=self._start)

    def model(self, label: str) -> str:
        """The model that says `label`."""
        for message in self.front_end.published[self._start :]:
            state = message["content"].get("data", {}).get("state", {}) if message["msg_type"] == "comm_open" else {}
            if state.get("description") == label:
                return str(message["content"]["comm_id"])
        raise AssertionError(f"there is no {label}")

    def enter(self, label: str, **state: Any) -> None:
        self.front_end.comm(self.model(label), {"method": "update", "state": state, "buffer_paths": []})

    def click(self, name: str) -> None:
        self.front_end.click(self.model(name))

    def finish(self) -> Outcome:
        """The cell's end, which leaves no widget in the front end."""
        outcome = self.front_end.finish(self.cell)
        mine = [m for m in self.front_end.published[self._start :] if parent(m) == self.cell]
        opened, closed = (
            {m["content"]["comm_id"] for m in mine if m["msg_type"] == kind} for kind in ("comm_open", "comm_close")
        )
        assert opened == closed
        return outcome


def answered(outcome: Outcome) -> Any:
    """What the demo agent says it was answered."""
    said = next(line for line in outcome.text.splitlines() if line.startswith("You answered: "))
    return json.loads(said.removeprefix("You answered: "))


# -- forms and addresses ----------------------------------------------------------------------------------------------


def test_a_form_is_filled_in_while_the_cell_runs(notebook: FrontEnd) -> None:
    shown = Shown(notebook, "demo: elicit form")
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
    shown = Shown(notebook, "demo: elicit form")
    shown.enter("Name", value="A")
    shown.enter("How many", value="11")
    shown.click("Submit")
    for words in ("At least 2 characters; these are 1.", "At most 10."):
        notebook.see(lambda m, words=words: m["msg_type"] == "comm_msg" and words in str(m["content"]))
    assert shown.cell not in notebook.replies
    shown.click("Decline")
    outcome = shown.finish()
    assert (answered(outcome), "ℹ Declined" in outcome.text) == ({"action": "decline"}, True)


def test_an_address_is_shown_whole_and_agreed_to(notebook: FrontEnd) -> None:
    url = "https://example.org/sign-in?state=" + "x" * 200
    shown = Shown(notebook, f"demo: elicit url {url}")
    question = next(m["content"]["data"] for m in notebook.outputs(shown.cell) if url in str(m["content"]))
    shown.click("Agree")
    outcome = shown.finish()
    assert (url in question["text/plain"], f'<a href="{url}" target="_blank"' in question["text/html"]) == (True, True)
    assert answered(outcome) == {"action": "accept"}
    for line in (f"Agreed to visit {url}", "What the agent asked you to visit is done"):
        assert line in outcome.text


def test_a_form_that_is_taken_back_closes(notebook: FrontEnd) -> None:
    outcome = Shown(notebook, "demo: elicit-withdrawn 0.2").finish()
    for line in ("Cancelled (withdrawn)", "I took my question back."):
        assert line in outcome.text


def test_an_interrupt_cancels_the_form_and_the_turn(notebook: FrontEnd) -> None:
    shown = Shown(notebook, "demo: elicit form\nsay Never said.")
    notebook.manager.interrupt_kernel()
    outcome = shown.finish()
    assert outcome.status == "error", outcome.text
    assert outcome.error == ("Cancelled", "The turn was cancelled.")
    assert ("ℹ Cancelled" in outcome.text, "Never said." in outcome.text) == (True, False)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"mode": "dance", "requestedSchema": {}}, -32602),
        ({"requestedSchema": {"properties": {"x": {"type": "_face"}}, "required": ["x"]}}, -32602),
    ],
)
def test_what_cannot_be_asked_is_refused(notebook: FrontEnd, params: Any, code: int) -> None:
    text = notebook.run(f"demo: elicit form {json.dumps(params)}").text
    assert f"error {code}" in text or f"no elicitation of mode {params.get('mode')}" in text


def test_where_nobody_can_be_asked_it_is_declined(notebook: FrontEnd) -> None:
    outcome = notebook.run("demo: elicit form", live=False)
    assert (answered(outcome), outcome.status) == ({"action": "decline"}, "ok")
    assert "Declined (nobody can be asked here)" in outcome.text


def test_in_a_console_a_form_is_asked_line_by_line(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
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
        "count (a whole number; empty: 3): ",
        "A whole number, such as 3. count (a whole number; empty: 3): ",
    ]
    assert answered(outcome) == {"action": "accept", "content": {"name": "Ada", "count": 3}}


def test_questions_inside_a_permission_request_can_be_read(notebook: FrontEnd) -> None:
    shown = Shown(notebook, "demo: question Which colour?:Red|Green;And why?")
    question = next(m["content"]["data"] for m in notebook.outputs(shown.cell) if "The agent asks" in str(m["content"]))
    shown.click("Submit")
    assert "Which colour?\n    - Red\n    - Green\n  And why?: And why?" in question["text/plain"]
    assert "Allowed: Submit (you)" in shown.finish().text


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(notebook: FrontEnd) -> Iterator[Path]:
    folder = Path(notebook.process.cwd())
    files = {"notes.txt": b"one\n", "with blanks.txt": b"two\n", "red.png": base64.b64decode(PICTURE)}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    yield folder
    for name in files:
        (folder / name).unlink()


def test_what_a_prompt_mentions_goes_along_as_links_and_the_text_stays(notebook: FrontEnd, project: Path) -> None:
    text = notebook.run('demo: echo\nsay @notes.txt, @"with blanks.txt" and me@notes.txt').text
    assert "me@notes.txt" in text
    links = [line for line in text.splitlines() if line.startswith("- resource_link")]
    assert [name in line for name, line in zip(("notes.txt", "with%20blanks.txt"), links, strict=True)] == [True, True]


def test_what_is_attached_goes_with_the_next_prompt_only(notebook: FrontEnd, project: Path) -> None:
    assert notebook.run("%attach red.png").status == "ok"
    first, second = notebook.run("demo: echo").text, notebook.run("demo: echo").text
    assert ("- image: image/png, 17 bytes" in first, "- image" in second) == (True, False)


def test_all_that_an_agent_sends_is_shown_or_offered(notebook: FrontEnd) -> None:
    outcome = notebook.run("demo: image\nsvg\naudio\nlink\nresource\nblob\ntool image svg audio link resource blob")
    shown = "".join(str(m["content"]["data"]) for m in outcome.outputs if m["msg_type"] == "display_data")
    marks = ("'image/png'", "data:image/svg+xml;base64,", "<audio", "https://example.org/demo.txt", "A note.")
    assert [mark for mark in (*marks, 'download="attachment.bin"') if mark not in shown] == []
