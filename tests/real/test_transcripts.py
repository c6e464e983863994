"""What real agents said is in the cell: every transcript, spoken again by the replay agent to our kernel."""

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ..jupyter.asked import insist
from ..jupyter.front_end import FrontEnd, Outcome, kernel_process
from ..rendering.allowed import text_of
from .turns import TRANSCRIPTS, Turn, last_words, read, turns

Json = dict[str, Any]
REPLAY = Path(__file__).with_name("replay.py")
BETWEEN_MESSAGES = ("tool_call", "plan", "session/request_permission")
SIGNED_OUT = [path for path in TRANSCRIPTS if path.stem.endswith("signed-out")]
FAILING = [path for path in TRANSCRIPTS if path.stem.endswith("model-fails")]
SHELLS = [
    path
    for path in TRANSCRIPTS
    if path.stem.endswith("-shell") and "gemini" not in path.stem and "cancel" not in path.stem
]


def _replay(path: Path) -> str:
    return shlex.join([sys.executable, str(REPLAY), str(path)])


def _played(front_end: FrontEnd, turn: Turn) -> Outcome:
    since = len(front_end.published)
    cell = front_end.execute("Follow the transcript.")
    for name, number in turn.clicks:
        insist(front_end, _buttons(front_end, name, since, number + 1)[number])
    if turn.cancelled:
        front_end.shows(turn.before_cancel(), cell)
        front_end.manager.interrupt_kernel()
    outcome = front_end.finish(cell)
    for update in turn.late:
        front_end.shows(last_words(update), cell)
    return replace(outcome, outputs=front_end.outputs(cell))


def _buttons(front_end: FrontEnd, name: str, since: int, count: int) -> list[str]:
    """The first `count` buttons of this name, in the order in which they were opened."""
    found: list[str] = []
    while len(found) < count:
        found.append(front_end.button(name, since))
        opened = [message["content"].get("comm_id") for message in front_end.published[since:]]
        since += opened.index(found[-1]) + 1
    return found


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _said(turn: Turn) -> list[str]:
    """What a reader must find: whole messages and thoughts, plan entries, output, the first new line of a diff."""
    return [*_speech(turn), *_plans(turn.updates), *_results(turn.updates)]


def _speech(turn: Turn) -> Iterator[str]:
    for kind in ("agent_message_chunk", "agent_thought_chunk"):
        text = ""
        for message in (record["message"] for record in turn.records if record["from"] == "agent"):
            update = message.get("params", {}).get("update", {"sessionUpdate": message.get("method")})
            if update["sessionUpdate"] == kind:
                text += update["content"]["text"]
            elif update["sessionUpdate"] in BETWEEN_MESSAGES:
                yield text
                text = ""
        yield text


def _plans(updates: list[Json]) -> Iterator[str]:
    plans = [update["entries"] for update in updates if update["sessionUpdate"] == "plan"]
    return (entry["content"] for plan in plans[-1:] for entry in plan)


def _results(updates: list[Json]) -> Iterator[str]:
    calls = (update for update in updates if update.get("toolCallId") and update.get("content"))
    last = {update["toolCallId"]: update["content"] for update in calls}
    for part in (part for content in last.values() for part in content):
        text = part["content"]["text"] if part["type"] == "content" else part["newText"].splitlines()[0]
        yield text


def _readable(text: str) -> list[str]:
    """The lines that a reader looks for; fences, and an agent's own way to tell an exit code, look otherwise."""
    told = re.sub(r"<shellId: \d+ completed with exit code \d+>|^Exit code \d+$", "", text, flags=re.MULTILINE)
    return [_squeezed(line) for line in told.splitlines() if line.strip() and not line.startswith("```")]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """One kernel for all transcripts; `%agent` names the one that comes next."""
    with kernel_process(tmp_path_factory.mktemp("notebook"), {}) as front_end:
        yield front_end


@pytest.mark.parametrize(
    "path", [path for path in TRANSCRIPTS if path not in (*SIGNED_OUT, *FAILING)], ids=lambda path: path.stem
)
def test_what_the_agent_said_is_in_the_cell(kernel: FrontEnd, path: Path) -> None:
    assert kernel.run(f"%agent {_replay(path)}").status == "ok"
    for turn in turns(read(path)):
        outcome = _played(kernel, turn)
        assert outcome.status == ("error" if turn.cancelled else "ok"), outcome.reply["content"]
        shown = _squeezed(outcome.text + text_of(outcome.html))
        lines = [line for words in _said(turn) for line in _readable(words)]
        assert [line for line in lines if line not in shown] == [], outcome.text
        assert path not in SHELLS or "exit 3" in outcome.text


@pytest.mark.parametrize("path", SIGNED_OUT, ids=lambda path: path.stem)
def test_an_agent_without_an_account_gets_a_card_with_the_command_to_sign_in(kernel: FrontEnd, path: Path) -> None:
    kernel.run(f"%agent {_replay(path)}")
    outcome = kernel.run("Hello")
    assert (outcome.status, outcome.error[0]) == ("error", "AuthRequired")
    assert "copilot login" in outcome.text


@pytest.mark.parametrize("path", FAILING, ids=lambda path: path.stem)
def test_a_model_that_fails_fails_the_cell_and_its_retries_are_not_part_of_the_answer(
    kernel: FrontEnd, path: Path
) -> None:
    kernel.run(f"%agent {_replay(path)}")
    (turn,) = turns(read(path))
    outcome = _played(kernel, turn)
    assert (outcome.status, outcome.error) == ("error", ("ModelFailed", "500 refused by the script"))
    assert "I look first." in outcome.text
    assert ("Info: " in outcome.text, "Error: " in outcome.text) == (False, False)
