"""Each directive, by the messages that it makes."""

import anyio
import pytest
from copilot_kernel.demo import media, samples
from copilot_kernel.demo.directives import DIRECTIVES
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio

END = {"stopReason": "end_turn"}


def message(text, speaker="message"):
    return {"sessionUpdate": f"agent_{speaker}_chunk", "content": {"type": "text", "text": text}}


def block(**members):
    return {"sessionUpdate": "agent_message_chunk", "content": members}


def entry(content, status):
    return {"content": content, "priority": "medium", "status": status}


def content(text):
    return [{"type": "content", "content": {"type": "text", "text": text}}]


STORM = {"toolCallId": "call_1", "status": "pending"}
SPOKEN = {
    "say one": [message("one"), END],
    r"say # One\n\n- two": [message("# One\n\n- two"), END],
    "text one two  three": [message("one "), message("two  "), message("three"), END],
    "think hm": [message("hm", "thought"), END],
    "slow 3 0": [message("1 "), message("2 "), message("3 "), END],
    "flood 2": [message("1 "), message("2 "), END],
    "storm 3": [
        {"sessionUpdate": "tool_call", **STORM, "title": "A storm", "kind": "other", "rawInput": {"updates": 3}},
        message("1 ", "thought"),
        {"sessionUpdate": "plan", "entries": [entry("Step 2", "in_progress"), entry("Then rest", "pending")]},
        {"sessionUpdate": "tool_call_update", **STORM, "status": "in_progress", "content": content("Update 3")},
        {"sessionUpdate": "tool_call_update", **STORM, "status": "completed"},
        END,
    ],
    "long 15 3 0": [message("and \n"), message("\nEND-"), message("MARK\n"), END],
    "image": [block(type="image", mimeType="image/png", data=samples.PICTURE), END],
    "audio": [block(type="audio", mimeType="audio/wav", data=samples.sound()), END],
    "link file:///a/b.txt": [block(type="resource_link", uri="file:///a/b.txt", name="b.txt"), END],
    "resource hello": [
        block(type="resource", resource={"uri": "demo://note.txt", "mimeType": "text/plain", "text": "hello"}),
        END,
    ],
    "plan a; b;c": [
        {
            "sessionUpdate": "plan",
            "entries": [entry("a", "in_progress"), entry("b", "pending"), entry("c", "pending")],
        },
        END,
    ],
    "plan a;b / 1": [{"sessionUpdate": "plan", "entries": [entry("a", "completed"), entry("b", "in_progress")]}, END],
    "notice warning Careful: it is hot": [
        {"sessionUpdate": "notice", "severity": "warning", "title": "Careful", "description": "it is hot"},
        END,
    ],
    "notice": [{"sessionUpdate": "notice", "severity": "info", "title": "A notice"}, END],
    "mode plan": [{"sessionUpdate": "current_mode_update", "currentModeId": "plan"}, END],
    "commands one two": [
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"name": "one", "description": "The one command"},
                {"name": "two", "description": "The two command"},
            ],
        },
        END,
    ],
    "remember": [message("This is prompt 1 of this session; the first was 'demo: remember'."), END],
    "stop max_tokens": [{"stopReason": "max_tokens"}],
    "stop": [END],
    "refuse": [{"stopReason": "refusal"}],
    "wait 0": [END],
    "silent 0": [message("The demo agent is back."), END],
    "svg": [block(**media.BLOCKS["svg"]), END],
    "blob": [block(**media.BLOCKS["blob"]), END],
}
LAWLESS = {
    'notify $/hello {"a": 1}': [{"method": "$/hello", "params": {"a": 1}}, END],
    'raw {"sessionUpdate": "novelty", "x": [1]}': [{"sessionUpdate": "novelty", "x": [1]}, END],
    "raw 3": [3, END],
    "stop tired": [{"stopReason": "tired"}],
    "request foo/bar {}": [
        message("foo/bar answered error -32601: The agent refused foo/bar: Method not found: foo/bar (-32601)"),
        END,
    ],
}
ELSEWHERE = {
    "read", "edit", "create", "delete", "shell", "unasked",  # test_work.py
    "ask", "ask2", "options", "withdraw", "together", "swap", "swap-late",  # test_questions.py
    "hang",  # test_cancel.py
    "elicit", "elicit-withdrawn", "question",  # test_asking.py
    "fsread", "fswrite", "fswrite-asked",  # test_services.py
    "terminal", "terminal-asked", "terminal-left", "terminal-killed",  # the same
    "terminal-meta", "terminal-meta-whole",  # test_ownterminal.py
    "tool", "echo", "mcp",  # test_media.py
    "option",  # test_options.py
    "die", "rawline", "stderr",  # test_process.py
    "late", "error", "help", "usage",  # below
}  # fmt: skip


