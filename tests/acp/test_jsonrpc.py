"""Lines to events and messages to lines, by tables."""

import tracemalloc

import pytest
from copilot_kernel.acp.jsonrpc import (
    InvalidLine,
    RequestFailed,
    RpcCodec,
    RpcError,
    RpcNotification,
    RpcRequest,
    RpcResponse,
    method_not_found,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ..limits import examples

DEEP = b'{"method":"m","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
TOO_DEEP = b'{"method":"m","params":' + b"[" * 200 + b"]" * 200 + b"}"
WIDE = b'{"method":"m","params":[' + b",".join([b"[]"] * 1_000) + b"]}"


MESSAGES = [
    (b'{"jsonrpc":"2.0","id":0,"method":"a/b","params":{"x":1}}', RpcRequest(0, "a/b", {"x": 1})),
    (b'{"id":null,"method":"m"}', RpcRequest(None, "m", {})),
    (b'{"id":7,"method":"m","params":null}', RpcRequest(7, "m", {})),
    (b'{"method":"m"}', RpcNotification("m", {})),
    (b'\xef\xbb\xbf{"method":"m"}', RpcNotification("m", {})),
    (b'{"method":"m","params":"\xff\xc3"}', RpcNotification("m", "\ufffd\ufffd")),
    (b'{"method":"m","params":[NaN,-Infinity,1e999,1.5]}', RpcNotification("m", [None, None, None, 1.5])),
    (b'{"method":"m","params":"a\\ud800b"}', RpcNotification("m", "a\ufffdb")),
    (b'{"method":"m","params":"\\ud83d\\ude00"}', RpcNotification("m", "\U0001f600")),
    (b'{"method":"m","params":"\\\\ud800"}', RpcNotification("m", "\\ud800")),
    (b'{"id":"3","result":{"a":1}}', RpcResponse(3, {"a": 1})),
    (b'{"id":"' + b"9" * 5_000 + b'","result":1}', RpcResponse("9" * 5_000, 1)),
    (b'{"id":3}', RpcResponse(3)),
    (b'{"id":3,"result":1,"error":null}', RpcResponse(3, 1)),
    (b'{"id":3,"error":{"code":-32000,"message":"no","data":[1]}}', RpcResponse(3, None, RpcError(-32000, "no", [1]))),
    (b'{"id":3,"error":"out of order"}', RpcResponse(3, None, RpcError(None, "out of order"))),
    (b'{"id":3,"error":{}}', RpcResponse(3, None, RpcError(None, ""))),
    (b'{"id":3,"error":{"code":"E1","message":{"a":1}}}', RpcResponse(3, None, RpcError(None, '{"a": 1}'))),
    (WIDE, RpcNotification("m", [[]] * 1_000)),
]  # fmt: skip

NO_MESSAGES = [
    (b"Starting server...", "not JSON"),
    (b'{"method":"m","params":' + b"9" * 5_000 + b"}", None),
    (DEEP, None),
    (TOO_DEEP, "not JSON: nested deeper than 200"),
    (b"42", "not a JSON object"),
    (b'[{"id":1,"method":"m"}]', "a batch"),
    (b"{}", "not a JSON-RPC message"),
    (b'{"id":[1],"method":"m"}', "not a JSON-RPC message"),
    (b'{"id":1,"method":5}', "not a JSON-RPC message"),
    (b'{"result":1}', "not a JSON-RPC message"),
]


def short(value: object) -> str | None:
    return value[:60].decode("ascii", "backslashreplace") if isinstance(value, bytes) else None


@pytest.mark.parametrize(("line", "event"), MESSAGES, ids=short)
def test_a_line_means_the_same_however_it_is_cut(line, event):
    whole, drip, tail = RpcCodec(), RpcCodec(), RpcCodec()
    assert whole.receive(line + b"\n") == [event]
    assert [e for byte in line + b"\n" for e in drip.receive(bytes([byte]))] == [event]
    assert tail.receive(line + b"\n" + line[:5]) == [event]
    assert tail.receive(line[5:] + b"\n") == [event]


@pytest.mark.parametrize(("line", "reason"), NO_MESSAGES, ids=short)
def test_a_line_that_is_no_message_is_a_value_and_costs_only_itself(line, reason):
    peer = RpcCodec()
    first, second = peer.receive(line + b'\n{"method":"m"}\n')
    assert second == RpcNotification("m")
    assert isinstance(first, InvalidLine)
    assert (first.excerpt, first.length) == (line[:2_000].decode("utf-8", "replace").strip(), len(line))
    assert first.reason == reason or reason is None
    assert first.reason.startswith("not ") or reason == "a batch"


BOUNDS = settings(deadline=None, database=None, max_examples=examples(100))


@BOUNDS
@given(st.binary(), st.integers(1, 20))
def test_no_bytes_raise_and_pieces_make_no_difference(data, size):
    whole, cut = RpcCodec(max_line=64), RpcCodec(max_line=64)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [event for piece in pieces for event in cut.receive(piece)] == whole.receive(data)


# -- long lines ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 7, 99])
def test_only_a_line_over_the_limit_is_skipped_and_the_next_one_is_read(step):
    line, following = b'{"method":"m"}', b'\n{"id":1}\n'
    for limit, event in (
        (14, RpcNotification("m")),
        (13, InvalidLine("a line longer than 13 bytes was skipped", line.decode(), 14)),
    ):
        peer = RpcCodec(max_line=limit)
        assert [e for start in range(0, 14, step) for e in peer.receive(line[start : start + step])] == []
        assert peer.receive(following) == [event, RpcResponse(1)]


def test_skipping_keeps_memory_bounded():
    peer, piece = RpcCodec(max_line=1_000_000), b"x" * 100_000
    tracemalloc.start()
    try:
        for _ in range(200):
            peer.receive(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (event,) = peer.receive(b"\n")
    assert event == InvalidLine("a line longer than 1000000 bytes was skipped", "x" * 2_000, 20_000_000)
    assert peak < 4_000_000


# -- what we say --------------------------------------------------------------------------------------------------


def test_requests_are_numbered_and_messages_are_single_ascii_lines():
    peer = RpcCodec()
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


def test_the_trace_sees_every_line_that_is_not_blank_as_it_was():
    seen = []
    peer = RpcCodec(lambda direction, line: seen.append((direction, line)))
    peer.notification("n", {})
    assert len(peer.receive(b'noise\n\n \r\n{"method":\n')) == 2
    assert seen == [(">", b'{"jsonrpc":"2.0","method":"n","params":{}}'), ("<", b"noise"), ("<", b'{"method":')]
