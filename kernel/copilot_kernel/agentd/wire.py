"""Lines of JSON-RPC, read as far as routing needs it: a payload is passed on byte for byte. Pure.

Between a kernel and the broker there are a few messages more than ACP has; their names begin with `_copilot_kernel/`.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder, encode

from ..acp.jsonrpc import Id, Line
from ..acp.lenient import as_dict, load

HELLO = "_copilot_kernel/hello"
"""A kernel's first line, with `grace` and `patience`; the broker's answer is `WELCOME`."""
WELCOME = "_copilot_kernel/welcome"
CLIENTS = "_copilot_kernel/clients"
"""Notification to each kernel: `count` kernels are connected."""
RETIRE = "_copilot_kernel/retire"
"""Notification from a kernel: end the agent if nobody else uses it, else take no more kernels and disconnect this one.
"""
STDERR = "_copilot_kernel/stderr"
"""Notification to a kernel that is about to give up: the `stderr` of an agent that is not ready yet."""
EXITED = "_copilot_kernel/exited"
"""The last line to a kernel: `ending`, `stderr`, `crashed`."""
CANCEL = "$/cancel_request"

_NOTHING = Raw(b"")


class WireMessage(Struct):
    """One line; without an id a notification, without a method an answer."""

    id: Id | UnsetType = UNSET
    method: str = ""
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING

    @property
    def has_id(self) -> bool:
        """True for a request or an answer."""
        return self.id is not UNSET

    @property
    def failed(self) -> bool:
        """True for an error answer."""
        return bool(self.error) and bytes(self.error) != b"null"


class Named(Struct, rename={"session": "sessionId", "request": "requestId"}):
    """What a payload names: a session, the request that `$/cancel_request` is about, the code of an error."""

    session: str = ""
    request: Id = None
    code: int | None = None


_read = Decoder(WireMessage).decode
_read_named = Decoder(Named).decode


def read(line: Line) -> WireMessage | None:
    """Read a line; None if it is no message. Agents also send what strict JSON does not allow."""
    message: WireMessage | None
    try:
        message = _read(line)
    except (ValueError, RecursionError):
        message = _read_leniently(line)
    return message if message and (message.method or message.has_id) else None


def _read_leniently(line: Line) -> WireMessage | None:
    try:
        members = as_dict(load(line))
    except (ValueError, RecursionError):
        return None
    id, method = members.get("id", UNSET), members.get("method") or ""
    if isinstance(id, bool | list | dict) or not isinstance(method, str):
        return None
    payload = {name: Raw(_dump(members[name])) for name in ("params", "result", "error") if name in members}
    return WireMessage(id, method, **payload)


def id_of(message: WireMessage) -> Id:
    """Return the id of a message that has one."""
    return None if message.id is UNSET else message.id


def named(payload: Raw) -> Named:
    """What params, a result or an error name; of another type, nothing."""
    try:
        return _read_named(payload)
    except (ValueError, RecursionError):
        found = members(payload)
    session, request, code = (found.get(name) for name in ("sessionId", "requestId", "code"))
    return Named(
        session if isinstance(session, str) else "",
        request if isinstance(request, int | float | str) else None,
        code if isinstance(code, int) else None,
    )


def can_close(introduction: Raw) -> bool:
    """Return True if the result of `initialize` offers `session/close`."""
    capabilities = as_dict(members(introduction).get("agentCapabilities"))
    return as_dict(capabilities.get("sessionCapabilities")).get("close") is not None


def members(payload: Raw) -> dict[str, Any]:
    """Return the members of a payload; none if it is no object."""
    try:
        return as_dict(load(bytes(payload)))
    except (ValueError, RecursionError):
        return {}


# -- composing ----------------------------------------------------------------------------------------------------


def whole(line: Line) -> bytes:
    """The line with its end."""
    return b"%s\n" % line


def request(id: int, method: str, params: Raw) -> bytes:
    """The line of a request with another id."""
    return b'{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}\n' % (id, encode(method), bytes(params) or b"{}")


def answer(id: Id | UnsetType, message: WireMessage) -> bytes:
    """The line of an answer with another id."""
    name, payload = ("error", message.error) if message.failed else ("result", message.result)
    return b'{"jsonrpc":"2.0","id":%s,"%s":%s}\n' % (encode(id), name.encode(), bytes(payload) or b"null")


def notification(method: str, params: dict[str, Any]) -> bytes:
    """A line of our own."""
    return _dump({"jsonrpc": "2.0", "method": method, "params": params}) + b"\n"


def result(id: Id | UnsetType, value: Any) -> bytes:
    """An answer of our own."""
    return _dump({"jsonrpc": "2.0", "id": id, "result": value}) + b"\n"


def failure(id: Id | UnsetType, code: int, message: str) -> bytes:
    """An error answer of our own."""
    return _dump({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}) + b"\n"


def params(value: dict[str, Any]) -> Raw:
    """Params of our own."""
    return Raw(_dump(value))


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
