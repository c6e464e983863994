"""Content of all kinds: what the prompt brought, what the agent and its tools show, and MCP servers."""

import base64

import anyio
import pytest
from copilot_kernel.demo.media import BLOB, BLOCKS
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio

DATA = base64.b64encode(b"12345").decode()
IMAGE = {"type": "image", "mimeType": "image/png", "data": DATA}
AUDIO = {"type": "audio", "mimeType": "audio/wav", "data": DATA}


def text(heard):
    return heard[0]["content"]["text"]


async def test_echo_tells_exactly_which_blocks_came(talking):
    async with talking("audio") as client:
        heard = await client.play(
            "demo: echo",
            IMAGE,
            {**IMAGE, "uri": "file:///a.png"},
            {**IMAGE, "data": "no base64!"},
            AUDIO,
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/csv", "size": 7},
            {"type": "resource", "resource": {"uri": "file:///b", "text": "b\n", "mimeType": "text/plain"}},
            {"type": "resource", "resource": {"uri": "file:///c", "blob": DATA}},
            {"type": "novelty"},
        )
    assert text(heard).splitlines() == [
        "- text: 'demo: echo'",
        "- image: image/png, 5 bytes",
        "- image: image/png, 5 bytes, uri file:///a.png",
        "- image: image/png, 10 characters that are not base64",
        "- audio: audio/wav, 5 bytes",
        "- resource_link: file:///a, name a, mimeType text/csv, size 7",
        "- resource: file:///b, 'b\\n', mimeType text/plain",
        "- resource: file:///c, 5 bytes",
        '- other: {"type": "novelty"}',
    ]


@pytest.mark.parametrize(
    ("switch", "block", "name"),
    [
        ("audio", AUDIO, "audio"),
        ("no-image", IMAGE, "image"),
        ("no-embedded", {"type": "resource", "resource": {"uri": "a:b", "text": ""}}, "resource"),
    ],
)
async def test_what_the_agent_did_not_say_it_takes_is_refused(talking, switch, block, name):
    async def takes(*switches):
        async with talking(*switches) as client:
            try:
                return await client.prompt("demo: say a", block)
            except AgentRefused as error:
                return error.code, f"I did not say that I take {name}" in str(error)

    answers = [await takes(), await takes(switch)]
    assert (answers[::-1] if switch == "audio" else answers) == [{"stopReason": "end_turn"}, (-32602, True)]


async def test_a_tool_call_can_hold_content_of_all_kinds(talking):
    async with talking() as client:
        begun, done, _ = await client.play("demo: tool")
        assert (begun["title"], done["content"]) == (
            "Fetch text and image and svg and audio and link and resource and blob",
            [{"type": "content", "content": block} for block in BLOCKS.values()],
        )
        _, done, _ = await client.play("demo: tool svg")
        assert done["content"] == [{"type": "content", "content": BLOCKS["svg"]}]
        with pytest.raises(AgentRefused, match="not smell"):
            await client.prompt("demo: tool smell")
    assert base64.b64decode(BLOCKS["blob"]["resource"]["blob"]) == BLOB


STDIO = {"name": "files", "command": "/bin/server", "args": ["--here"], "env": [{"name": "TOKEN", "value": "secret"}]}
HTTP = {"type": "http", "name": "web", "url": "http://localhost/mcp", "headers": [{"name": "Auth", "value": "secret"}]}


async def test_mcp_tells_which_servers_came_and_no_secrets(talking):
    async with talking("mcp-http", "mcp-sse") as client:
        assert (await client.initialize())["agentCapabilities"]["mcpCapabilities"] == {"http": True, "sse": True}
        assert text(await client.play("demo: mcp")) == "There are no MCP servers."
        servers = [STDIO, HTTP, {**HTTP, "type": "sse", "headers": []}, {"name": "odd", "command": "x", "args": []}]
        client.session_id = (await client.new(*servers))["sessionId"]
        expected = [
            "- files: stdio, /bin/server --here, env TOKEN",
            "- web: http, http://localhost/mcp, headers Auth",
            "- web: sse, http://localhost/mcp",
            '- not as the protocol has it: {"name": "odd", "command": "x", "args": []}',
        ]
        assert text(await client.play("demo: mcp")).splitlines() == expected
        await client.come_back("session/load", client.session_id)
        assert text(await client.play("demo: mcp")) == "There are no MCP servers."


async def test_servers_of_a_type_that_was_not_offered_are_refused(talking):
    async with talking("mcp-sse") as client:
        with pytest.raises(AgentRefused, match="MCP servers of type http"):
            await client.new(STDIO, HTTP)


async def test_servers_can_be_out_of_reach(talking):
    async with talking("mcp-fails") as client:
        with pytest.raises(AgentRefused, match="cannot reach the MCP server files"):
            await client.new(STDIO)
    async with talking("mcp-hangs") as client:
        client.lawful = False
        with anyio.move_on_after(0.1) as patience:
            await client.new(STDIO)
        assert patience.cancelled_caught