@pytest.mark.parametrize("script", SPOKEN)
async def test_what_a_directive_sends(talking, script):
    async with talking() as client:
        assert await client.play(f"demo: {script}") == SPOKEN[script]


@pytest.mark.parametrize("script", LAWLESS)
async def test_what_a_directive_sends_that_the_protocol_does_not_know(talking, script):
    async with talking() as client:
        client.lawful = False
        assert await client.play(f"demo: {script}") == LAWLESS[script]


def test_every_directive_is_tested_somewhere():
    assert {script.split()[0] for script in (*SPOKEN, *LAWLESS)} | ELSEWHERE == set(DIRECTIVES)


async def test_lines_are_played_in_order(talking):
    async with talking() as client:
        assert await client.play("demo: say one\nthink two\n\nsay three\nstop max_tokens\nsay never") == [
            message("one"),
            message("two", "thought"),
            message("three"),
            {"stopReason": "max_tokens"},
        ]


async def test_each_turn_says_how_much_of_the_context_is_used(talking):
    async with talking() as client:
        await client.prompt("demo: say a")
        await client.prompt("demo: usage 7 10\nsay b")
        updates = [heard for heard in client.heard if heard["sessionUpdate"] == "usage_update"]
        assert updates == [
            {"sessionUpdate": "usage_update", "used": used, "size": size}
            for used, size in ((1000, 32000), (7, 10), (2000, 32000))
        ]


async def test_the_title_comes_after_the_first_answer_only(talking):
    async with talking() as client:
        await client.prompt("demo: say a\nsay b")
        assert "session_info_update" not in [heard["sessionUpdate"] for heard in client.heard]
        title = await client.until(lambda heard: heard["sessionUpdate"] == "session_info_update")
        assert title == {"sessionUpdate": "session_info_update", "title": "Demo: demo: say a"}
        await client.prompt("demo: late x")
        await client.until(lambda heard: heard == message("x"))
        assert [heard for heard in client.heard if heard["sessionUpdate"] == "session_info_update"] == [title]


async def test_late_comes_after_the_answer(talking):
    async with talking() as client:
        assert await client.play("demo: late one more\nsay first") == [message("first"), END]
        await client.until(lambda heard: heard == message("one more"))


async def test_an_error_is_the_answer_to_the_prompt(talking):
    async with talking() as client:
        with pytest.raises(AgentRefused) as caught:
            await client.prompt("demo: say before\nerror -32603 the model is away")
        assert (caught.value.code, message("before") in client.heard) == (-32603, True)
        assert "the model is away" in str(caught.value)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sing a song", "no directive is called 'sing'"),
        ("slow many", r"write slow N \[SECONDS\]"),
        ("raw {", "this is not JSON"),
        ("edit only-a-name", "write edit PATH OLD => NEW"),
        ("plan a / b", "write plan A;B;C"),
        ("die NOW", "write die"),
    ],
)
async def test_a_script_that_cannot_be_read_is_an_error(talking, script, words):
    async with talking() as client:
        with pytest.raises(AgentRefused, match=words) as caught:
            await client.prompt(f"demo: {script}")
        assert caught.value.code == -32602


async def test_nothing_is_done_of_a_script_with_an_unknown_directive(talking):
    async with talking() as client:
        with pytest.raises(AgentRefused):
            await client.prompt("demo: say one\nsing")
        assert message("one") not in client.heard


async def test_help_lists_every_directive_with_its_form(talking):
    async with talking() as client:
        (update, _) = await client.play("demo: help")
    lines = update["content"]["text"].splitlines()
    assert [line.split("`")[1].split()[0] for line in lines] == sorted(DIRECTIVES)
    assert all(": " in line for line in lines)


async def test_a_session_remembers_its_prompts(talking):
    async with talking() as client:
        await client.prompt("demo: say hello")
        assert await client.play("demo: remember") == [
            message("This is prompt 2 of this session; the first was 'demo: say hello'."),
            END,
        ]


async def test_long_keeps_to_its_rate(talking):
    async with talking() as client:
        began = anyio.current_time()
        *pieces, _ = await client.play("demo: long 2000 20 100")
        assert (len(pieces), anyio.current_time() - began >= 0.19) == (20, True)
