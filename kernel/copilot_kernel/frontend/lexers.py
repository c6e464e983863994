"""Lexers for the code in diffs, loaded in threads: the event loop would stand still for up to 0.2 seconds."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

from ..conversation.model import ToolCall
from ..rendering import highlight
from ..rendering.tool_call import languages_of

_WAIT = 0.004
_threads: dict[str, Thread] = {}


def loading(call: ToolCall) -> Iterator[None]:
    """Load what drawing the call needs; steps wait a moment, until it is there."""
    for language in languages_of(call):
        if language not in _threads:
            _threads[language] = Thread(target=highlight.load, args=(language,), daemon=True)
            _threads[language].start()
        while _threads[language].is_alive():
            _threads[language].join(_WAIT)
            yield
