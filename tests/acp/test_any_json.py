"""No JSON whatever can make the readers raise, and no message of a real agent is a surprise to them."""

import json
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp import parse, results
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]
READERS = [
    parse.parse_update,
    parse.parse_block,
    parse.parse_permission,
    results.parse_initialize,
    results.parse_session,
    results.parse_sessions,
    results.parse_prompt_result,
    lambda raw: list(results.parse_messages(results.parse_prompt_result({"messages": raw}).messages)),
]


def transcripts() -> list[Path]:
    return sorted((ROOT / "transcripts").glob("*.jsonl"))


def from_the_agent(path: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return [line["message"] for line in lines if line["from"] == "agent"]


def payload(message: dict[str, Any]) -> Any:
    params = message.get("params")
    return params.get("update", params) if isinstance(params, dict) else message.get("result")


def examples() -> list[Any]:
    data = [json.loads(path.read_text("utf-8")) for path in sorted((Path(__file__).parent / "data").glob("*.json"))]
    written = [value for example in data for value in [*example.pop("updates", []), *example.values()]]
    return [*written, *(payload(message) for path in transcripts()[::5] for message in from_the_agent(path))]


def names(value: Any) -> set[str]:
    """The protocol's own words: members, and short texts such as kinds and statuses."""
    if isinstance(value, dict):
        return {*value, *(name for inner in value.values() for name in names(inner))}
    if isinstance(value, list):
        return {name for inner in value for name in names(inner)}
    return {value} if isinstance(value, str) and len(value) < 25 else set()


EXAMPLES = examples()

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
words = st.sampled_from(sorted(names(EXAMPLES)))
any_json = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words | st.text(max_size=3), inner, max_size=6),
    max_leaves=25,
)


@given(any_json)
@settings(max_examples=100, deadline=None)
def test_nothing_that_json_can_say_raises(raw: Any) -> None:
    for reader in READERS:
        reader(raw)


@pytest.mark.parametrize("path", transcripts(), ids=lambda path: path.stem)
def test_every_update_and_question_of_a_real_agent_is_understood(path: Path) -> None:
    for message in from_the_agent(path):
        if message.get("method") == "session/update":
            update = repr(parse.parse_update(message["params"]["update"]))
            assert "UnknownUpdate" not in update
            assert "UnknownBlock" not in update
        if message.get("method") == "session/request_permission":
            request = parse.parse_permission(message["params"])
            raw = message["params"]["options"]
            assert [(option.id, option.name, option.kind) for option in request.options] == [
                (option["optionId"], option["name"], option["kind"]) for option in raw
            ]
            assert (request.session_id, request.tool_call.id, request.complete) == (
                (message["params"]["sessionId"], message["params"]["toolCall"]["toolCallId"], True)
            )


@pytest.mark.parametrize("path", [p for p in transcripts() if "signed-out" not in p.name], ids=lambda path: path.stem)
def test_every_session_of_a_real_agent_has_an_id_and_a_mode(path: Path) -> None:
    answers = [m["result"] for m in from_the_agent(path) if isinstance(m.get("result"), dict)]
    (started,) = [results.parse_session(result) for result in answers if "sessionId" in result]
    (agent,) = [results.parse_initialize(result) for result in answers if "protocolVersion" in result]
    assert started.id
    assert started.mode in {mode.id for mode in started.modes}
    assert (agent.protocol_version, bool(agent.name)) == (1, True)
