"""Lexers for code, loaded in threads: the event loop would stand still for up to 0.2 seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Thread

from ..conversation.model import Entry, ToolCall
from ..rendering import highlight
from ..rendering.tool_call import languages_of

_WAIT = 0.004
_threads: dict[str, Thread] = {}


def begin(entry: Entry) -> list[Thread]:
    """Begin to load what drawing `entry` needs; the threads that have not finished."""
    return _begin(languages_of(entry)) if isinstance(entry, ToolCall) else []


def loading(entry: Entry) -> Iterator[None]:
    """Load what drawing `entry` needs; steps wait a moment, until it is there."""
    for thread in begin(entry):
        while thread.is_alive():
            thread.join(_WAIT)
            yield


async def load(languages: set[str]) -> None:
    """Wait until the lexers are there."""
    for thread in _begin(languages):
        await asyncio.to_thread(thread.join)


def _begin(languages: set[str]) -> list[Thread]:
    for language in languages - set(_threads):
        _threads[language] = Thread(target=highlight.lexer_of, args=(language,), daemon=True)
        _threads[language].start()
    return [thread for language in languages if (thread := _threads[language]).is_alive()]
