"""The end of a conversation that was for one request: the agent closes it, and deletes it where it can."""

import asyncio
import logging
from itertools import count
from typing import Any

import pytest
from copilot_kernel.acp.jsonrpc import RequestFailed

from ..acp.scripted import Script
from .api import LIMIT, Api, scripted, until

CAN = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"close": {}, "delete": {}}}}


async def never(script: Script, params: Any) -> None:
    """An agent that hangs."""
    await asyncio.Event().wait()


@pytest.mark.parametrize("deletes", [True, False])
async def test_a_request_without_a_name_leaves_nothing_in_the_agents_list(api: Api, deletes: bool) -> None:
    sessions = (f"s{number}" for number in count())

    async def new(script: Any, params: Any) -> dict[str, Any]:
        return {"sessionId": next(sessions)}

    can = CAN if deletes else {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"close": {}}}}
    last, ways = ("delete", ("close", "delete")) if deletes else ("close", ("close",))
    async with scripted(api, initialize=can, session_new=new, session_close={}, session_delete={}) as script:
        await api.ask("v1/models")
        await api.complete("Hello")
        await api.complete("Hello", "kept")
        await until(lambda: ended(script)[-1] == (f"session/{last}", "s1"))
        await api.close_conversations()
        await until(lambda: ended(script)[-1] == ("session/close", "s2"))
        ends = [(f"session/{how}", id) for id in ("s0", "s1") for how in ways]
        assert ended(script) == [*ends, ("session/close", "s2")]


def ended(script: Script) -> list[tuple[str, str]]:
    """What was asked for at the end of sessions, in order."""
    return [(method, each["sessionId"]) for method, each in script.heard if method.endswith(("/close", "/delete"))]


async def test_a_session_that_cannot_be_deleted_costs_no_answer(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "copilot_kernel.server.pool")
    no_luck = RequestFailed(-32603, "no luck")
    async with scripted(api, initialize=CAN, session_close={}, session_delete=no_luck) as script:
        got = [await api.complete("Hello"), await api.complete("Hello", stream=True)]
        await until(lambda: len(ended(script)) == 4)
        await until(lambda: api.sessions == 0)
        assert [each.status for each in got] == [200, 200]
        assert got[1].events[-1] == "[DONE]"
    lines = [record.getMessage() for record in caplog.records if record.name == "copilot_kernel.server.pool"]
    assert [line.startswith("the agent did not end a session: ") and "no luck" in line for line in lines] == [True] * 2


@pytest.mark.parametrize("extension", [{"concurrency": 1}], indirect=True)
async def test_an_agent_that_takes_its_time_to_delete_keeps_nobody_waiting(api: Api) -> None:
    async with scripted(api, initialize=CAN, session_close={}, session_delete=never) as script:
        assert (await api.complete("Hello")).status == 200
        await until(lambda: [method for method, _ in ended(script)] == ["session/close", "session/delete"])
        assert (await api.complete("Hello", "kept")).status == 200


async def test_who_stops_waiting_for_the_end_of_a_session_is_stopped(api: Api) -> None:
    """The conversation ends all the same."""
    async with scripted(api, initialize=CAN, session_close={}, session_delete=never) as script:
        home = await api.context.pool.runner(api.context.conversations.settings, "a test")
        await home.do(lambda chat: chat.ready())
        forgetting = asyncio.create_task(api.context.pool.delete(home))
        await until(lambda: "session/delete" in dict(ended(script)))
        forgetting.cancel()
        await asyncio.wait({forgetting}, timeout=LIMIT)
        assert (forgetting.cancelled(), api.sessions) == (True, 0)
