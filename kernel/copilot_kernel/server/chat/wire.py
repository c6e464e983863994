"""Messages of the chat's WebSocket: actions come in as typed values, messages go out as JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from msgspec import Struct
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from ...errors import UsageError
from ...rendering.plain import encodable
from ..errors import describe, json_object

CLIENT_ACTIONS = ("new_session", "resume_session", "send", "approve_tool", "stop")
MAX_FRAME_CHARS = 2**20
"""Limit of one message from a client."""
MAX_ID_CHARS = 500
MAX_REASON_CHARS = 10_000


class NewSession(BaseModel):
    """Start a conversation."""

    action: Literal["new_session"]


class ResumeSession(BaseModel):
    """Continue a conversation."""

    action: Literal["resume_session"]
    session_id: str = Field(min_length=1, max_length=MAX_ID_CHARS)


class Send(BaseModel):
    """A prompt, or one of our slash commands."""

    action: Literal["send"]
    text: str


class ApproveTool(BaseModel):
    """The answer to an open question. `option_id` is one of the agent's options; without it `response` counts.

    `reason` goes with a rejection; the agent gets it as the next prompt. `rule` goes with `yes`: it is added for this
    conversation.
    """

    action: Literal["approve_tool"]
    call_id: str
    response: Any = None
    option_id: str | None = None
    reason: str = Field("", max_length=MAX_REASON_CHARS)
    rule: str = Field("", max_length=MAX_REASON_CHARS)

    @property
    def approves(self) -> bool:
        """True for the words `yes` and `y` only."""
        return isinstance(self.response, str) and self.response.strip().lower() in ("yes", "y")


class StopAction(BaseModel):
    """Cancel the turn that runs, and drop what waits behind it."""

    action: Literal["stop"]


Action = NewSession | ResumeSession | Send | ApproveTool | StopAction
_ACTION: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="action")])


class UnreadableSend(UsageError):
    """A `send` that cannot be read: its sender waits for the end of a response all the same."""


def read(frame: str | bytes) -> Action:
    """The action in a frame; `type` may stand for `action`. Raises UsageError."""
    if isinstance(frame, bytes):
        raise UsageError("This message is binary.", "Send JSON as text.")
    members = json_object(frame, "This message")
    name = members.get("action", members.get("type"))
    if name not in CLIENT_ACTIONS:
        message = "This message names no action." if name is None else f"Unknown action {name!r:.60}."
        raise UsageError(message, f"Use one of: {', '.join(CLIENT_ACTIONS)}.")
    error_type = UnreadableSend if name == "send" else UsageError
    if len(frame) > MAX_FRAME_CHARS:
        raise error_type(f"This message has more than {MAX_FRAME_CHARS} characters.", "Send less at once.")
    try:
        return _ACTION.validate_python({**members, "action": name})
    except ValidationError as error:
        raise error_type(f"The action {name} is invalid: {_problems(error)}.", "See the list of actions.") from error


def _problems(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, each['loc'][1:])) or 'message'} {describe(each)}" for each in error.errors())


# -- messages to the client -----------------------------------------------------------------------------------------


class SocketMessage(Struct, frozen=True, dict=True):
    """A JSON object with a `type`; subscribers that asked for HTML get the members in `html`, too."""

    type: str
    members: Mapping[str, Any]
    html: Mapping[str, Any] = {}

    @cached_property
    def plain(self) -> str:
        """JSON without HTML, composed once for all sockets."""
        return _as_json({"type": self.type, **self.members})


def event(name: str, /, **members: Any) -> SocketMessage:
    """Something that happened."""
    return SocketMessage("event", {"event": name, **members})


def notice(severity: str, title: str, description: str = "", **members: Any) -> SocketMessage:
    """A line for the user."""
    return event("notice", severity=severity, title=title, description=description, **members)


def failure(content: str, html: str = "") -> SocketMessage:
    """Return what went wrong, and what to do next."""
    return SocketMessage("error", {"content": content}, {"html": html})


def done(stop_reason: str, html: str = "", **known: Any) -> SocketMessage:
    """The end of a response; there is one for each `send`.

    `stop_reason` is the agent's; `command` for a slash command, `error` after an error, `cancelled` also for what was
    dropped. Of what is `known`, only what is not None is sent: `usage` are tokens, as the agent reports them, `changes`
    says what the turn changed and ran; `html` shows it.
    """
    more = {name: value for name, value in known.items() if value is not None}
    return SocketMessage("done", {"stop_reason": stop_reason, **more}, {"html": html})


def compose(message: SocketMessage, with_html: bool = False) -> str:
    """`message` as JSON text."""
    if with_html and message.html:
        return _as_json({"type": message.type, **message.members, **message.html})
    return message.plain


def _as_json(members: Mapping[str, Any]) -> str:
    return json.dumps(encodable(members), ensure_ascii=False)
