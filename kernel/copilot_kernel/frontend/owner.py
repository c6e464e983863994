"""Which request a widget's messages belong to, whatever message is being handled when they are sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Message = dict[str, Any]

_owner: ContextVar[Message | None] = ContextVar("owner", default=None)


@contextmanager
def owned_by(parent: Message) -> Iterator[None]:
    """What widgets send inside belongs to the request `parent`."""
    token = _owner.set(parent)
    try:
        yield
    finally:
        _owner.reset(token)


def owner() -> Message | None:
    """The request that was named; None outside of `owned_by`."""
    return _owner.get()
