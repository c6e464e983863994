"""What readers of pictures get: the chat page, and who joins late."""

from __future__ import annotations

import asyncio

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.server.outbox import Outbox

from . import chatting
from .chatting import LIMIT, Listener, answered, said, talking

pytestmark = pytest.mark.anyio


async def test_readers_of_pictures_get_safe_html_and_no_deltas(settings: Settings) -> None:
    async with talking(settings) as talks:
        plain, html = Listener(), Listener(pictures=True)
        talk = await talks.new(plain)
        talk.join(html, "live")
        await said(talk, plain, "demo: say **bold** <script>alert(1)</script> [x](javascript:alert(1))")
        await html.done()
        (answer,) = [each for (entry, _), each in _drawn(html).items() if entry == 1]
        assert "<strong>bold</strong>" in answer
        assert "&lt;script&gt;" in answer
        assert "href" not in answer
        assert html.of("delta") == []
        assert plain.events("entry") == []


async def test_who_joins_late_gets_the_same_picture(settings: Settings) -> None:
    async with talking(settings) as talks:
        first, late = Listener(pictures=True), Listener(pictures=True)
        talk = await talks.new(first)
        await said(talk, first, "demo: long 40000 100 0\nplan A;B\nsay after\nread nothing.txt")
        await said(talk, first, "demo: say <img src=x onerror=alert(1)> **bold**")
        talk.join(late, "live")
        assert _drawn(late) == _drawn(first)
        html = "".join(_drawn(late).values())
        assert "<img" not in html
        assert "<strong>bold</strong>" in html


async def test_who_joins_in_the_middle_sees_what_the_others_see_at_the_end(settings: Settings) -> None:
    async with talking(settings) as talks:
        first, late = Listener(pictures=True), Listener(pictures=True)
        talk = await talks.new(first)
        talk.send("demo: say begun\nask\nsay ended")
        asked = await first.event("tool_approval_request")
        talk.join(late, "live")
        assert late.heard[0]["running"] is True
        assert late.events("tool_approval_request") == [asked]
        answered(talk, asked["call_id"], "yes")
        await asyncio.wait_for(late.done(), LIMIT)
        assert _drawn(late) == _drawn(first)


async def test_who_joins_a_huge_conversation_is_not_sent_away(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chatting, "LIMIT", 6 * LIMIT)  # so many characters take their time on a busy machine
    async with talking(settings) as talks:
        first = Listener()
        talk = await talks.new(first)
        await said(talk, first, "demo: long 12000000 100 0")
        for pictures in (False, True):
            reader, box = Listener(pictures), Outbox()
            reader.hear = box.put  # type: ignore[method-assign]
            talk.join(reader, "live")
            assert not box.full
            assert len(box) > 1


def _drawn(listener: Listener) -> dict[tuple[int, int], str]:
    return {(each["entry"], each["piece"]): each["html"] for each in listener.events("entry")}
