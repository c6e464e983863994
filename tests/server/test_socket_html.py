"""What readers of pictures get: the chat page, and who joins late."""

import asyncio

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.server.chat import html
from copilot_kernel.server.chat.outbox import Outbox

from .api import LIMIT
from .chatting import Listener, answered, chat_manager, said

pytestmark = pytest.mark.anyio


async def test_readers_of_pictures_get_safe_html_and_no_deltas(settings: Settings) -> None:
    async with chat_manager(settings) as chats:
        plain, html = Listener(), Listener(with_html=True)
        session = await chats.new(plain)
        session.join(html, "live")
        evil = "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>"
        await said(session, plain, f"demo: say **bold** {evil}")
        await html.done()
        (answer,) = [each for (entry, _), each in _drawn(html).items() if entry == 1]
        assert "<strong>bold</strong>" in answer
        assert "&lt;script&gt;" in answer
        assert "href" not in answer
        assert "<img" not in answer
        assert html.of("delta") == []
        assert plain.events("entry") == []


async def test_who_joins_in_the_middle_sees_what_the_others_see_at_the_end(settings: Settings) -> None:
    async with chat_manager(settings) as chats:
        first, late = Listener(with_html=True), Listener(with_html=True)
        session = await chats.new(first)
        session.send("demo: long 40000 100 0\nplan A;B\nsay begun\nask\nread nothing.txt\nsay ended")
        asked = await first.event("tool_approval_request")
        session.join(late, "live")
        assert late.heard[0]["running"] is True
        assert late.events("tool_approval_request") == [asked]
        answered(session, asked["call_id"], "yes")
        await asyncio.wait_for(late.done(), LIMIT)
        session.join(last := Listener(with_html=True), "live")
        assert _drawn(last) == _drawn(late) == _drawn(first) != {}


async def test_who_joins_a_huge_conversation_is_not_sent_away(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "MAX_REPLAY_CHARS", 100_000)
    async with chat_manager(settings) as chats:
        first = Listener()
        session = await chats.new(first)
        await said(session, first, "demo: long 1000000 100 0")
        for with_html in (False, True):
            reader, box = Listener(with_html), Outbox(500_000)
            reader.receive = box.put  # type: ignore[method-assign]
            session.join(reader, "live")
            assert not box.overflowed
            assert len(box) > 1


def _drawn(listener: Listener) -> dict[tuple[int, int], str]:
    return {(each["entry"], each["piece"]): each["html"] for each in listener.events("entry")}
