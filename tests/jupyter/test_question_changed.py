"""An agent that asks about one thing and does another: what was not shown is not allowed by a click, and is told."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .asked import ALLOW, DENY, Asked, Wire
from .front_end import LIMIT, FrontEnd

CHANGED = "The agent has changed this call since it was shown."


@pytest.fixture
def notebook(wired: FrontEnd) -> FrontEnd:
    return wired


@pytest.fixture
def go(notebook: FrontEnd) -> Iterator[Path]:
    """The file whose creation makes the agent go on."""
    path = Path(notebook.process.cwd(), "go")
    yield path
    path.unlink()


def question(asked: Asked) -> str:
    """What stands in the cell, in plain text."""
    return "\n".join(bundle["text/plain"] for bundle in asked.outputs())


@pytest.mark.parametrize(("name", "outcome"), [(ALLOW, "allow_once"), (DENY, "reject_once")])
def test_a_command_that_changes_under_its_question_is_shown_before_it_can_be_allowed(
    notebook: FrontEnd, wire: Wire, go: Path, name: str, outcome: str
) -> None:
    folder = Path(notebook.process.cwd())
    wire.mark()
    asked = Asked(notebook, "demo: swap echo one > one.txt => echo two > two.txt => go")
    assert ("echo one > one.txt" in question(asked), "two.txt" in question(asked)) == (True, False)
    old = asked.button(ALLOW)
    go.touch()
    asked.look(1)
    assert (CHANGED in question(asked), "echo two > two.txt" in question(asked)) == (True, True)
    notebook.idle(notebook.press(old))
    assert (wire.answers(), asked.standing()) == ([], asked.views)
    asked.click(name)
    text = asked.finish().text
    assert wire.outcomes(1) == [outcome]
    assert [(folder / name).exists() for name in ("one.txt", "two.txt")] == [False, outcome == "allow_once"]
    assert "Cancelled" not in text
    (folder / "two.txt").unlink(missing_ok=True)


def test_in_a_console_what_was_typed_for_the_first_description_does_not_allow_the_second(
    notebook: FrontEnd, wire: Wire, go: Path
) -> None:
    """A console goes on showing the first prompt; the line that it sends does not say which one it is for."""
    wire.mark()
    cell = notebook.execute("demo: swap echo one > one.txt => echo two > two.txt => go", cell_id=None)
    for deny in ("3) Deny", "2) Deny"):  # a call that has changed is never allowed for always
        prompt = notebook.client.get_stdin_msg(timeout=LIMIT)["content"]["prompt"]
        assert ("1) Allow once" in prompt, deny in prompt) == (True, True)
        go.touch()
    for line in ("1", "2"):
        notebook.client.input(line)
    outcome = notebook.finish(cell)
    assert (wire.outcomes(1), "denied by you" in outcome.text) == (["reject_once"], True)
    assert not Path(notebook.process.cwd(), "two.txt").exists()


def asking(wire: Wire) -> str:
    """A line of script: asks, and does not wait for the answer."""
    names = (("allow_once", ALLOW), ("reject_once", DENY))
    options = [{"optionId": kind, "kind": kind, "name": name} for kind, name in names]
    call = {"toolCallId": "call_x", "title": "Run ls", "kind": "execute", "rawInput": {"command": "ls"}}
    params = {"sessionId": wire.session, "toolCall": call, "options": options}
    request = {"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": params}
    return f"rawline {json.dumps(request)}"


@pytest.mark.parametrize("name", [ALLOW, DENY])
def test_an_agent_that_does_not_wait_for_the_answer_is_told_so(notebook: FrontEnd, wire: Wire, name: str) -> None:
    notebook.run("demo: say The session is known.")
    wire.mark()
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "call_x", "status": "completed"}
    asked = Asked(notebook, f"demo: {asking(wire)}\nraw {json.dumps(done)}\nwait")
    asked.click(name)
    wire.answers(1)
    notebook.manager.interrupt_kernel()
    assert "done before it was allowed" in asked.finish().text


def test_a_question_that_is_open_when_its_turn_ends_is_answered_with_cancelled(
    notebook: FrontEnd, wire: Wire, go: Path
) -> None:
    """Nobody is to find a button in a cell that does not run."""
    notebook.run("demo: say The session is known.")
    wire.mark()
    asked = Asked(notebook, f"demo: {asking(wire)}\nwait go")
    go.touch()
    outcome = asked.finish()
    assert (outcome.status, wire.outcomes(1)) == ("ok", ["cancelled"])
    notebook.idle(asked.click(ALLOW))
    assert notebook.run("demo: say Alive.").status == "ok"
    assert len(wire.answers()) == 1
