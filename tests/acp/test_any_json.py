"""No JSON whatever can make the readers raise, and no message of a real agent is a surprise to them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp import lenient, parse, results
from copilot_kernel.acp.handlers import ClientHandlers, read_chunk
from copilot_kernel.acp.jsonrpc import RpcCodec, RpcEvent, RpcNotification
from copilot_kernel.acp.messages import Update
from hypothesis import given, settings
from hypothesis import strategies as st

from ..limits import examples

ROOT = Path(__file__).parents[1]
READERS = [
    parse.parse_update,
    parse.parse_block,
    parse.parse_permission,
    results.parse_initialize,
    results.parse_session,
    results.parse_sessions,
    results.parse_prompt_result,
    lambda raw: results.parse_prompt_result({"messages": raw}),
]


def transcripts() -> list[Path]:
    return sorted((ROOT / "transcripts").glob("*.jsonl"))


def from_the_agent(path: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return [line["message"] for line in lines if line["from"] == "agent"]


def payload(message: dict[str, Any]) -> Any:
    params = message.get("params")
    return params.get("update", params) if isinstance(params, dict) else message.get("result")


def samples() -> list[Any]:
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


EXAMPLES = samples()

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
words = st.sampled_from(sorted(names(EXAMPLES)))
any_json = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words | st.text(max_size=3), inner, max_size=6),
    max_leaves=25,
)


@given(any_json)
@settings(max_examples=examples(100), deadline=None)
def test_nothing_that_json_can_say_raises(raw: Any) -> None:
    for reader in READERS:
        reader(raw)


# -- the quick ways to read a line give what the tolerant one gives ----------------------------------------------------

ODD = [
    "NaN", "-Infinity", "1e999", "-1e999", "1.7976931348623159e308", "5e-324", "1E-400", "-0", "-0.0", "0.1", "1e23",
    "18446744073709551616", "-9223372036854775809", "9" * 400, "9" * 5_000, "123456789012345678901234567890.5", "01",
    '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"\x1f"', '"\x7f"', '"\\x"', "'", "[1,]", "{} {}",
    "", "1.", '{"a":1,"a":2}', '{"\\ud800":1}', "[" * 200 + "]" * 200, "[" * 201 + "]" * 201, "[" * 3_000 + "]" * 3_000,
]  # fmt: skip
RAW = [b"\xef\xbb\xbf{}", b'"\xff"', b'"\xed\xa0\x80"', b'{"\xc3":1}', b'"\xc3\xa4"', b"\x0b{}", b" {}\t", b"nul"]
CHUNK = (
    '{"jsonrpc":"2.0","method":"session/update",'
    '"params":{"sessionId":"s","update":{"sessionUpdate":"%s","content":%s%s}}%s}'
)

lines = st.one_of(
    st.sampled_from([*(odd.encode() for odd in ODD), *RAW]),
    any_json.map(lambda raw: json.dumps(raw, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    st.tuples(any_json, st.sampled_from(ODD)).map(lambda pair: f'{{"a":{json.dumps(pair[0])},"b":{pair[1]}}}'.encode()),
    st.tuples(any_json, st.integers(0), st.binary(max_size=2)).map(lambda three: damaged(*three)),
)
chunk_lines = st.builds(
    lambda *parts: (CHUNK % parts).encode(),
    st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "agent_message", "plan"]),
    st.sampled_from([
        '{"type":"text","text":"a"}', '{"type":"text","text":"\\ud800"}', '{"text":"a","type":"text"}', '{"text":"a"}',
        '{"type":"text","text":"a","text":"b"}', '{"type":"image","type":"text","text":"a"}', '{"type":"text"}', '"a"',
        '{"type":"text","text":1}', '{"type":"text","text":"a","annotations":null}', '{"type":"text","text":""}',
    ]),
    st.sampled_from(["", ',"messageId":"m"', ',"messageId":""', ',"messageId":null', ',"messageId":1', ',"_meta":{}']),
    st.sampled_from(["", ',"id":1', ',"method":"x"', ',"jsonrpc":"1.0"', ',"params":{}', ',"x":[[]]', ","]),
)  # fmt: skip


def damaged(raw: Any, at: int, piece: bytes) -> bytes:
    line = json.dumps(raw).encode()
    return line[: at % (len(line) + 1)] + piece + line[at % (len(line) + 1) :]


def read(reader: Callable[[bytes], Any], line: bytes) -> Any:
    """Its `repr` too, which tells -0.0, 1 and 1.0 apart."""
    try:
        value = reader(line)
    except (ValueError, RecursionError):
        return "invalid"
    return "invalid" if lenient._is_deep(value) else (repr(value), value)


@given(lines)
@settings(max_examples=examples(300), deadline=None)
def test_the_quick_parser_reads_what_the_tolerant_one_reads(line: bytes) -> None:
    assert read(lenient.load, line) == read(lenient._tolerant, line)


@given(chunk_lines | lines)
@settings(max_examples=examples(300), deadline=None)
def test_a_chunk_of_text_is_read_as_any_other_line_is(line: bytes) -> None:
    assert heard(RpcCodec(read=read_chunk), line) == heard(RpcCodec(), line)


def test_a_plain_chunk_of_text_takes_the_quick_way() -> None:
    line = (CHUNK % ("agent_message_chunk", '{"type":"text","text":"a"}', "", "")).encode()
    assert read_chunk(line) is not None


def heard(codec: RpcCodec, line: bytes) -> list[RpcEvent | tuple[str, Update]]:
    found: list[RpcEvent | tuple[str, Update]] = []
    client = ClientHandlers(lambda session_id, update: found.append((session_id, update)), refuse)
    for event in codec.receive(line + b"\n"):
        if isinstance(event, RpcNotification) and event.method == "session/update":
            client.notify(event.method, event.params)
        else:
            found.append(event)
    return found


async def refuse(_: object) -> None: ...


# -- real agents ------------------------------------------------------------------------------------------------------


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
            assert request.tool_call.id == message["params"]["toolCall"]["toolCallId"]


@pytest.mark.parametrize("path", [p for p in transcripts() if "signed-out" not in p.name], ids=lambda path: path.stem)
def test_every_session_of_a_real_agent_has_an_id_and_a_mode(path: Path) -> None:
    answers = [m["result"] for m in from_the_agent(path) if isinstance(m.get("result"), dict)]
    (started,) = [results.parse_session(result) for result in answers if "sessionId" in result]
    (agent,) = [results.parse_initialize(result) for result in answers if "protocolVersion" in result]
    assert started.id
    assert started.mode in {mode.id for mode in started.modes}
    assert (agent.protocol_version, bool(agent.name)) == (1, True)
