"""Messages of the chat's WebSocket as typed values: actions come in, messages go out. Pure.

A message is a JSON object with a `type`. Subscribers that asked for HTML get it in further members.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from copilot_widgets.answers import Answers
from msgspec import to_builtins
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from ...errors import UsageError
from ...frontend.cell import clean
from ..errors import describe, json_object

ACTIONS = ("new_session", "resume_session", "send", "approve_tool", "stop")
MAX_CHARS = 2**20
"""Of one message from a client."""
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
        """Only the words `yes` and `y` do."""
        return isinstance(self.response, str) and self.response.strip().lower() in ("yes", "y")


class Stop(BaseModel):
    """Cancel the turn that runs, and drop what waits behind it."""

    action: Literal["stop"]


Action = NewSession | ResumeSession | Send | ApproveTool | Stop
_ACTION: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="action")])


class UnreadableSend(UsageError):
    """A `send` that cannot be read: its sender waits for the end of a response all the same."""


def read(frame: str | bytes) -> Action:
    """The action in a frame; `type` may stand for `action`. Raises UsageError."""
    if isinstance(frame, bytes):
        raise UsageError("This message is binary.", "Send JSON as text.")
    members = json_object(frame, "This message")
    name = members.get("action", members.get("type"))
    if name not in ACTIONS:
        message = "This message names no action." if name is None else f"Unknown action {name!r:.60}."
        raise UsageError(message, f"Use one of: {', '.join(ACTIONS)}.")
    error_type = UnreadableSend if name == "send" else UsageError
    if len(frame) > MAX_CHARS:
        raise error_type(f"This message has more than {MAX_CHARS} characters.", "Send less at once.")
    try:
        return _ACTION.validate_python({**members, "action": name})
    except ValidationError as error:
        raise error_type(f"The action {name} is invalid: {_problems(error)}.", "See the list of actions.") from error


def _problems(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, each['loc'][1:])) or 'message'} {describe(each)}" for each in error.errors())


# -- messages to the client -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionCreated:
    """`resumed` says how a session continues: `live` (it is still open), `loaded` (by the agent) or `context` (its last
    messages go with the next prompt); empty for a new one."""

    type: ClassVar[str] = "session_created"
    session_id: str
    resumed: str = ""
    running: bool = False
    agent: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer, markdown."""

    type: ClassVar[str] = "delta"
    content: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; `fields` are further members."""

    type: ClassVar[str] = "event"
    event: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerOption:
    """One of the agent's options. `remark` belongs beside its name; `meaning`: what comes of one that it remembers."""

    id: str
    name: str
    kind: str
    remark: str = ""
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question. `html` is what a person must see, `about` names in a line what an answer allows.

    `suggestion` is the narrowest rule that would cover it; empty if none is worth saving. HTML subscribers get the
    `headline`, and the buttons as `answers`, too.
    """

    type: ClassVar[str] = "event"
    call_id: str
    tool: str
    arguments: str
    title: str
    options: tuple[AnswerOption, ...]
    entry: int
    html: str = ""
    about: str = ""
    suggestion: str = ""
    headline: str = ""
    answers: Answers | None = None
    event: str = field(default="tool_approval_request", init=False)


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """How a command ended; `exit_code` is None where the agent does not report it."""

    type: ClassVar[str] = "sandbox_result"
    stdout: str
    stderr: str
    exit_code: int | None
    call_id: str


@dataclass(frozen=True, slots=True)
class File:
    """A saved file and its address."""

    url: str
    mime: str
    name: str


@dataclass(frozen=True, slots=True)
class Media:
    """Files that the agent produced; `entry` is their place in the conversation."""

    type: ClassVar[str] = "media"
    files: tuple[File, ...]
    entry: int


@dataclass(frozen=True, slots=True)
class Cards:
    """Adaptive cards: each has a `contentType`, and its `content` as the agent sent it."""

    type: ClassVar[str] = "cards"
    cards: tuple[Mapping[str, Any], ...]
    entry: int


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The output of a slash command."""

    type: ClassVar[str] = "message"
    content: str
    html: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, and what to do next."""

    type: ClassVar[str] = "error"
    content: str
    html: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a response; there is one for each `send`. `stop_reason` is the agent's; `command` for a slash command,
    `error` after an error, `cancelled` also for what was dropped. `usage` are tokens, as the agent reports them.
    `changes` says what the turn changed and ran, if it did; `html` shows it."""

    type: ClassVar[str] = "done"
    stop_reason: str
    usage: Mapping[str, Any] | None = None
    changes: str | None = None
    html: str = ""


@dataclass(frozen=True, slots=True)
class EntryHtml:
    """The event `entry`, for HTML subscribers only: `html` replaces what stood at (`entry`, `piece`).

    It is empty if the entry is shown with an earlier one.
    """

    type: ClassVar[str] = "event"
    entry: int
    piece: int
    kind: str
    html: str
    status: str = ""
    event: str = field(default="entry", init=False)


CARD_TYPE = "application/vnd.microsoft.card.adaptive"
Message = (
    SessionCreated
    | Delta
    | Event
    | ApprovalRequest
    | SandboxResult
    | Media
    | Cards
    | CommandResult
    | Failure
    | Done
    | EntryHtml
)


_WITH_HTML = ("html", "headline", "answers")
"""Members for HTML subscribers alone."""


def compose(message: Message, with_html: bool = False) -> str:
    """`message` as JSON text; members that are None are left out, but for an exit code."""
    if isinstance(message, Event):
        members = {"event": message.event, **message.fields}
    else:
        found = {name: value for name, value in to_builtins(message).items() if with_html or name not in _WITH_HTML}
        members = {name: value for name, value in found.items() if value is not None or name == "exit_code"}
    return json.dumps(clean({"type": message.type, **members}), ensure_ascii=False)
