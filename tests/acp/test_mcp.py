"""What an agent is told of the MCP servers, and what Copilot is told by its own flag."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from copilot_kernel.acp.locate import Launch
from copilot_kernel.acp.mcp import Offered, compose_server, flagged, offer
from copilot_kernel.acp.messages import AgentInfo
from copilot_kernel.mcp_config import McpServer

FILES = McpServer("files", "stdio", "serve-files", ("--root", "."), (("KEY", "s3cr3t"),))
API = McpServer("api", "http", url="https://h/mcp", headers=(("Authorization", "Bearer x"),))
EVENTS = McpServer("events", "sse", url="https://h/sse")
ALL = (FILES, API, EVENTS)

OTHER = Launch(("other",), label="other")
COPILOT = Launch(("copilot", "--acp"), label="GitHub Copilot CLI", is_copilot=True)
REMOTE = Launch(address=("localhost", 1), label="agent at localhost:1")
BOTH = frozenset({"http", "sse"})

RAW = [
    {"name": "files", "command": "serve-files", "args": ["--root", "."], "env": [{"name": "KEY", "value": "s3cr3t"}]},
    {
        "type": "http",
        "name": "api",
        "url": "https://h/mcp",
        "headers": [{"name": "Authorization", "value": "Bearer x"}],
    },
    {"type": "sse", "name": "events", "url": "https://h/sse", "headers": []},
]


@pytest.mark.parametrize(("server", "raw"), list(zip(ALL, RAW, strict=True)))
def test_a_server_is_sent_as_the_specification_has_it(typescript_sdk: Path, server: McpServer, raw: Any) -> None:
    assert compose_server(server) == raw
    schema = json.loads((typescript_sdk / "schema" / "v1" / "schema.json").read_text("utf-8"))
    jsonschema.validate(raw, {**schema, "anyOf": [{"$ref": "#/$defs/McpServer"}]})


UNTAKEN = "does not take servers of type"


@pytest.mark.parametrize(
    ("info", "launch", "offered"),
    [
        (AgentInfo(name="a", mcp=BOTH), OTHER, Offered(ALL)),
        (
            AgentInfo(name="a", title="Ada"),
            OTHER,
            Offered((FILES,), unsent=((API, f"Ada {UNTAKEN} http"), (EVENTS, f"Ada {UNTAKEN} sse"))),
        ),
        (AgentInfo(mcp=BOTH - {"sse"}), OTHER, Offered((FILES, API), unsent=((EVENTS, f"the agent {UNTAKEN} sse"),))),
        (AgentInfo(name="Copilot", mcp=BOTH), COPILOT, Offered((API, EVENTS), flagged=(FILES,))),
        (
            AgentInfo(name="Copilot", mcp=BOTH),
            REMOTE,
            Offered(
                (API, EVENTS),
                unsent=((FILES, "Copilot takes a server that it has to start only by a flag, when it starts itself"),),
            ),
        ),
    ],
)  # fmt: skip
def test_an_agent_is_told_of_what_it_can_take(info: AgentInfo, launch: Launch, offered: Offered) -> None:
    assert offer(ALL, info, launch) == offered


def test_the_user_is_told_what_goes_another_way_or_not_at_all() -> None:
    offered = Offered((API,), (FILES,), ((EVENTS, "it does not take servers of type sse"),))
    assert offered.servers == [RAW[1]]
    assert offered.notes == (
        "MCP: files by Copilot's own flag --additional-mcp-config.",
        "MCP: events is not passed on: it does not take servers of type sse.",
    )
    assert offered.blame == (
        "An MCP server that fails or hangs may be the cause; passed were: api, files. "
        "See mcp_servers (COPILOT_KERNEL_MCP_SERVERS)."
    )


def test_without_servers_there_is_nothing_to_tell() -> None:
    nothing = offer((), AgentInfo(), OTHER)
    assert (nothing, nothing.servers, nothing.notes, nothing.blame) == (Offered(), [], (), "")


def test_copilot_gets_what_it_would_drop_in_a_file_that_only_the_user_can_read() -> None:
    with flagged(COPILOT, ALL) as launch:
        *argv, flag, place = launch.argv
        file = Path(place.removeprefix("@"))
        assert (tuple(argv), flag, place[0]) == (COPILOT.argv, "--additional-mcp-config", "@")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert json.loads(file.read_text("utf-8")) == {
            "mcpServers": {
                "files": {
                    "type": "local",
                    "command": "serve-files",
                    "args": ["--root", "."],
                    "env": {"KEY": "s3cr3t"},
                    "tools": ["*"],
                }
            }
        }
    assert not file.exists()


def test_the_file_goes_away_when_the_agent_fails() -> None:
    files = []

    def fail() -> None:
        with flagged(COPILOT, ALL) as launch:
            files.append(Path(launch.argv[-1].removeprefix("@")))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [file.exists() for file in files] == [False]


@pytest.mark.parametrize(("launch", "servers"), [(COPILOT, (API,)), (COPILOT, ()), (OTHER, ALL), (REMOTE, ALL)])
def test_there_is_no_flag_where_nothing_would_be_dropped(launch: Launch, servers: tuple[McpServer, ...]) -> None:
    with flagged(launch, servers) as same:
        assert same == launch
