"""Parameters of the requests that the agent sends: a wrong type is refused, never guessed at."""

from __future__ import annotations

from typing import Any

from ..acp.lenient import ident
from ..acp.messages import Json
from ..errors import HostRefused


def text(params: Json, name: str) -> str:
    """A required string. Raises HostRefused."""
    value = params.get(name)
    if not isinstance(value, str):
        raise HostRefused(f"{name} must be a string")
    return value


def integer(params: Json, name: str) -> int | None:
    """An optional integer that is not negative; JSON does not tell 2.0 from 2. Raises HostRefused."""
    value = params.get(name)
    if value is None:
        return None
    is_integer = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_integer or value < 0:
        raise HostRefused(f"{name} must be an integer that is not negative")
    return int(value)


def array(params: Json, name: str) -> list[Any]:
    """An optional array. Raises HostRefused."""
    value = params.get(name)
    if value is not None and not isinstance(value, list):
        raise HostRefused(f"{name} must be an array")
    return value or []


def session_id(params: Json) -> str:
    """The session that a request is about; empty where it names none. Raises HostRefused."""
    value = params.get("sessionId")
    if value is not None and not ident(value):
        raise HostRefused("sessionId must be a string")
    return ident(value)
