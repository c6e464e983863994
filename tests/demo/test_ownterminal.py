"""Terminals of the agent's own, shown by `_meta`."""

import pytest

pytestmark = pytest.mark.anyio


def metas(heard, name):
    return [update["_meta"][name] for update in heard if name in update.get("_meta", {})]


async def test_the_output_comes_in_pieces_and_then_the_exit(talking, tmp_path):
    async with talking() as client:
        heard = await client.play("demo: terminal-meta echo one; sleep 0.1; echo two; exit 3")
    (info,) = metas(heard, "terminal_info")
    terminal = info["terminal_id"]
    assert info == {"terminal_id": terminal, "cwd": str(tmp_path)}
    assert heard[0]["content"] == [{"type": "terminal", "terminalId": terminal}]
    pieces = metas(heard, "terminal_output_delta")
    assert [piece["terminal_id"] for piece in pieces] == [terminal] * 2
    assert [piece["data"] for piece in pieces] == ["one\n", "two\n"]
    assert metas(heard, "terminal_exit") == [{"terminal_id": terminal, "exit_code": 3, "signal": None}]
    assert heard[-2]["status"] == "failed"


async def test_the_output_comes_whole(talking):
    async with talking() as client:
        heard = await client.play("demo: terminal-meta-whole echo one; echo two; kill -9 $$")
    (output,) = metas(heard, "terminal_output")
    (exit,) = metas(heard, "terminal_exit")
    assert (output["data"], metas(heard, "terminal_output_delta")) == ("one\ntwo\n", [])
    assert exit == {"terminal_id": output["terminal_id"], "exit_code": None, "signal": "signal 9"}


async def test_nothing_of_a_long_output_is_lost(talking):
    async with talking() as client:
        heard = await client.play("demo: terminal-meta seq 100000")
    text = "".join(piece["data"] for piece in metas(heard, "terminal_output_delta"))
    assert text == "".join(f"{number}\n" for number in range(1, 100_001))
