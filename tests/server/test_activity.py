"""What the server does counts as its activity, so that nobody takes it for idle meanwhile."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from copilot_kernel.server.limits import Activity

from .api import Api, until
from .sockets import ChatEndpoint

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def test_a_turn_counts_until_it_ends_but_not_for_ever() -> None:
    times: dict[str, datetime] = {}
    now = 0.0

    def noted() -> bool:
        times.clear()
        activity.sweep()
        return bool(times)

    activity = Activity(times, limit=100, clock=lambda: now)
    assert not noted()
    with activity.turn():
        assert times
        assert noted()
        now = 50
        with activity.turn():
            now = 120
            assert noted(), "of the second one"
        assert not noted()
        times.clear()
    assert times, "the end is something that happened"
    assert not noted()


async def is_active(api: Api) -> bool:
    """Whether the next look makes the server look busy, though nothing had happened for long."""
    web_app = api.serverapp.web_app
    web_app.settings["started"] = api.serverapp.kernel_manager.last_kernel_activity = LONG_AGO
    web_app.settings["last_activity_times"].clear()
    for name in [name for name in web_app.settings if name.endswith("_last_activity")]:
        del web_app.settings[name]
    assert web_app.last_activity() == LONG_AGO
    await api.app._sweep()
    return bool(datetime.now(UTC) - web_app.last_activity() < timedelta(minutes=1))


@pytest.mark.parametrize(
    ("extension", "counts"), [({}, True), ({"activity_timeout": 0}, False)], indirect=["extension"]
)
async def test_a_request_over_http_whose_client_waits(api: Api, counts: bool) -> None:
    async with api.streaming("demo: say begun\nwait") as response:
        await anext(response.aiter_lines())
        assert await is_active(api) is counts
    await until(lambda: api.turns == 0)
    assert not await is_active(api)


async def test_a_question_in_the_chat_though_nobody_is_connected(api: Api, endpoint: ChatEndpoint) -> None:
    async with endpoint.client() as client:
        session = await client.begin()
        await client.act("send", text="demo: ask Shall I?")
        asked = await client.event("tool_approval_request")
    assert await is_active(api)
    async with endpoint.client() as client:
        await client.act("resume_session", session_id=session)
        await client.act("approve_tool", call_id=asked["call_id"], response="yes")
        await client.kind("done")
        assert not await is_active(api)


@pytest.mark.parametrize(
    ("extension", "seconds"), [({}, 600.0), ({"activity_timeout": 5}, 5.0)], indirect=["extension"]
)
async def test_the_setting_of_kernels_is_the_default(
    monkeypatch: pytest.MonkeyPatch, jp_configurable_serverapp: Any, seconds: float
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_ACTIVITY_TIMEOUT", "600")
    app = jp_configurable_serverapp().extension_manager.extension_apps["copilot_kernel"].copy().pop()
    assert app.activity_timeout == seconds
