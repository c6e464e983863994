"""Drawing a diff does not wait for the lexer of its language, which is loaded in a thread."""

from __future__ import annotations

from threading import Event, Thread

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.frontend import lexers
from copilot_kernel.frontend.slots import Slot
from copilot_kernel.rendering import highlight

from .recording import call


def edit(path: str) -> ToolCall:
    return call(1, kind="edit", content=(Diff(path, "x = 1\n", "x = 2\n"),))


def test_a_display_is_drawn_in_colour_once_the_lexer_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    released = Event()
    thread = Thread(target=released.wait, args=(20,))
    thread.start()
    monkeypatch.setattr(lexers, "_threads", {"python": thread})
    slot = Slot()
    slot.put(1, edit("/project/a.py"))
    assert not slot.prepare("/project", lambda: True)
    released.set()
    thread.join(20)
    assert slot.prepare("/project", lambda: False)
    assert "color-mix(in srgb,currentcolor 60%" in slot.picture("/project")["text/html"]


def test_a_lexer_is_loaded_in_a_thread_once(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: dict[str, Thread] = {}
    monkeypatch.setattr(lexers, "_threads", threads)
    highlight._lexer.cache_clear()
    for _ in range(2):
        assert all(step is None for step in lexers.loading(edit("a.toml")))
    assert (list(threads), highlight._lexer.cache_info().misses) == (["toml"], 1)
    assert list(lexers.loading(edit("a.unknown"))) == []
