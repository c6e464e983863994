"""Lines to events and messages to lines, by tables."""

import json
import tracemalloc
from dataclasses import asdict

import pytest
from copilot_kernel.acp.jsonrpc import (
    MAX_DEPTH,
    Garbage,
    Notification,
    Peer,
    Request,
    RequestFailed,
    Response,
    RpcError,
    method_not_found,
)
from hypothesis import given, settings
from hypothesis import strategies as st

DEEP = b'{"method":"m","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
TOO_DEEP = b'{"method":"m","params":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}"
WIDE = b'{"method":"m","params":[' + b",".join([b"[]"] * 1_000) + b"]}"


def garbage(reason: str, line: bytes) -> Garbage:
    return Garbage(reason, line[:2_000].decode("utf-8", "replace").strip(), len(line))


MESSAGES = [
    (b'{"jsonrpc":"2.0","id":0,"method":"a/b","params":{"x":1}}', Request(0, "a/b", {"x": 1})),
    (b'{"params":{"x":1},"method":"a/b","id":"uuid-1"}', Request("uuid-1", "a/b", {"x": 1})),
    (b'{"id":null,"method":"m"}', Request(None, "m", {})),
    (b'{"id":7,"method":"m","params":null}', Request(7, "m", {})),
    (b'{"id":"7","method":"m"}', Request("7", "m", {})),
    (b'{"id":7.0,"method":"m","params":[1]}', Request(7.0, "m", [1])),
    (b'{"method":"m"}', Notification("m", {})),
    (b'{"method":"m","params":"text"}', Notification("m", "text")),
    (b'{"method":"m","params":{}}\r', Notification("m", {})),
    (b'\xef\xbb\xbf{"method":"m"}', Notification("m", {})),
    (b'  {"method":"m"}  ', Notification("m", {})),
    (b'{"method":"m","params":"\xff\xc3"}', Notification("m", "\ufffd\ufffd")),
    (b'{"method":"m","params":"\xe2\x82\xac"}', Notification("m", "€")),
    (b'{"method":"m","params":[NaN,Infinity,-Infinity,1e999,1.5]}', Notification("m", [None, None, None, None, 1.5])),
    (b'{"method":"m","params":"a\\ud800b"}', Notification("m", "a\ufffdb")),
    (b'{"method":"m","params":{"\\udfff":1}}', Notification("m", {"\ufffd": 1})),
    (b'{"method":"m","params":"\\ud83d\\ude00"}', Notification("m", "\U0001f600")),
    (b'{"method":"m","params":"\\\\ud800"}', Notification("m", "\\ud800")),
    (b'{"id":3,"result":{"a":1}}', Response(3, {"a": 1})),
    (b'{"id":"3","result":{"a":1}}', Response(3, {"a": 1})),
    (b'{"id":3.0,"result":{"a":1}}', Response(3, {"a": 1})),
    (b'{"id":"three","result":1}', Response("three", 1)),
    (b'{"id":"' + b"9" * 5_000 + b'","result":1}', Response("9" * 5_000, 1)),
    (b'{"id":3,"result":null}', Response(3)),
    (b'{"id":3}', Response(3)),
    (b'{"id":3,"method":null,"result":1}', Response(3, 1)),
    (b'{"id":3,"result":1,"error":null}', Response(3, 1)),
    (b'{"id":3,"error":{"code":-32000,"message":"no","data":[1]}}', Response(3, None, RpcError(-32000, "no", [1]))),
    (b'{"id": 2, "result": {"sessionId": "sess_abc123def456"}}', Response(2, {"sessionId": "sess_abc123def456"})),
    (b'{"id": 3, "result": {"stopReason": "end_turn"}}', Response(3, {"stopReason": "end_turn"})),
    (
        b'{"id": 4, "error": {"code": -32601, "message": "\\"Method not found\\": session/resume"}}',
        Response(4, None, RpcError(-32601, '"Method not found": session/resume')),
    ),
    (
        b'{"method": "session/cancel", "params": {"sessionId": "sess_abc123def456"}}',
        Notification("session/cancel", {"sessionId": "sess_abc123def456"}),
    ),
    (b'{"id":3,"error":"out of order"}', Response(3, None, RpcError(None, "out of order"))),
    (b'{"id":3,"error":17}', Response(3, None, RpcError(None, "17"))),
    (b'{"id":3,"error":["a"]}', Response(3, None, RpcError(None, '["a"]'))),
    (b'{"id":3,"error":{}}', Response(3, None, RpcError(None, ""))),
    (b'{"id":3,"error":{"code":"E1","message":{"a":1}}}', Response(3, None, RpcError(None, '{"a": 1}'))),
    (b'{"id":3,"error":{"code":true}}', Response(3, None, RpcError(None, ""))),
    (b'{"id":null,"error":{"code":-32700,"message":"bad"}}', Response(None, None, RpcError(-32700, "bad"))),
    (WIDE, Notification("m", [[]] * 1_000)),
]  # fmt: skip

