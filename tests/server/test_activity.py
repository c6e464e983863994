"""What the server does counts as its activity, so that nobody takes it for idle meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from copilot_kernel.server.activity import Activity

from .api import Api, until
from .sockets import MagicSession

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


def last_activity(api: Api) -> datetime:
    """As Jupyter tells it to who looks for idle servers."""
    found: datetime = api.serverapp.web_app.last_activity()
    return found


def forget(api: Api) -> None:
    """As if nothing had happened for long."""
    settings = api.serverapp.web_app.settings
    settings["started"] = api.serverapp.kernel_manager.last_kernel_activity = LONG_AGO
    settings["last_activity_times"].clear()
    for name in [name for name in settings if name.endswith("_last_activity")]:
        del settings[name]
    assert last_activity(api) == LONG_AGO


async def is_active(api: Api) -> bool:
    """Whether the next look makes the server look busy."""
    forget(api)
    await api.app._sweep()
    return datetime.now(UTC) - last_activity(api) < timedelta(minutes=1)


async def test_a_request_over_http_whose_client_waits(api: Api) -> None:
    async with api.streaming("demo: say begun\nwait") as response:
        await anext(response.aiter_lines())
        assert await is_active(api)
    await until(lambda: api.app.limits.running == 0)
    assert not await is_active(api)


async def test_a_question_in_the_chat_though_nobody_is_connected(api: Api, door: MagicSession) -> None:
    async with door.client() as client:
        session = await client.begin()
        await client.act("send", text="demo: ask Shall I?")
        asked = await client.event("tool_approval_request")
    assert await is_active(api)
    async with door.client() as client:
        await client.act("resume_session", session_id=session)
        await client.act("approve_tool", call_id=asked["call_id"], response="yes")
        await client.kind("done")
        assert not await is_active(api)


@pytest.mark.parametrize("extension", [{"activity_timeout": 0}], indirect=True)
async def test_unless_a_setting_says_otherwise(api: Api) -> None:
    async with api.streaming("demo: say begun\nwait") as response:
        await anext(response.aiter_lines())
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
