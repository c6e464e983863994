"""One turn of a conversation, told as the chat protocol has it: in memory, with the demo agent."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.chat.trust import REFUSE, TRUST
from copilot_kernel.config import Settings
from copilot_kernel.conversation.model import Conversation, Entries, Entry, GrowingText, Message, Plan, ToolCall
from copilot_kernel.errors import AgentNotFound, UsageError
from copilot_kernel.permissions.question import OwnSubject, Question
from copilot_kernel.rendering import entry as rendered
from copilot_kernel.server.chat import broadcaster, html
from copilot_kernel.server.chat.broadcaster import Broadcaster
from copilot_kernel.server.chat.chat_session_manager import ChatSessionManager
from copilot_kernel.server.chat.outbox import Outbox
from copilot_kernel.server.chat.prompts import MAX_WAITING
from copilot_kernel.server.chat.wire import ApproveTool
from copilot_kernel.server.pool import AgentPool
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from .api import LIMIT, Json, scripted
from .chatting import Listener, Speaker, chat_manager
from .sockets import text_of


async def test_deltas_add_up_and_done_ends_the_response(speaker: Speaker) -> None:
    messages = await speaker.say("demo: say Here\nsay  it is\nthink why\nsay more")
    assert text_of(messages) == "Hereit is\n\nmore"
    assert next(each for each in messages if each["type"] == "delta") == {"type": "delta", "content": "Here"}
    assert messages[-1] == {"type": "done", "stop_reason": "end_turn"}
    assert speaker.events("thought")[0]["content"] == "why"


async def test_events_of_ours_tell_the_rest(speaker: Speaker) -> None:
    text = "demo: link https://example.org/a\nnotice warning Careful of this\nusage 500 2000\ntool text"
    text += "\nplan A;B / 1\nmode plan\nthink why\nsay x"
    speaker.session.join(html := Listener(with_html=True))
    await speaker.say(text)
    await speaker.say("/status")
    for words in ("Looking", "Looking", "Found"):
        speaker.session.broadcaster.status(words)
    kinds = {each["kind"] for each in html.events("entry")}
    assert kinds == {"prompt", "attachment", "notice", "tool", "plan", "thought", "message"}
    assert speaker.events("command")[0]["content"] == "/status"
    assert [each["running"] for each in speaker.events("running")] == [True, False] * 2
    assert speaker.events("mode")[-1]["mode"] == "plan"
    assert (500, 2000) in [(each["used"], each["size"]) for each in speaker.events("usage")]
    assert [each["content"] for each in speaker.events("status")][-2:] == ["Looking", "Found"]


async def test_a_command_is_told_with_its_question_and_what_came_of_it(speaker: Speaker) -> None:
    asked = await speaker.ask("demo: shell echo out; exit 3")
    speaker.answer(asked["call_id"], "yes")
    await speaker.done()
    assert json.loads(asked["arguments"])["command"] == "echo out; exit 3"
    result = {"stdout": "out", "stderr": "", "exit_code": 3, "call_id": asked["call_id"]}
    assert speaker.of("sandbox_result") == [{"type": "sandbox_result", **result}]
    assert speaker.events("approval_resolved")[0]["approved"] is True


@pytest.mark.parametrize("settings", [{"allow": ("Edit",)}], indirect=True)
async def test_the_end_says_what_changed_and_ran_if_anything_did(speaker: Speaker, environment: Path) -> None:
    (environment / "a.txt").write_text("old\n")
    speaker.session.join(page := Listener(with_html=True))
    assert (await speaker.say("demo: edit a.txt old => new\nunasked echo out; exit 3"))[-1]["changes"] == (
        "Changed a.txt  +1 −1\n⚠ 1 not asked: 1 command · 1 command failed"
    )
    assert page.of("done")[0]["html"].count("<details>") == 1
    assert "changes" not in (await speaker.say("demo: say Yes."))[-1]
    facts = re.sub("<.*?>", "", page.of("done")[1]["html"])
    assert re.fullmatch(r"demo agent, scripted · \d+\.\d s", facts)
    speaker.session.join(late := Listener(with_html=True))
    summary, _ = [each for each in late.events("entry") if each["kind"] == "footer"]
    last = max(each["entry"] for each in late.events("entry") if each["kind"] == "tool")
    assert (summary["entry"], summary["html"]) == (last, page.of("done")[0]["html"])


async def test_the_end_says_what_the_turn_cost_where_the_agent_does(pool: AgentPool, settings: Settings) -> None:
    async def prompt(script: Any, params: Any) -> Json:
        usage = {"used": 90_000, "size": 100_000, "cost": {"amount": 0.125, "currency": "USD"}}
        await script.update({"sessionUpdate": "usage_update", **usage}, params["sessionId"])
        return {"stopReason": "end_turn", "usage": {"inputTokens": 1200, "outputTokens": 34, "totalTokens": 1234}}

    async with scripted(pool, session_prompt=prompt), chat_manager(pool, settings) as chats:
        session = await chats.new(page := Listener(with_html=True))
        session.prompts.send("Hello")
        await page.done()
    facts = re.sub("<.*?>", "", page.of("done")[0]["html"])
    assert re.fullmatch(r"context 90 % full · .* · 1,234 tokens · 0\.125 USD so far · \d+\.\d s", facts), facts
    assert page.events("usage")[-1]["used"] == 90_000


@pytest.mark.parametrize("settings", [{"allow": ("Edit",)}], indirect=True)
async def test_an_error_comes_after_what_led_to_it_and_before_what_the_turn_changed(
    speaker: Speaker, environment: Path
) -> None:
    (environment / "a.txt").write_text("old\n")
    speaker.session.join(page := Listener(with_html=True))
    end = (await speaker.say("demo: edit a.txt old => new\nerror -32603 No such luck"))[-1]
    assert (end["stop_reason"], end["changes"]) == ("error", "Changed a.txt  +1 −1")
    kinds = [message.get("kind", message["type"]) for message in page.heard]
    assert [kind for kind in kinds if kind in ("prompt", "tool", "error", "done")][-2:] == ["error", "done"]
    assert page.of("done")[0]["html"].count("<details>") == 1


async def test_titles_and_options_show_what_hides_in_them_and_always_is_not_offered_then(speaker: Speaker) -> None:
    options = "allow_once=Deny\u202e;allow_once=Yes;allow_always=Always;reject_once=No"
    asked = await speaker.ask(f"demo: options {options}\nask Shall\u200b I")
    speaker.answer(asked["call_id"], "yes")
    await speaker.done()
    assert [each["title"] for each in (*speaker.events("tool_start"), asked)] == ["Shall⟨U+200B⟩ I"] * 2
    assert [each["name"] for each in asked["options"]] == ["Allow once: Deny⟨U+202E⟩", "Allow once: Yes", "Deny"]


async def test_options_say_what_the_agent_remembers(speaker: Speaker) -> None:
    asked = await speaker.ask("demo: options allow_always=Always;reject_once=No\nask Shall I")
    speaker.answer(asked["call_id"], "no")
    await speaker.done()
    options = [(each["name"], each["remark"], bool(each["meaning"])) for each in asked["options"]]
    assert options == [("Always allow", "the agent remembers it", True), ("Deny", "", False)]


async def test_a_question_can_be_denied_where_the_agent_offers_no_way_to_say_no(speaker: Speaker) -> None:
    asked = await speaker.ask("demo: options allow_once=Yes\nask")
    assert [(each["id"], each["name"]) for each in asked["options"]] == [("allow_once", "Allow once"), (None, "Deny")]
    speaker.answer(asked["call_id"], "no", option_id=asked["options"][1]["id"], reason="demo: say heard")
    await speaker.done()
    assert speaker.events("approval_resolved")[0]["reason"] == "denied by you: “demo: say heard”"
    assert (speaker.events("tool_done")[0]["status"], speaker.text.endswith("heard")) == ("rejected", True)


async def test_only_yes_and_y_approve(speaker: Speaker) -> None:
    tried = {"y": True, " YES ": True, "no": False, "yess": False, "": False, "always": False, True: False, None: False}
    for response, approved in [*tried.items(), (["yes"], False)]:
        speaker.session.prompts.send("demo: ask")
        asked = await speaker.nth("tool_approval_request", len(speaker.events("approval_resolved")) + 1)
        speaker.answer(asked["call_id"], response)
        await speaker.done(len(speaker.of("done")) + 1)
        assert speaker.events("approval_resolved")[-1]["approved"] is approved, response


ALWAYS = "demo: options allow_always=Always;reject_once=No\nask"


@pytest.mark.parametrize(("prompt", "response", "more", "words"), [
    (ALWAYS, "yes", {}, "does not offer to allow this once"),
    (ALWAYS, "yes", {"option_id": "made-up"}, "no such option"),
    ("demo: shell echo hi", "yes", {"reason": "because"}, "only for a rejection"),
    ("demo: shell echo hi", "no", {"rule": "Bash(echo *)"}, "only for allowing this once"),
])  # fmt: skip
async def test_an_answer_that_cannot_be_is_refused_and_another_one_counts(
    speaker: Speaker, prompt: str, response: str, more: Any, words: str
) -> None:
    asked = await speaker.ask(prompt)
    with pytest.raises(UsageError, match=words):
        speaker.answer(asked["call_id"], response, **more)
    speaker.answer(asked["call_id"], "no", option_id=asked["options"][0]["id"])
    await speaker.done()
    assert speaker.events("approval_resolved")[0]["approved"] is True


async def test_a_reason_goes_with_a_no_and_the_agent_is_told_it(speaker: Speaker) -> None:
    call = (await speaker.ask("demo: shell echo hi"))["call_id"]
    speaker.answer(call, "no", reason=" demo: say heard ")
    await speaker.done()
    assert speaker.events("approval_resolved")[0]["reason"] == "denied by you: “demo: say heard”"
    assert speaker.events("tool_done")[0]["status"] == "rejected"
    assert (speaker.text.endswith("heard"), len(speaker.of("done"))) == (True, 1)


async def test_a_rule_goes_with_a_yes_and_holds_from_then_on(speaker: Speaker) -> None:
    asked = await speaker.ask("demo: shell echo hi")
    assert asked["suggestion"] == "Bash(echo hi)"
    speaker.answer(asked["call_id"], "yes", rule="Bash(echo *)")
    await speaker.done()
    resolved = speaker.events("approval_resolved")[0]["reason"]
    assert resolved == "allowed by you; rule `Bash(echo *)` added for this session"
    speaker.session.prompts.send("demo: shell echo you")
    await speaker.done(2)
    done = [each["decision"] for each in speaker.events("tool_done")]
    assert (done[-1], len(speaker.events("tool_approval_request"))) == ("allowed by rule `Bash(echo *)`", 1)


async def test_a_rule_that_is_none_is_refused_and_a_doubtful_one_until_it_comes_again(speaker: Speaker) -> None:
    call = (await speaker.ask("demo: shell echo hi"))["call_id"]
    for rule in ("Bash(", "Bash(", "Bash", "Bash(ls)", "Bash"):
        speaker.answer(call, "yes", rule=rule)
    refused = [(each["call_id"], each["content"]) for each in speaker.events("rule_refused")]
    assert [name for name, _ in refused] == [call] * 5
    assert ["Add it again" in words for _, words in refused] == [False, False, True, True, True]
    speaker.answer(call, "yes", rule="Bash")
    await speaker.done()
    assert speaker.events("approval_resolved")[0]["approved"] is True


async def test_a_page_gets_the_buttons_of_notebooks_and_other_clients_do_not(speaker: Speaker) -> None:
    speaker.session.join(page := Listener(with_html=True))
    speaker.session.prompts.send("demo: shell echo hi")
    asked, plain = await page.event("tool_approval_request"), await speaker.event("tool_approval_request")
    speaker.answer(asked["call_id"], "no")
    await speaker.done()
    assert [each["label"] for each in asked["answers"]["choices"]] == ["Allow once", "Deny"]
    assert asked["headline"] == "Run this command? echo hi"
    assert asked.keys() - plain.keys() == {"html", "headline", "answers"}


@pytest.mark.parametrize(("text", "at_once"), [("demo: ask\nask", 1), ("demo: ask2", 2)], ids=["in a row", "at once"])
async def test_an_answer_counts_once_and_for_its_own_question(speaker: Speaker, text: str, at_once: int) -> None:
    speaker.session.prompts.send(text)
    one = (await speaker.nth("tool_approval_request", at_once))["call_id"]
    speaker.answer(one, "yes")
    await speaker.nth("tool_approval_request", 2)
    (other,) = {each["call_id"] for each in speaker.events("tool_approval_request")} - {one}
    with pytest.raises(UsageError, match="No open question"):
        speaker.answer(one, "yes")
    speaker.answer(other, "no")
    await speaker.done()
    found = {each["call_id"]: each["approved"] for each in speaker.events("approval_resolved")}
    assert found == {one: True, other: False}


@pytest.mark.parametrize("chats", [{"question": 0.2}], indirect=True)
async def test_a_question_that_is_not_answered_within_the_limit_is_rejected(speaker: Speaker) -> None:
    await speaker.ask("demo: shell echo hi")
    speaker.session.leave(speaker)
    speaker.session.join(late := Listener())
    await late.done()
    resolved = late.events("approval_resolved")[0]
    assert (resolved["approved"], "no answer within 0.2 s" in resolved["reason"]) == (False, True)
    assert late.of("sandbox_result") == []


async def test_stop_cancels_the_turn_its_question_and_what_waits(speaker: Speaker) -> None:
    speaker.session.prompts.send("demo: ask")
    await speaker.ask("demo: say never")
    speaker.session.prompts.stop()
    await speaker.done(2)
    assert [each["stop_reason"] for each in speaker.of("done")] == ["cancelled"] * 2
    assert speaker.events("approval_resolved")[0]["approved"] is False
    assert "1 waiting" in speaker.events("notice")[0]["title"]
    assert text_of(await speaker.say("demo: say next")) == "next"
    assert "never" not in speaker.text


async def test_prompts_wait_for_one_another_and_only_so_many(speaker: Speaker) -> None:
    asked = await speaker.ask("demo: ask")
    for number in range(MAX_WAITING):
        speaker.session.prompts.send(f"demo: say {number},")
    with pytest.raises(UsageError, match="already waiting"):
        speaker.session.prompts.send("demo: say too much")
    assert [each["waiting"] for each in speaker.events("queued")] == list(range(1, MAX_WAITING + 1))
    speaker.answer(asked["call_id"], "no")
    await speaker.done(MAX_WAITING + 1)
    assert speaker.text.endswith("".join(f"{number}," for number in range(MAX_WAITING)))


async def test_a_command_waits_for_the_turn_like_any_message(speaker: Speaker) -> None:
    asked = await speaker.ask("demo: ask")
    speaker.session.prompts.send("/model scripted-large")
    speaker.answer(asked["call_id"], "yes")
    await speaker.done(2)
    assert [each["stop_reason"] for each in speaker.of("done")] == ["end_turn", "command"]
    assert speaker.events("mode")[-1]["model"] == "scripted-large"


async def test_media_of_messages_and_tools_are_told_with_their_addresses(speaker: Speaker) -> None:
    await speaker.say("demo: image\ntool svg audio blob link")
    files = [[(each["mime"], each["url"][:11]) for each in message["files"]] for message in speaker.of("media")]
    kinds = ["image/svg+xml", "audio/wav", "application/octet-stream"]
    assert files == [[("image/png", "/api/media/")], [(kind, "/api/media/") for kind in kinds]]
    speaker.session.join(late := Listener(with_html=True))
    assert [each["files"] for each in late.of("media")] == [each["files"] for each in speaker.of("media")]


async def test_the_agent_s_forms_are_declined_and_it_says_so(speaker: Speaker) -> None:
    assert "decline" in text_of(await speaker.say("demo: elicit form"))
    assert "cannot show" in speaker.events("notice")[0]["title"]


@pytest.mark.parametrize("environment", [{"AGENT": "no-such-agent-program"}], indirect=True)
async def test_no_agent_is_an_error(chats: ChatSessionManager) -> None:
    with pytest.raises(AgentNotFound):
        await chats.new(Listener())


# -- subscribers that get HTML -----------------------------------------------------------------------------------------


async def test_readers_of_pictures_get_safe_html_and_no_deltas(speaker: Speaker) -> None:
    speaker.session.join(page := Listener(with_html=True), "live")
    evil = "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>"
    await speaker.say(f"demo: say **bold** {evil}")
    (answer,) = [each for (entry, _), each in _drawn(page).items() if entry == 1]
    assert [part in answer for part in ("<strong>bold</strong>", "&lt;script&gt;")] == [True, True]
    assert [part in answer for part in ("href", "<img")] == [False, False]
    assert (page.of("delta"), speaker.events("entry")) == ([], [])


async def test_who_joins_in_the_middle_sees_what_the_others_see_at_the_end(speaker: Speaker) -> None:
    first, late, last = (Listener(with_html=True) for _ in range(3))
    speaker.session.join(first, "live")
    asked = await speaker.ask("demo: long 40000 100 0\nplan A;B\nsay begun\nask\nread nothing.txt\nsay ended")
    speaker.session.join(late, "live")
    assert late.heard[0]["running"] is True
    assert late.events("tool_approval_request") == first.events("tool_approval_request") != []
    speaker.answer(asked["call_id"], "yes")
    await late.done()
    speaker.session.join(last, "live")
    assert _drawn(last) == _drawn(late) == _drawn(first) != {}


KINDS = st.sampled_from(("completed", "in_progress", "failed", "execute", "thought"))


@given(st.lists(st.tuples(st.integers(0, 12), KINDS), max_size=25))
def test_however_calls_change_they_are_drawn_as_for_who_comes_later(changes: list[tuple[int, str]]) -> None:
    async def check() -> None:
        drawn: dict[int, str] = {}
        entries: list[Entry] = []
        batcher = html.HtmlBatcher(
            lambda message: drawn.update({message.entry: message.html}), lambda: True, lambda: entries, ""
        )
        for number, kind in changes:
            entry = _entry(min(number, len(entries)), kind)
            if any(type(each) is not type(entry) for each in entries[entry.id : entry.id + 1]):
                continue
            entries[entry.id : entry.id + 1] = [entry]
            batcher.put(entry)
            batcher.flush(LIMIT)
        assert drawn == {message.entry: message.html for message in batcher.newest_first(entries)}

    with pytest.MonkeyPatch.context() as patch:
        for module in (html, rendered):
            patch.setattr(module, "MAX_GROUP", 4)
        asyncio.run(check())


def _entry(number: int, kind: str) -> Entry:
    if kind == "thought":
        return Message(number, 1, "thought", GrowingText("Hm"))
    status, kind = ("completed", kind) if kind == "execute" else (kind, "read")
    return ToolCall(id=number, turn=1, call_id=str(number), title="Look", kind=kind, status=status)


async def test_who_joins_a_huge_conversation_is_not_sent_away(
    speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcaster, "MAX_REPLAY_CHARS", 100_000)
    await speaker.say("demo: long 1000000 100 0")
    for with_html in (False, True):
        reader, box = Listener(with_html), Outbox(with_html, 500_000)
        reader.receive = box.put  # type: ignore[method-assign]
        speaker.session.join(reader, "live")
        assert not box.overflowed
        assert len(box._waiting) > 1


async def test_who_joins_a_turn_with_huge_arguments_gets_the_newest_of_its_calls() -> None:
    text = {"text": "x" * 400_000}
    write = ToolCall(id=2, turn=1, call_id="2", title="Write", kind="edit", raw_input=text, status="in_progress")
    others = [replace(write, id=n, call_id=str(n), status="completed") for n in range(30)]
    calls = [others[1], write, *others[3:]]
    plan = Plan(id=0, turn=1, entries=())
    view = Broadcaster(lambda: Conversation(Entries([plan, *calls]), turn=1), lambda block: None, "", 1.0)
    reader, box = Listener(), Outbox(with_html=False)
    for receive in (reader.receive, box.put):
        reader.receive = receive  # type: ignore[method-assign]
        view.join(reader, (), (), running=True)
    assert not box.overflowed
    assert [each["call_id"] for each in reader.events("tool_start")] == ["28", "29", "2"]  # this one goes on
    assert len(reader.events("plan")) == 1


async def test_a_question_of_our_own_is_about_no_tool_and_no_entry_and_has_an_id_of_its_own() -> None:
    view = Broadcaster(lambda: Conversation(), lambda block: None, "", LIMIT)
    view.join(reader := Listener(), (), (), running=True)
    question = Question(OwnSubject("Trust them?", commands=("# a.json\nls",)), (TRUST, REFUSE))
    asking = [asyncio.create_task(view.ask(question)) for _ in range(2)]
    asked = [await reader.nth("tool_approval_request", number) for number in (1, 2)]
    about = {"title": "Trust them?", "tool": "", "arguments": '{"commands": ["# a.json\\nls"]}', "entry": None}
    assert [{name: each[name] for name in about} for each in asked] == [about] * 2
    for each, option in zip(reversed(asked), (TRUST, REFUSE), strict=True):
        view.approvals.answer(ApproveTool(action="approve_tool", call_id=each["call_id"], option_id=option.id))
    assert [(await each).option for each in asking] == [REFUSE, TRUST]


def _drawn(listener: Listener) -> dict[tuple[int, int], str]:
    """All but what ends a turn, which those who are there get with its `done`."""
    drawn = (each for each in listener.events("entry") if each["kind"] != "footer")
    return {(each["entry"], each["piece"]): each["html"] for each in drawn}
