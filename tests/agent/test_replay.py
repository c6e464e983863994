"""The replay agent says what the transcript says, to whatever ids the client uses, and waits where the agent waited."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from .replay import Gone, Replay, read

Json = dict[str, Any]
TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.jsonl"))
LARGEST = 60_000


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
    records = read(transcript)
    assert _played(records, [*_client_side(records)]) == [*_agent_side(records)]


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_is_small_and_names_no_machine(transcript: Path) -> None:
    text = transcript.read_text()
    assert len(text) < LARGEST
    assert re.findall(r"/(?:tmp|root|var|home/(?!user))[^ \"]*", text) == []


def test_there_are_transcripts_of_copilot_and_two_other_agents() -> None:
    agents = {path.stem.partition("-")[0] for path in TRANSCRIPTS}
    assert {"copilot", "opencode", "gemini"} <= agents
