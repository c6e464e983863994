"""One turn of a conversation, told as the chat protocol has it: in memory, with the demo agent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.errors import UsageError
from copilot_kernel.server.talk import MOST_WAITING

from .chatting import Listener, answered, said, talking

pytestmark = pytest.mark.anyio


async def test_deltas_add_up_and_done_ends_the_response(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        told = await said(await talks.new(listener), listener, "demo: say Here\nsay  it is\nthink why\nsay more")
        assert _text(told) == "Hereit is\n\nmore"
        assert next(each for each in told if each["type"] == "delta") == {"type": "delta", "content": "Here"}
        assert told[-1] == {"type": "done", "stop_reason": "end_turn"}
        assert listener.events("thought")[0]["content"] == "why"


async def test_events_of_ours_tell_the_rest(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        call = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Look", "kind": "read", "status": "pending"}
        change = {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "title": "Look here"}
        text = "demo: link https://example.org/a\nnotice warning Careful: of this"
        text += f"\nraw {json.dumps(call)}\nraw {json.dumps(change)}"
        await said(talk, listener, text)
        await said(talk, listener, "/status")
        for words in ("Looking", "Looking", "Found"):
            talk.voice.status(words)
    assert listener.events("prompt")[0]["content"] == text
    assert listener.events("command")[0]["content"] == "/status"
    assert [each["running"] for each in listener.events("running")] == [True, False] * 2
    assert [each["uri"] for each in listener.events("resource_link")] == ["https://example.org/a"]
    assert [each["severity"] for each in listener.events("notice") if each["title"] == "Careful"] == ["warning"]
    assert listener.events("tool_update")[0] == {
        "type": "event", "event": "tool_update", "call_id": "t1", "title": "Look here", "arguments": "{}",
        "status": "pending",
    }  # fmt: skip
    assert [each["content"] for each in listener.events("status")][-2:] == ["Looking", "Found"]


async def test_a_tool_is_told_at_its_start_and_end_and_a_command_with_what_came_of_it(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        talk.send("demo: shell echo out; exit 3")
        asked = await listener.event("tool_approval_request")
        answered(talk, asked["call_id"], "yes")
        await listener.done()
        start, end = listener.events("tool_start")[0], listener.events("tool_done")[0]
        assert start["tool"] == "execute"
        assert start["call_id"] == asked["call_id"] == end["call_id"]
        assert json.loads(asked["arguments"])["command"] == "echo out; exit 3"
        assert (end["result"], end["status"]) == ("out", "completed")
        result = {"stdout": "out", "stderr": "", "exit_code": 3, "call_id": end["call_id"]}
        assert listener.of("sandbox_result") == [{"type": "sandbox_result", **result}]
        assert listener.events("approval_resolved")[0]["approved"] is True


async def test_only_yes_and_y_approve(settings: Settings) -> None:
    answers = {"yes": True, "y": True, " YES ": True, "no": False, "yess": False, "": False, "always": False}
    tried: list[tuple[object, bool]] = [*answers.items(), (True, False), (1, False), (None, False), (["yes"], False)]
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        for response, approved in tried:
            talk.send("demo: ask")
            asked = await listener.nth("tool_approval_request", len(listener.events("approval_resolved")) + 1)
            answered(talk, asked["call_id"], response)
            await listener.done(len(listener.of("done")) + 1)
            assert listener.events("approval_resolved")[-1]["approved"] is approved, response


async def test_yes_never_gives_a_standing_grant_and_an_option_is_given_by_its_id(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        talk.send("demo: options allow_always=Always;reject_once=No\nask")
        asked = await listener.event("tool_approval_request")
        with pytest.raises(UsageError, match="does not offer to allow this once"):
            answered(talk, asked["call_id"], "yes")
        with pytest.raises(UsageError, match="no such answer"):
            answered(talk, asked["call_id"], "yes", "made-up")
        always = next(each["id"] for each in asked["options"] if each["kind"] == "allow_always")
        answered(talk, asked["call_id"], "no", always)
        await listener.done()
        assert listener.events("approval_resolved")[0]["approved"] is True


async def test_a_reason_goes_with_a_no_and_the_agent_is_told_it(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        talk.send("demo: shell echo hi")
        call = (await listener.event("tool_approval_request"))["call_id"]
        with pytest.raises(UsageError, match="goes with a no"):
            answered(talk, call, "yes", reason="because")
        answered(talk, call, "no", reason=" demo: say heard ")
        await listener.done()
        assert "the agent is told: demo: say heard" in listener.events("approval_resolved")[0]["reason"]
        assert listener.events("tool_done")[0]["status"] == "rejected"
        assert listener.text.endswith("heard")
        assert len(listener.of("done")) == 1


async def test_an_answer_counts_once_and_never_for_the_next_question(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        talk.send("demo: ask\nask")
        first = await listener.event("tool_approval_request")
        answered(talk, first["call_id"], "yes")
        await listener.nth("tool_approval_request", 2)
        ids = [each["call_id"] for each in listener.events("tool_approval_request")]
        assert len(set(ids)) == 2
        with pytest.raises(UsageError, match="no open question"):
            answered(talk, ids[0], "yes")
        answered(talk, ids[1], "no")
        await listener.done()
        assert [each["approved"] for each in listener.events("approval_resolved")] == [True, False]


async def test_two_questions_at_once_are_answered_in_any_order(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        talk.send("demo: ask2")
        await listener.nth("tool_approval_request", 2)
        one, two = (each["call_id"] for each in listener.events("tool_approval_request"))
        answered(talk, two, "yes")
        answered(talk, one, "no")
        await listener.done()
        found = {each["call_id"]: each["approved"] for each in listener.events("approval_resolved")}
        assert found == {one: False, two: True}


async def test_nobody_answers_and_after_the_limit_it_is_rejected(settings: Settings) -> None:
    async with talking(settings, question=0.2) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        talk.send("demo: shell echo hi")
        await listener.event("tool_approval_request")
        talk.leave(listener)
        late = Listener()
        talk.join(late)
        await late.done()
        resolved = late.events("approval_resolved")[0]
        assert resolved["approved"] is False
        assert "nobody answered within 0.2 s" in resolved["reason"]
        assert late.of("sandbox_result") == []


async def test_stop_cancels_the_turn_its_question_and_what_waits(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        talk.send("demo: ask")
        talk.send("demo: say never")
        await listener.event("tool_approval_request")
        talk.stop()
        told = await listener.done()
        assert told[-1]["stop_reason"] == "cancelled"
        assert listener.events("approval_resolved")[0]["approved"] is False
        assert "1 that waited" in listener.events("notice")[0]["title"]
        assert _text(await said(talk, listener, "demo: say next")) == "next"
        assert "never" not in listener.text


async def test_prompts_wait_for_one_another_and_only_so_many(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        talk.send("demo: ask")
        asked = await listener.event("tool_approval_request")
        for number in range(MOST_WAITING):
            talk.send(f"demo: say {number},")
        with pytest.raises(UsageError, match="wait already"):
            talk.send("demo: say too much")
        assert [each["waiting"] for each in listener.events("queued")] == list(range(1, MOST_WAITING + 1))
        answered(talk, asked["call_id"], "no")
        await listener.done(MOST_WAITING + 1)
        assert listener.text.endswith("".join(f"{number}," for number in range(MOST_WAITING)))


async def test_a_command_that_only_reads_does_not_wait_and_others_keep_their_place(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        talk.send("demo: ask")
        asked = await listener.event("tool_approval_request")
        talk.send("/model scripted-large")
        talk.send("/status")
        told = await listener.until(lambda told: told["type"] == "message")
        assert "demo agent" in told["content"]
        answered(talk, asked["call_id"], "yes")
        await listener.done(3)
        assert [each["stop_reason"] for each in listener.of("done")] == ["command", "end_turn", "command"]
        assert listener.events("mode")[-1]["model"] == "scripted-large"


async def test_plan_mode_and_usage_are_events(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        await said(await talks.new(listener), listener, "demo: plan A;B / 1\nmode plan\nusage 500 2000\nsay x")
        plan = listener.events("plan")[0]
        assert [(each["content"], each["status"]) for each in plan["entries"]] == [
            ("A", "completed"),
            ("B", "in_progress"),
        ]
        assert listener.events("mode")[-1]["mode"] == "plan"
        assert (500, 2000) in [(each["used"], each["size"]) for each in listener.events("usage")]


async def test_cards_are_told_as_they_are_and_what_only_says_that_it_is_one_is_a_file(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        talk = await talks.new(listener)
        content = {"type": "AdaptiveCard", "body": [{"type": "TextBlock", "text": "Hello"}]}
        await said(talk, listener, f"demo: raw {_resource(json.dumps(content))}")
        card = {"contentType": "application/vnd.microsoft.card.adaptive", "content": content}
        assert [each["cards"] for each in listener.of("cards")] == [[card]]
        await said(talk, listener, f"demo: raw {_resource('no json')}")
        assert len(listener.of("cards")) == 1
        assert len(listener.of("media")) == 1


async def test_media_of_messages_and_tools_are_told_with_their_addresses(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener, late = Listener(), Listener(pictures=True)
        talk = await talks.new(listener)
        await said(talk, listener, "demo: image\ntool svg audio blob link")
        files = [[(each["mime"], each["url"][:11]) for each in told["files"]] for told in listener.of("media")]
        kinds = ["image/svg+xml", "audio/wav", "application/octet-stream"]
        assert files == [[("image/png", "/api/media/")], [(kind, "/api/media/") for kind in kinds]]
        talk.join(late)
        assert [each["files"] for each in late.of("media")] == [each["files"] for each in listener.of("media")]


async def test_the_agent_s_forms_are_declined_and_it_says_so(settings: Settings) -> None:
    async with talking(settings) as talks:
        listener = Listener()
        told = await said(await talks.new(listener), listener, "demo: elicit form")
        assert "decline" in _text(told)
        assert "cannot show" in listener.events("notice")[0]["title"]


async def test_a_failure_that_copilot_reports_as_text_is_an_error(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "name=Copilot")
    async with talking(settings) as talks:
        listener = Listener()
        told = await said(
            await talks.new(listener), listener, "demo: say Half an ans\nsay Error: 402 You have no quota"
        )
        [error] = listener.of("error")
        assert (_text(told), error["content"].splitlines()[0]) == ("Half an ans", "402 You have no quota")


async def test_no_agent_is_an_error_that_says_what_to_do(settings: Settings) -> None:
    from dataclasses import replace

    from copilot_kernel.errors import AgentNotFound

    async with talking(replace(settings, agent="no-such-agent-program")) as talks:
        with pytest.raises(AgentNotFound):
            await talks.new(Listener())


def _text(told: list[dict[str, Any]]) -> str:
    return "".join(each["content"] for each in told if each["type"] == "delta")


def _resource(text: str) -> str:
    kind = "application/vnd.microsoft.card.adaptive"
    block = {"type": "resource", "resource": {"uri": "demo://card", "mimeType": kind, "text": text}}
    return json.dumps({"sessionUpdate": "agent_message_chunk", "content": block})
