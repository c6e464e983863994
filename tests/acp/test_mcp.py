"""The MCP servers that an agent gets, and those that Copilot gets by its own flag."""

import json
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp.locate import Launch
from copilot_kernel.acp.mcp import MAY_BE_THE_CAUSE, SETTING, McpOffer, compose_server, select_servers, with_mcp_flag
from copilot_kernel.acp.messages import AgentInfo
from copilot_kernel.mcp_config import McpServer

from .conftest import Valid

FILES = McpServer("files", "stdio", "serve-files", ("--root", "."), (("KEY", "s3cr3t"),))
API = McpServer("api", "http", url="https://h/mcp", headers=(("Authorization", "Bearer x"),))
EVENTS = McpServer("events", "sse", url="https://h/sse")
ALL = (FILES, API, EVENTS)

OTHER = Launch(("other",), label="other")
COPILOT = Launch(("copilot", "--acp"), label="GitHub Copilot CLI", is_copilot=True)
REMOTE = Launch(address=("localhost", 1), label="agent at localhost:1")
BOTH = frozenset({"http", "sse"})

HEADER = {"name": "Authorization", "value": "Bearer x"}
RAW = [
    {"name": "files", "command": "serve-files", "args": ["--root", "."], "env": [{"name": "KEY", "value": "s3cr3t"}]},
    {"type": "http", "name": "api", "url": "https://h/mcp", "headers": [HEADER]},
    {"type": "sse", "name": "events", "url": "https://h/sse", "headers": []},
]


@pytest.mark.parametrize(("server", "raw"), list(zip(ALL, RAW, strict=True)))
def test_a_server_is_sent_as_the_specification_has_it(valid: Valid, server: McpServer, raw: Any) -> None:
    assert compose_server(server) == raw
    valid("McpServer", raw)


@pytest.mark.parametrize(
    ("info", "launch", "offered"),
    [
        (AgentInfo(name="a", mcp=BOTH), OTHER, McpOffer(ALL)),
        (
            AgentInfo(title="Ada", mcp=BOTH - {"sse"}),
            OTHER,
            McpOffer((FILES, API), unsent=((EVENTS, "Ada does not support sse servers"),)),
        ),
        (AgentInfo(name="Copilot", mcp=BOTH), COPILOT, McpOffer((API, EVENTS), flagged=(FILES,))),
        (
            AgentInfo(name="Copilot", mcp=BOTH),
            REMOTE,
            McpOffer(
                (API, EVENTS), unsent=((FILES, "Copilot takes stdio servers only by a flag when the kernel starts it"),)
            ),
        ),
    ],
)
def test_an_agent_gets_what_it_supports(info: AgentInfo, launch: Launch, offered: McpOffer) -> None:
    assert select_servers(ALL, info, launch) == offered


def test_the_notes_name_servers_that_go_another_way_or_not_at_all() -> None:
    offered = McpOffer((API,), (FILES,), ((EVENTS, "it does not support sse servers"),))
    assert offered.servers == [RAW[1]]
    assert offered.notes == (
        "MCP: files passed by Copilot's flag --additional-mcp-config.",
        "MCP: events was not passed on: it does not support sse servers.",
    )
    assert offered.blame == (f"{MAY_BE_THE_CAUSE.format('api, files')} See {SETTING}.")


def test_copilot_gets_what_it_would_drop_in_a_file_that_only_the_user_can_read() -> None:
    with suppress(RuntimeError), with_mcp_flag(COPILOT, ALL) as launch:
        *argv, flag, place = launch.argv
        file = Path(place.removeprefix("@"))
        assert (tuple(argv), flag, place[0]) == (COPILOT.argv, "--additional-mcp-config", "@")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        server = {"type": "local", "command": "serve-files", "args": ["--root", "."], "env": {"KEY": "s3cr3t"}}
        assert json.loads(file.read_text("utf-8")) == {"mcpServers": {"files": {**server, "tools": ["*"]}}}
        raise RuntimeError
    assert not file.exists()
    with with_mcp_flag(COPILOT, ALL) as launch:
        file = Path(launch.argv[-1].removeprefix("@"))
        assert file.exists()
    assert not file.exists()


@pytest.mark.parametrize(("launch", "servers"), [(COPILOT, (API,)), (COPILOT, ()), (OTHER, ALL), (REMOTE, ALL)])
def test_there_is_no_flag_where_nothing_would_be_dropped(launch: Launch, servers: tuple[McpServer, ...]) -> None:
    with with_mcp_flag(launch, servers) as same:
        assert same == launch