NO_MESSAGES = [
    (b"Starting server...", "no JSON"),
    (b'{"method":"m"', "no JSON"),
    (b'{"method":"m"} {"method":"n"}', "no JSON"),
    (b"\x00\x01\x02", "no JSON"),
    (b'{"method":"m","params":' + b"9" * 5_000 + b"}", None),
    (DEEP, None),
    (TOO_DEEP, f"no JSON: nested deeper than {MAX_DEPTH}"),
    (b"42", "no JSON object"),
    (b"null", "no JSON object"),
    (b"true", "no JSON object"),
    (b'"ready"', "no JSON object"),
    (b'[{"id":1,"method":"m"}]', "a batch"),
    (b"[]", "a batch"),
    (b"{}", "no JSON-RPC message"),
    (b'{"level":"info","msg":"hello"}', "no JSON-RPC message"),
    (b'{"id":true,"method":"m"}', "no JSON-RPC message"),
    (b'{"id":[1],"method":"m"}', "no JSON-RPC message"),
    (b'{"id":{},"result":1}', "no JSON-RPC message"),
    (b'{"id":1,"method":5}', "no JSON-RPC message"),
    (b'{"method":["m"]}', "no JSON-RPC message"),
    (b'{"result":1}', "no JSON-RPC message"),
]


def short(value: object) -> str | None:
    return value[:60].decode("ascii", "backslashreplace") if isinstance(value, bytes) else None


@pytest.mark.parametrize(("line", "event"), MESSAGES, ids=short)
def test_a_line_means_the_same_however_it_is_cut(line, event):
    whole, drip, tail = Peer(), Peer(), Peer()
    assert whole.receive(line + b"\n") == [event]
    assert [e for byte in line + b"\n" for e in drip.receive(bytes([byte]))] == [event]
    assert tail.receive(line + b"\n" + line[:5]) == [event]
    assert tail.receive(line[5:] + b"\n") == [event]


@pytest.mark.parametrize(("line", "reason"), NO_MESSAGES, ids=short)
def test_a_line_that_is_no_message_is_a_value_and_costs_only_itself(line, reason):
    peer = Peer()
    first, second = peer.receive(line + b'\n{"method":"m"}\n')
    assert second == Notification("m")
    assert isinstance(first, Garbage)
    assert first == garbage(reason or first.reason, line)
    assert first.reason.startswith("no JSON") or reason == "a batch"


def test_blank_lines_are_nothing():
    assert Peer().receive(b"\n \r\n\t\n") == []


def test_many_lines_in_one_piece_keep_their_order():
    lines = b"".join(b'{"method":"m","params":%d}\n' % n for n in range(500))
    assert Peer().receive(lines) == [Notification("m", n) for n in range(500)]


