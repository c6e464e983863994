"""The replay agent says what the transcript says, to whatever ids the client uses, and waits where the agent waited."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from .replay import Gone, Replay

Json = dict[str, Any]
TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.jsonl"))
LARGEST = 60_000
QUESTION = {"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {}}
SHORT: list[tuple[str, Json]] = [
    ("client", {"id": 1, "method": "session/prompt"}),
    ("agent", QUESTION),
    ("agent", {**QUESTION, "id": 1}),
    ("client", {"id": 0, "result": {}}),
    ("client", {"id": 1, "result": {}}),
    ("agent", {"id": 1, "result": {"stopReason": "end_turn"}}),
]


def _read(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _played(records: list[Json], client: list[Json]) -> list[Json]:
    said: list[Json] = []
    with suppress(Gone):
        Replay(records, map(json.dumps, client), said.append).run()
    return said


def _renamed(message: Json) -> Json:
    """A request of the client, or the answer to one, under another id."""
    return {**message, "id": f"mine-{message['id']}"}


def _client_side(records: list[Json]) -> Iterator[Json]:
    for message in (record["message"] for record in records if record["from"] == "client"):
        yield _renamed(message) if "method" in message and "id" in message else message


def _agent_side(records: list[Json]) -> Iterator[Json]:
    for message in (record["message"] for record in records if record["from"] == "agent"):
        yield message if "method" in message else _renamed(message)


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_everything_the_agent_said_is_said_again(transcript: Path) -> None:
    records = _read(transcript)
    assert _played(records, [*_client_side(records)]) == [*_agent_side(records)]


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_is_small_and_names_no_machine(transcript: Path) -> None:
    text = transcript.read_text()
    assert len(text) < LARGEST
    assert re.findall(r"/(?:tmp|root|var|home/(?!user))[^ \"]*", text) == []


def test_there_are_transcripts_of_copilot_and_two_other_agents() -> None:
    agents = {path.stem.partition("-")[0] for path in TRANSCRIPTS}
    assert {"copilot", "opencode", "gemini"} <= agents


def test_questions_may_be_answered_in_another_order() -> None:
    records = [{"from": who, "message": message} for who, message in SHORT]
    turned = [SHORT[0][1], SHORT[4][1], SHORT[3][1]]
    assert _played(records, turned)[-1] == {"id": 1, "result": {"stopReason": "end_turn"}}


def test_prompts_sent_ahead_are_answered_one_after_the_other() -> None:
    start: Json = {"id": 0, "method": "initialize"}
    turns: list[Json] = [{"id": 1, "method": "session/prompt"}, {"id": 2, "method": "session/prompt"}]
    asked = [{"from": "client", "message": message} for message in (start, *turns)]
    answered = [{"from": "agent", "message": {"id": number, "result": {}}} for number in (0, 1, 2)]
    records = [record for pair in zip(asked, answered, strict=True) for record in pair]
    assert [message["id"] for message in _played(records, [*turns, start])] == [0, 1, 2]


def test_the_agent_waits_for_an_answer_before_it_goes_on() -> None:
    records = [{"from": who, "message": message} for who, message in SHORT]
    assert _played(records, [SHORT[0][1], SHORT[3][1]]) == [QUESTION, {**QUESTION, "id": 1}]


def test_requests_that_the_transcript_does_not_know_are_refused_and_the_rest_goes_on() -> None:
    records = [{"from": who, "message": message} for who, message in SHORT]
    strange, prompt = {"id": 7, "method": "session/list"}, {"id": 8, "method": "session/prompt"}
    first, *answers = (message for who, message in SHORT if who == "client")
    said = _played(records, [strange, first, prompt, *answers, {**prompt, "id": 9}])
    refused = [message["id"] for message in said if message.get("error", {}).get("code") == -32601]
    assert refused == [7, 8, 9]
    assert {"id": 1, "result": {"stopReason": "end_turn"}} in said


def test_as_a_process_it_speaks_lines_and_ends_with_its_input() -> None:
    records = _read(TRANSCRIPTS[0])
    lines = "".join(json.dumps(message) + "\n" for message in _client_side(records))
    command = [sys.executable, str(Path(__file__).with_name("replay.py")), str(TRANSCRIPTS[0])]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=10)
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [*_agent_side(records)]
