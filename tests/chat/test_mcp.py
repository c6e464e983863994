"""MCP servers of the settings on their way to the demo agent, and what becomes of a session that they spoil."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.messages import Image
from copilot_kernel.errors import AgentRefused, AgentStartFailed, UsageError
from copilot_kernel.mcp_config import McpServer

from .conftest import Open
from .people import Person, ask

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

FILES = McpServer("files", "stdio", "serve-files", ("--root", "."), (("KEY", "s3cr3t"),))
API = McpServer("api", "http", url="https://h/mcp", headers=(("Authorization", "Bearer s3cr3t"),))
SERVERS = (FILES, API)
BLAME = "An MCP server that fails or hangs may be the cause; passed were: files, api."


async def test_the_agent_is_told_of_those_that_it_can_take_and_the_user_of_the_others(opened: Open) -> None:
    async with opened(mcp_servers=SERVERS) as chat:
        turn = await ask(chat, "demo: mcp", person := Person())
        assert turn.text == "- files: stdio, serve-files --root ., env KEY"
        note = "MCP: api is not passed on: demo agent does not take servers of type http."
        assert person.notices == [note]
        await ask(chat, "demo: mcp", later := Person())
        assert later.notices == []


async def test_where_all_can_be_taken_there_is_nothing_to_tell(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "mcp-http")
    async with opened(mcp_servers=SERVERS) as chat:
        turn = await ask(chat, "demo: mcp", person := Person())
        assert turn.text.splitlines() == [
            "- files: stdio, serve-files --root ., env KEY",
            "- api: http, https://h/mcp, headers Authorization",
        ]
        assert person.notices == []


async def test_a_session_that_they_make_fail_says_which_were_passed(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "mcp-http,mcp-fails")
    async with opened(mcp_servers=SERVERS) as chat:
        with pytest.raises(AgentRefused) as error:
            await ask(chat, "demo: mcp")
        assert BLAME in error.value.hint


async def test_a_session_that_they_make_hang_ends_in_time_and_says_which_were_passed(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "mcp-http,mcp-hangs")
    async with opened(mcp_servers=SERVERS, start_timeout=3.0) as chat:
        with pytest.raises(AgentStartFailed) as error:
            await ask(chat, "demo: mcp")
        assert BLAME in error.value.hint
        assert "session/new" in str(error.value)


async def test_no_log_and_no_error_shows_what_is_secret_even_if_the_agent_says_it(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "mcp-http")
    keyed = McpServer("keyed", "stdio", "serve", ("--api-key", "s3cr3t-in-words"), (("KEY", "s3cr3t-in-env"),))
    async with opened(mcp_servers=(*SERVERS, keyed)) as chat:
        await ask(chat, "demo: mcp\nsay It is s3cr3t-in-env.")
        log = "\n".join(chat.log())
        assert ("serve-files" in log, "It is •••." in log, "s3cr3t" in log) == (True, True, False)
        with pytest.raises(AgentRefused) as error:
            await ask(chat, "demo: error -32603 The key s3cr3t-in-words is wrong")
        assert str(error.value) == "The agent refused session/prompt: The key ••• is wrong (-32603)"


async def test_an_image_that_this_agent_cannot_take_is_refused_once_and_not_kept(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "no-image")
    async with opened() as chat:
        chat.attach([Image("aA==", "image/png")])
        with pytest.raises(UsageError) as error:
            await ask(chat, "demo: echo")
        assert str(error.value).startswith("demo agent takes no images (promptCapabilities.image)")
        assert (await ask(chat, "demo: say Again.")).text == "Again."