BOUNDS = settings(deadline=None, database=None, max_examples=200)
TEXT = st.text('aé\ud800\udc00"\\\n', max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([1.5, float("nan"), float("inf")]) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@BOUNDS
@given(st.binary(), st.integers(1, 20))
def test_no_bytes_raise_and_pieces_make_no_difference(data, size):
    whole, cut = Peer(max_line=64), Peer(max_line=64)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [event for piece in pieces for event in cut.receive(piece)] == whole.receive(data)


@BOUNDS
@given(st.dictionaries(st.sampled_from(["id", "method", "params", "result", "error", "jsonrpc"]), JSON))
def test_any_object_gives_one_event_that_can_be_sent_on_as_utf_8(message):
    (event,) = Peer().receive(json.dumps(message).encode() + b"\n")
    json.dumps(asdict(event), allow_nan=False, ensure_ascii=False).encode()


# -- long lines ---------------------------------------------------------------------------------------------------


def test_a_line_over_the_limit_is_skipped_once_and_the_next_one_is_read():
    peer = Peer(max_line=3_000)
    line = b'{"method":"m","params":"' + b"x" * 9_000 + b'"}'
    events = [e for start in range(0, len(line), 7) for e in peer.receive(line[start : start + 7])]
    assert events == []
    assert peer.receive(b'\n{"method":"n"}\n') == [
        Garbage("a line longer than 3000 bytes was skipped", line.decode()[:2_000], len(line)),
        Notification("n"),
    ]


def test_a_line_of_exactly_the_limit_is_read():
    line = b'{"method":"m"}'
    assert Peer(max_line=len(line)).receive(line + b"\n") == [Notification("m")]
    assert Peer(max_line=len(line) - 1).receive(line + b"\n") == [
        Garbage("a line longer than 13 bytes was skipped", '{"method":"m"}', 14)
    ]


def test_skipping_keeps_memory_bounded():
    peer, piece = Peer(max_line=1_000_000), b"x" * 100_000
    tracemalloc.start()
    try:
        for _ in range(200):
            peer.receive(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (event,) = peer.receive(b"\n")
    assert event == Garbage("a line longer than 1000000 bytes was skipped", "x" * 2_000, 20_000_000)
    assert peak < 4_000_000


def test_a_line_of_four_megabytes_is_one_event():
    text = "x" * 4_000_000
    line = json.dumps({"method": "m", "params": text}).encode() + b"\n"
    peer = Peer()
    events = [e for start in range(0, len(line), 65_536) for e in peer.receive(line[start : start + 65_536])]
    assert events == [Notification("m", text)]


# -- what we say --------------------------------------------------------------------------------------------------


def test_requests_are_numbered_and_messages_are_single_ascii_lines():
    peer = Peer()
    assert peer.request("a", {"text": "é\n"}) == (
        0,
        b'{"jsonrpc":"2.0","id":0,"method":"a","params":{"text":"\\u00e9\\n"}}\n',
    )
    assert peer.request("b", {})[0] == 1
    assert peer.notification("n", {"a": [1]}) == b'{"jsonrpc":"2.0","method":"n","params":{"a":[1]}}\n'
    assert peer.result("x", None) == b'{"jsonrpc":"2.0","id":"x","result":null}\n'
    assert peer.failure(0, RequestFailed(-32602, "no", {"a": 1})) == (
        b'{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no","data":{"a":1}}}\n'
    )
    assert peer.failure(None, method_not_found("m")) == (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found: m"}}\n'
    )


def test_a_lone_surrogate_can_be_sent():
    assert Peer().notification("n", {"text": "\ud800"}).endswith(b'{"text":"\\ud800"}}\n')


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"bytes"])
def test_what_is_no_json_is_refused_before_it_is_sent(value):
    with pytest.raises((TypeError, ValueError)):
        Peer().result(1, value)


def test_what_one_peer_says_the_other_hears():
    here, there = Peer(), Peer()
    number, line = here.request("m", {"a": "é"})
    assert there.receive(line) == [Request(number, "m", {"a": "é"})]
    assert here.receive(there.result(number, {"b": 1})) == [Response(number, {"b": 1})]
    assert here.receive(there.failure(number, RequestFailed(1, "no"))) == [Response(number, None, RpcError(1, "no"))]


def test_the_trace_sees_every_line_as_it_was():
    seen = []
    peer = Peer(lambda direction, line: seen.append((direction, line)))
    peer.notification("n", {})
    peer.receive(b'noise\n\n{"method":\n')
    assert seen == [(">", b'{"jsonrpc":"2.0","method":"n","params":{}}'), ("<", b"noise"), ("<", b'{"method":')]
