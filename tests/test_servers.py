"""MCP servers as settings write them, and what is shown of them."""

from typing import Any

import pytest
from copilot_kernel.mcp_config import McpServer, describe, parse_servers, secrets
from hypothesis import given
from hypothesis import settings as limited
from hypothesis import strategies as st

from .limits import examples

FILES = McpServer("filesystem", "stdio", "/path/to/server", ("--stdio",), (("DEPTH", "3"),))
API = McpServer("api", "http", url="https://mcp.example.com", headers=(("Authorization", "Bearer xxx"),))

AS_LIST = [
    {"name": "filesystem", "command": "/path/to/server", "args": ["--stdio"], "env": [{"name": "DEPTH", "value": "3"}]},
    {
        "type": "http",
        "name": "api",
        "url": "https://mcp.example.com",
        "headers": [{"name": "Authorization", "value": "Bearer xxx"}],
    },
]
AS_MAP = {
    "filesystem": {"type": "stdio", "command": "/path/to/server", "args": ["--stdio"], "env": {"DEPTH": "3"}},
    "api": {"type": "http", "url": "https://mcp.example.com", "headers": {"Authorization": "Bearer xxx"}},
}


@pytest.mark.parametrize("raw", [AS_LIST, AS_MAP, {"mcpServers": AS_MAP}, {"mcpServers": AS_LIST}])
def test_a_list_and_a_map_say_the_same(raw: Any) -> None:
    assert parse_servers(raw) == ((FILES, API), ())


@pytest.mark.parametrize(
    ("raw", "server"),
    [
        ({"type": "local", "command": "x", "tools": ["*"]}, McpServer("s", "stdio", "x")),
        ({"type": "streamable-http", "url": "http://h/"}, McpServer("s", "http", url="http://h/")),
        ({"type": "sse", "url": "https://h/sse", "headers": None}, McpServer("s", "sse", url="https://h/sse")),
    ],
)
def test_other_ways_to_write_one(raw: Any, server: McpServer) -> None:
    assert parse_servers({"s": raw}) == ((server,), ())


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"s": 5}, "s: command is missing"),
        ([{"command": "x"}], "server 1: name is missing"),
        ({"s": {"type": ["http"]}}, "s: type ['http'] is not one of stdio, http, sse"),
        ({"s": {"command": "x", "args": "-v"}}, "s: args must be an array of strings"),
        ({"s": {"command": "x", "env": {"A": 1}}}, "s: env must map strings to strings"),
        ({"s": {"command": "x", "env": [{"name": "A"}]}}, "s: env must map strings to strings"),
        ({"s": {"url": "ftp://h/"}}, "s: url must begin with http:// or https://"),
        ({"s": {"url": "http://["}}, "s: Invalid IPv6 URL"),
        ("x", "must be an array of servers, or an object that maps names to servers"),
    ],
)
def test_what_cannot_be_read_is_reported(raw: Any, problem: str) -> None:
    assert parse_servers(raw) == ((), (problem,))


def test_a_bad_server_costs_itself_alone() -> None:
    raw = [*AS_LIST, {"name": "api", "command": "x"}, {"name": "odd", "command": "x", "retries": 3}]
    assert parse_servers(raw) == (
        (FILES, API, McpServer("odd", "stdio", "x")),
        ("api: duplicate name", "odd: unknown member 'retries' is ignored"),
    )


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
members = st.sampled_from(["name", "type", "command", "args", "env", "url", "headers", "mcpServers"])


@limited(max_examples=examples(40))
@given(
    st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(members | st.text(), inner, max_size=4)
    )
)
def test_any_json_is_read(raw: Any) -> None:
    servers, problems = parse_servers(raw)
    assert all(isinstance(words, str) for words in (*map(describe, servers), *problems))


# -- what is secret -------------------------------------------------------------------------------------------------

SECRET = "s3cr3t-value"


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        (McpServer("s", "stdio", "x", ("-v",), (("KEY", SECRET),)), "stdio x -v (KEY=•••)"),
        (McpServer("s", "stdio", "x", ("--api-key", SECRET, "run")), "stdio x --api-key ••• run"),
        (McpServer("s", "stdio", "x", (f"--token={SECRET}",)), "stdio x --token=•••"),
        (McpServer("s", "stdio", "x", (f"GITHUB_TOKEN={SECRET}",)), "stdio x GITHUB_TOKEN=•••"),
        (McpServer("s", "stdio", "x", ("--header", f"Authorization: {SECRET}")), "stdio x --header Authorization: •••"),
        (McpServer("s", "http", url="https://h/mcp", headers=(("X-Key", SECRET),)), "http https://h/mcp (X-Key=•••)"),
        (McpServer("s", "sse", url=f"https://me:{SECRET}@h:1/sse"), "sse https://h:1/sse •••"),
        (McpServer("s", "http", url=f"https://h/mcp?key={SECRET}#{SECRET}"), "http https://h/mcp •••"),
        (McpServer("s", "stdio", "npx", ("-y", "keyboard-server", "--stdio")), "stdio npx -y keyboard-server --stdio"),
    ],
)
def test_what_is_shown_holds_no_secret(server: McpServer, shown: str) -> None:
    assert describe(server) == shown


def test_the_texts_that_no_log_may_show() -> None:
    args = ("--api-key", "abcd-1", "--password=abcd-2", "plain")
    servers = [McpServer("s", "stdio", "x", args, (("A", "abcd-3"),)), API]
    assert secrets(servers) == {"abcd-1", "abcd-2", "abcd-3", "Bearer xxx"}
