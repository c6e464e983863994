"""Who decides about the demo agent's requests: rules, modes, a person; and what is kept of it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.chat import Chat, rules
from copilot_kernel.chat.chat import UNSENT
from copilot_kernel.chat.permission import NO_OPTIONS, RESET
from copilot_kernel.errors import UsageError
from copilot_kernel.permissions.policy import CHANGES_SETTINGS
from copilot_kernel.permissions.question import PermissionAnswer, Question
from copilot_kernel.permissions.rulebook import NOT_A_RULE

from ..acp.scripted import OPTIONS
from ..limits import until
from .conftest import Open, chatting
from .loopback import asking, met, playing
from .people import Person, ask, cancelled, ledger_of


class Saver(Person):
    """Allows once, with a rule that is to be kept."""

    def __init__(self, rule: str, keep: str = "session", kind: str = "allow_once") -> None:
        super().__init__(kind)
        self.rule, self.keep = rule, keep

    async def ask(self, question: Question) -> PermissionAnswer:
        return replace(await super().ask(question), rule=self.rule, keep=self.keep)


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's config file, which is not there yet."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path / "config" / "copilot_kernel.json"


def decided(chat: Chat) -> list[tuple[str, str, str]]:
    return [(each.outcome, each.by, each.rule) for each in ledger_of(chat).kept]


# -- rules and modes ------------------------------------------------------------------------------------------------


@chatting(allow=("Bash(echo *)",), deny=("Bash(rm *)",))
async def test_each_decision_is_logged_with_who_made_it_and_by_which_rule(chat: Chat) -> None:
    await ask(chat, "demo: shell echo a", nobody := Person("reject_once"))
    await ask(chat, "demo: shell rm a", nobody)
    assert nobody.questions == []
    await ask(chat, "demo: shell ls", Person())
    await ask(chat, "demo: shell ls", Person("reject_once"))
    await cancelled(chat, "demo: shell ls", late := Person(None), lambda: late.asked)
    assert [(each.number, each.turn, each.what, each.outcome, each.by, each.rule) for each in ledger_of(chat).kept] == [
        (1, 1, "$ echo a", "allowed", "rule", "Bash(echo *)"),
        (2, 2, "$ rm a", "denied", "rule", "Bash(rm *)"),
        (3, 3, "$ ls", "allowed", "you", ""),
        (4, 4, "$ ls", "denied", "you", ""),
        (5, 5, "$ ls", "cancelled", "cancel", ""),
    ]


@chatting(permission_mode="plan", allow=("Edit", "Bash"), fs=True, terminal=True)
async def test_in_plan_nothing_is_done_and_nobody_is_asked_whatever_the_rules(chat: Chat, project: Path) -> None:
    await ask(chat, "demo: shell touch a", person := Person())
    for prompt in ("demo: fswrite b x", "demo: terminal touch c"):
        assert "the mode is plan" in (await ask(chat, prompt, person)).text
    assert (person.questions, decided(chat)) == ([], [("denied", "mode", "")])
    assert person.calls[0] == ("rejected", "denied by “Plan only” mode")
    assert list(project.iterdir()) == []


async def test_a_mode_can_be_set_for_the_conversation_and_an_unknown_one_not(chat: Chat, project: Path) -> None:
    chat.set_permission_mode("acceptEdits")
    turn = await ask(chat, "demo: create a.txt x\nshell rm a.txt", person := Person("reject_once"))
    assert ((project / "a.txt").read_text(), turn.permission_mode) == ("x", "acceptEdits")
    assert [question.call.kind for question in person.questions] == ["execute"]
    chat.set_permission_mode("bypassPermissions")
    await ask(chat, "demo: shell rm a.txt", person)
    with pytest.raises(UsageError, match='Unknown permission mode "yolo"'):
        chat.set_permission_mode("yolo")
    assert (len(person.questions), chat.book.mode) == (1, "bypassPermissions")


# -- paths ----------------------------------------------------------------------------------------------------------


@chatting(allow=("Edit",))
async def test_a_link_that_leads_out_of_the_project_is_asked_about(chat: Chat, project: Path, tmp_path: Path) -> None:
    (project / "out").symlink_to(tmp_path)
    await ask(chat, "demo: create in.txt x", person := Person("reject_once"))
    assert (person.questions, (project / "in.txt").exists()) == ([], True)
    await ask(chat, _create("out/new.txt", project), person)
    (question,) = person.questions
    assert "outside the project" in question.why


async def test_a_slow_disk_does_not_change_the_order_of_questions(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    person, found = Person("reject_once"), rules.resolve_in_time

    async def first_is_slow(paths: Iterable[str]) -> Mapping[str, str]:
        names = list(paths)
        if any("first" in name for name in names):
            await until(lambda: [status for status, _ in person.calls] == ["waiting", "waiting"])
        return await found(names)

    monkeypatch.setattr(rules, "resolve_in_time", first_is_slow)
    await ask(chat, "demo: together create first.txt x ;; create second.txt x", person)
    assert ["first" in str(question.call.raw_input) for question in person.questions] == [True, False]


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
async def test_our_own_settings_are_always_asked_about(opened: Open, project: Path, mode: str, tmp_path: Path) -> None:
    state = project / "state"
    async with opened(allow=("Edit",), permission_mode=mode, state=str(state)) as chat:
        for place in ("copilot_kernel.json", "state/session.json"):
            await ask(chat, _create(place, project), person := Person("reject_once"))
            assert [CHANGES_SETTINGS in question.why for question in person.questions] == [True]
    assert not (project / "copilot_kernel.json").exists()


def _create(name: str, project: Path) -> str:
    """A request of the demo agent, which by itself goes nowhere out of its folder."""
    call = {"toolCallId": "x", "title": f"Create {name}", "kind": "edit", "rawInput": {"path": str(project / name)}}
    return f"demo: request session/request_permission {json.dumps({'toolCall': call, 'options': OPTIONS})}"


# -- options --------------------------------------------------------------------------------------------------------

AMBIGUOUS = [{**option, "optionId": "same"} for option in OPTIONS]


@pytest.mark.parametrize("options", [OPTIONS[:1], AMBIGUOUS])
@pytest.mark.parametrize("rules", [{}, {"deny": ("Bash",)}, {"permission_mode": "plan"}])
async def test_what_is_denied_where_no_option_says_no_is_cancelled(opened: Open, options: Any, rules: Any) -> None:
    asked = asking(toolCallId="t", title="echo a", kind="execute", rawInput={"command": "echo a"})
    turn = playing({**asked, "options": options})
    async with met(opened, rules, session_prompt=turn) as (script, chat):
        await ask(chat, "hello", person := Person("reject_once"))
        assert [outcome for outcome, *_ in decided(chat)] == ["denied"]
    assert [status for status, _ in person.calls] == ["rejected"]
    assert len(person.questions) == (not rules)
    assert script.answers["given"] == [{"outcome": {"outcome": "cancelled"}}]


async def test_without_options_nobody_is_asked(opened: Open) -> None:
    asked = asking(toolCallId="t", title="echo a", kind="execute")
    async with met(opened, session_prompt=playing({**asked, "options": []})) as (script, chat):
        await ask(chat, "hello", person := Person())
    assert (person.questions, person.calls) == ([], [("cancelled", f"not run ({NO_OPTIONS})")])
    assert script.answers["given"] == [{"outcome": {"outcome": "cancelled"}}]


async def test_a_question_that_is_open_when_its_turn_ends_is_cancelled(opened: Open) -> None:
    """Nobody is to find a button in a cell that does not run."""
    given, person = list[Any](), Person(None)

    async def prompt(script: Any, params: Any) -> None:
        async def request() -> None:
            given.append(await script.ask(**asking(toolCallId="t", title="Run ls", kind="execute")))

        tasks.start_soon(request)
        await person.asked.wait()

    async with anyio.create_task_group() as tasks, met(opened, session_prompt=prompt) as (_, chat):
        assert (await ask(chat, "hello", person)).stop_reason == "end_turn"
        await until(lambda: given)
    assert (given, [status for status, _ in person.calls]) == ([{"outcome": {"outcome": "cancelled"}}], ["cancelled"])


# -- rules that a person keeps --------------------------------------------------------------------------------------


async def test_a_rule_for_the_session_holds_until_the_conversation_is_another_one(chat: Chat) -> None:
    await ask(chat, "demo: shell echo a", person := Saver("Bash(echo a)"))
    assert (person.notices, len(person.questions)) == ([], 1)  # the call's row says it
    await ask(chat, "demo: shell echo a", person)
    assert (len(person.questions), decided(chat)[-1]) == (1, ("allowed", "rule", "Bash(echo a)"))
    await chat.new()
    await ask(chat, "demo: shell echo a", again := Person())
    assert (len(again.questions), RESET in again.notices, chat.book.stated) == (1, True, ())


async def test_a_rule_for_the_settings_goes_into_the_users_file(chat: Chat, config: Path) -> None:
    await ask(chat, "demo: shell echo a", person := Saver("Bash(echo a)", "settings"))
    await chat.new()
    await ask(chat, "demo: shell echo a", person)
    assert (len(person.questions), chat.settings.allow) == (1, ("Bash(echo a)",))
    assert [(each.text, each.origin) for each in chat.book.stated] == [("Bash(echo a)", str(config))]
    assert json.loads(config.read_text()) == {"version": 1, "allow": ["Bash(echo a)"]}
    assert f"Allowed from now on: Bash(echo a) (saved in {config})." in person.notices


@chatting(origins={"allow": "environment"})
async def test_where_the_environment_outranks_the_file_the_user_is_told(chat: Chat, config: Path) -> None:
    await ask(chat, "demo: shell echo a", person := Saver("Bash(echo a)", "settings"))
    assert "COPILOT_KERNEL_ALLOW" in person.notices[-1]


async def test_with_a_broken_file_the_rule_holds_for_the_session(chat: Chat, config: Path) -> None:
    config.parent.mkdir()
    config.write_text('{"allow": [')
    await ask(chat, "demo: shell echo a", person := Saver("Bash(echo a)", "settings"))
    await ask(chat, "demo: shell echo a", person)
    assert len(person.questions) == 1
    assert config.read_text() == '{"allow": ['
    assert "in this conversation only" in person.notices[0]
    assert "cannot be read as JSON" in person.notices[0]


async def test_whoever_keeps_a_rule_gives_the_agent_no_standing_grant(opened: Open) -> None:
    """Also if the answer says so."""
    asked = asking(toolCallId="t", title="echo a", kind="execute", rawInput={"command": "echo a"})
    always = {"optionId": "always", "name": "Always", "kind": "allow_always"}
    async with met(opened, session_prompt=playing({**asked, "options": [always, *OPTIONS]})) as (script, chat):
        await ask(chat, "hello", Saver("Bash(echo a)", kind="allow_always"))
    assert script.answers["given"] == [{"outcome": {"outcome": "selected", "optionId": "yes-1"}}]


async def test_a_rule_that_is_none_is_told_and_left_out(chat: Chat) -> None:
    await ask(chat, "demo: shell echo a", person := Saver("Bash(echo"))
    assert (chat.book.stated, person.calls[-1][0]) == ((), "completed")
    assert NOT_A_RULE.format("Bash(echo") in person.notices[0]


@chatting(allow=("Bash(ls)",))
async def test_rules_are_added_and_removed_by_hand(chat: Chat, config: Path) -> None:
    assert await chat.permissions.policy.add_rule("deny", "Bash(ls)") == "Denied in this conversation: Bash(ls)"
    await ask(chat, "demo: shell ls", person := Person())
    assert (person.questions, decided(chat)) == ([], [("denied", "rule", "Bash(ls)")])
    chat.permissions.policy.book = chat.book.without("Bash(ls)")
    await ask(chat, "demo: shell ls", person)
    assert len(person.questions) == 1
    for bad in ("", "Bash()", "Shell(ls)"):
        with pytest.raises(UsageError):
            await chat.permissions.policy.add_rule("allow", bad)
    with pytest.raises(UsageError, match="No such rule: Read"):
        chat.book.without("Read")


# -- another conversation -------------------------------------------------------------------------------------------


async def test_what_was_allowed_ends_with_a_conversation_that_the_agent_lost(chat: Chat) -> None:
    """The chat begins a new one by itself: nobody typed %new. Where the agent was only restarted, it stays."""
    await chat.permissions.policy.add_rule("allow", "Bash(ls)")
    chat.set_permission_mode("acceptEdits")
    await ask(chat, "demo: shell ls", person := Person())
    await chat.restart()
    await ask(chat, "demo: shell ls", person)
    assert (chat.book.mode, person.questions, RESET in person.notices) == ("acceptEdits", [], False)
    (session,) = await chat.sessions()
    link = chat.agent.link
    await link.delete(session.id)
    await chat.restart()
    await ask(chat, "demo: shell ls", person)
    assert (chat.book.mode, chat.book.stated, len(person.questions)) == ("default", (), 1)
    assert person.notices[-1] == RESET


# -- a word with a no -----------------------------------------------------------------------------------------------


class Teacher(Person):
    """Rejects the first question and says why."""

    async def ask(self, question: Question) -> PermissionAnswer:
        answer = await super().ask(question)
        return replace(answer, feedback="demo: say I see") if len(self.questions) == 1 else answer


async def test_the_reason_of_a_no_is_the_next_prompt_in_the_same_cell(chat: Chat) -> None:
    turn = await ask(chat, "demo: say Look.\nshell ls", person := Teacher("reject_once"))
    assert turn.text.startswith("Look.")
    assert turn.text.endswith("\n\nI see")
    assert (turn.number, [call.status for call in turn.tool_calls]) == (2, ["rejected"])
    assert person.notices == ["You told the agent: demo: say I see"]
    assert [text for speaker, text in person.said if speaker == "user"][1:] == ["demo: say I see"]
    assert (await ask(chat, "demo: say alone", person)).text == "alone"


async def test_the_reason_is_not_sent_when_the_turn_was_cancelled_and_the_user_is_told(chat: Chat) -> None:
    both = "demo: together shell ls ;; slow 10000"
    turn = await cancelled(chat, both, person := Teacher("reject_once"), lambda: person.asked)
    assert (turn.stop_reason, turn.number) == ("cancelled", 1)
    assert (await ask(chat, "demo: say after")).number == 2
    assert person.notices[-1].startswith(UNSENT.format(""))
