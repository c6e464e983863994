"""Which prompts an agent may take for one of its commands, and what those change that we rely on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.messages import AvailableCommand, CommandsUpdate
from copilot_kernel.chat import open_chat
from copilot_kernel.chat.slash import AS_TEXT, changes_of, harmless
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.config import Settings
from copilot_kernel.errors import UsageError
from copilot_kernel.permissions.question import PermissionAnswer, Question

from ..acp.scripted import OPTIONS, Script, listening, offering
from ..limits import LIMIT, until
from .conftest import Open
from .loopback import address, met
from .people import Person, ask


async def sent(settings: Settings, *prompts: str, person: Person | None = None, **answers: Any) -> list[str]:
    """How the prompts begin that the agent gets."""
    async with listening(**{"session_new": offering("compact", "memory show"), **answers}) as (script, launch):
        async with open_chat(replace(settings, agent=address(launch))) as chat:
            for prompt in prompts:
                await ask(chat, prompt, person or Person())
        return [params["prompt"][0]["text"] for method, params in script.heard if method == "session/prompt"]


@pytest.mark.parametrize("prompt", ["/compact", "/compact now", " /memory show\nall", "Explain /etc/hosts", "%x"])
async def test_a_command_that_the_agent_offers_goes_to_it_as_it_was_written(settings: Settings, prompt: str) -> None:
    assert await sent(settings, prompt) == [prompt]


@pytest.mark.parametrize(
    "prompt", ["/allow-all on", "/compacted", "/memory", "\n /allow-all on", "\ufeff/x", "//compact"]
)
async def test_anything_else_that_begins_with_a_slash_goes_as_text(settings: Settings, prompt: str) -> None:
    assert await sent(settings, prompt) == [AS_TEXT + prompt]


async def test_an_agent_may_tell_its_commands_after_it_has_opened_the_session() -> None:
    state, commands = ConversationState(), (AvailableCommand("compact"),)

    async def tell() -> None:
        state.update(CommandsUpdate(commands))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell)
        with anyio.fail_after(LIMIT):
            assert await state.commands_within(2 * LIMIT) == commands
    assert (await state.commands_within(2 * LIMIT), state.observers) == (commands, [])


async def test_without_any_commands_a_slash_is_text(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilot_kernel.chat.slash.COMMANDS_SECONDS", 0)
    assert await sent(settings, "/compact", session_new={"sessionId": "s1"}) == [f"{AS_TEXT}/compact"]


async def test_the_reason_for_a_no_is_never_a_command(settings: Settings) -> None:
    class Denying(Person):
        async def ask(self, question: Question) -> PermissionAnswer:
            return replace(await super().ask(question), feedback="/compact")

    async def prompt(script: Script, params: Any) -> dict[str, Any]:
        if params["prompt"][0]["text"] == "Go":
            call = {"toolCallId": "1", "title": "Run it", "kind": "execute", "rawInput": {"command": "ls"}}
            await script.ask(sessionId="s1", toolCall=call, options=OPTIONS)
        return {"stopReason": "end_turn"}

    found = await sent(settings, "Go", person=Denying("reject_once"), session_prompt=prompt)
    assert found == ["Go", f"{AS_TEXT}/compact"]


# -- commands, options and modes that change what we rely on ----------------------------------------------------------

MODES = [{"id": name, "name": name} for name in ("agent", "autopilot")]
SWITCH = {"id": "allow_all", "name": "Allow all", "category": "permissions", "type": "boolean"}
KNOWN = (
    "cwd",
    "add-dir",
    "directory",
    "allow-all",
    "permissions",
    "autopilot",
    "remote",
    "share",
    "every",
    "after",
    "new",
    "mcp",
    "sandbox",
    "skill",
)


@pytest.mark.parametrize(("prompt", "hint"), [
    ("/cwd /", "COPILOT_KERNEL_CWD"), ("/cwd\n..", "COPILOT_KERNEL_CWD"), (" /add-dir /tmp", "sandbox_write"),
    ("/directory add /tmp", "sandbox_write"),
])  # fmt: skip
async def test_where_the_agent_works_is_a_setting(opened: Open, prompt: str, hint: str) -> None:
    async with met(opened, session_new=offering(*KNOWN)) as (script, chat):
        with pytest.raises(UsageError, match="was not sent") as refused:
            await ask(chat, prompt, person := Person())
        assert (hint in refused.value.hint, person.questions) == (True, [])
        assert "session/prompt" not in [method for method, _ in script.heard]


@pytest.mark.parametrize(("prompt", "ends"), [
    ("/allow-all", "no longer ask"), ("/allow-all on", "no longer ask"), ("/allow-all off on", "no longer ask"),
    ("/permissions allow-all", "no longer ask"), ("/autopilot", "no longer ask"), ("/remote on", "GitHub"),
    ("/share", "GitHub"),
])  # fmt: skip
async def test_what_ends_questions_or_leads_elsewhere_is_asked(opened: Open, prompt: str, ends: str) -> None:
    async with met(opened, session_new=offering(*KNOWN)) as (script, chat):
        with pytest.raises(UsageError, match="denied by you"):
            await ask(chat, prompt, person := Person("reject_once"))
        assert "session/prompt" not in [method for method, _ in script.heard]
        (question,) = person.questions
        assert (question.about.head, ends in question.why, question.about.widens) == (f"Send {prompt}?", True, True)
        turn = await ask(chat, prompt)
        assert turn.standing == ((f"does not ask: {prompt}",) if ends == "no longer ask" else ())
        assert (await ask(chat, "Go on")).standing == turn.standing == chat.commands.standing


@pytest.mark.parametrize("prompt", [
    "/cwd", "/directory show", "/allow-all off", "/allow-all  show", "/permissions", "/permissions default",
    "/autopilot off", "/remote", "/share off", "/every",
])  # fmt: skip
async def test_what_only_shows_or_tightens_goes_on_unasked(settings: Settings, prompt: str) -> None:
    person = Person()
    assert await sent(settings, prompt, person=person, session_new=offering(*KNOWN)) == [prompt]
    assert person.questions == []


@pytest.mark.parametrize(("prompts", "asked"), [
    (("/sandbox", "/mcp  show"), ()), (("/sandbox disable", "/sandbox\ndisable"), ("/sandbox disable",)),
    (("/sandbox disable", "/sandbox enable"), ("/sandbox disable", "/sandbox enable")),
    (("/skill one", "/skill two", "/new x"), ("/skill with any words", "/new with any words")),
])  # fmt: skip
async def test_a_command_of_which_nobody_knows_what_it_changes_is_asked_once(
    opened: Open, prompts: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    answer = {"protocolVersion": 1, "agentInfo": {"name": "Copilot", "version": "1"}}
    async with met(opened, initialize=answer, session_new=offering(*KNOWN)) as (script, chat):
        person = Person()
        for prompt in prompts:
            await ask(chat, prompt, person)
        assert [question.about.head for question in person.questions] == [f"Send {each}?" for each in asked]
        if asked:
            await chat.new()
            with pytest.raises(UsageError, match="was not sent"):
                await ask(chat, prompts[-1], Person("reject_once"))
        assert len([method for method, _ in script.heard if method == "session/prompt"]) == len(prompts)


def test_only_commands_of_a_known_agent_are_harmless() -> None:
    assert harmless("agent") == harmless("opencode acp") == ()
    assert {"context", "plan *"} < {*harmless("agent Copilot")}
    assert harmless("demo") == ("help", "tour *")


async def test_turns_without_a_prompt_are_shown_until_the_session_is_another(opened: Open) -> None:
    async with met(opened, session_new=offering(*KNOWN)) as (_, chat):
        await ask(chat, "/every 1m Say hello", person := Person())
        turn = await ask(chat, f"/after 1h {'x' * 99}", person)
        assert person.questions == []
        assert turn.standing == (f"runs without a prompt: /every 1m Say hello, /after 1h {'x' * 50}…",)
        await chat.new()
        assert (await ask(chat, "Go on")).standing == ()


async def test_what_the_agent_says_of_its_options_and_mode_counts(opened: Open) -> None:
    """Also at the start, between two turns, and for a mode that it does not offer."""
    seen = list[tuple[str, ...]]()

    async def opens(script: Script, params: Any) -> dict[str, Any]:
        await offering(*KNOWN)(script, params)
        modes = {"availableModes": MODES, "currentModeId": "x#autopilot"}
        return {"sessionId": "s1", "modes": modes, "configOptions": [{**SWITCH, "currentValue": False}]}

    async with met(opened, session_new=opens) as (script, chat):

        async def told(**update: Any) -> tuple[str, ...]:
            await script.update(update)
            await script.update({"sessionUpdate": "session_info_update", "title": (title := str(update))})
            await until(lambda: chat.conversation.title == title)
            return chat.commands.standing

        assert (await ask(chat, "Hello")).standing == ("does not ask: mode autopilot",)
        chat.state.session_observers.append(lambda: seen.append(chat.commands.standing))
        options = {"sessionUpdate": "config_option_update", "configOptions": [{**SWITCH, "currentValue": True}]}
        assert await told(**options) == ("does not ask: allow_all on, mode autopilot",)
        assert await told(sessionUpdate="current_mode_update", currentModeId="yolo") == (
            "does not ask: allow_all on, mode yolo",
        )
        assert await told(sessionUpdate="current_mode_update", currentModeId="agent") == ("does not ask: allow_all on",)
        options["configOptions"] = [{**SWITCH, "currentValue": False}]
        assert await told(**options) == () == seen[-1]
        assert (await ask(chat, "/allow-all on")).standing == ("does not ask: /allow-all on",)
        options["configOptions"] = [{**SWITCH, "currentValue": True}]
        assert await told(**options) == ("does not ask: allow_all on",)
        options["configOptions"] = [{**SWITCH, "currentValue": False}]
        assert await told(**options) == ()


def test_the_list_is_closed_and_each_row_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "permissions.md").read_text("utf-8")
    for row in changes_of("unknown"):
        assert bool(row.command) != bool(row.option)
        assert bool(row.says) == (row.kind != "turns")
        assert row.kind in ("place", "questions", "session", "settings", "turns")
        for name in [f"/{row.command}"] if row.command else row.only or [row.option]:
            assert f"`{name}" in page


def test_the_rows_of_a_known_agent_count_for_it_alone() -> None:
    assert {row.agent for row in changes_of("qwen/bin/gemini --acp Qwen Code")} == {"gemini", "qwen"}
    assert changes_of("opencode acp OpenCode") == ()
    assert {row.agent for row in changes_of("copilot/agent --acp")} > {"copilot", "qwen", "gemini"}
