"""What goes over the chat's WebSocket as typed values: actions come in, messages go out. Pure.

A message is a JSON object with a `type`. Readers that asked for pictures get safe HTML in further members.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from ..acp.messages import Option
from ..errors import UsageError
from ..frontend.clean import clean
from . import unread
from .fault import in_words

ACTIONS = ("new_session", "resume_session", "send", "approve_tool", "stop")
LONGEST = 2**20
"""Characters of one message from a client."""
LONGEST_ID = 500
LONGEST_REASON = 10_000
"""Characters."""


class NewSession(BaseModel):
    """Begin a conversation."""

    action: Literal["new_session"]


class ResumeSession(BaseModel):
    """Go on with a conversation."""

    action: Literal["resume_session"]
    session_id: str = Field(min_length=1, max_length=LONGEST_ID)


class Send(BaseModel):
    """A prompt, or a slash command of ours."""

    action: Literal["send"]
    text: str


class ApproveTool(BaseModel):
    """The answer to an open question. `option_id` is one of the agent's options; without it `response` counts.

    A `reason` goes with a no: the agent is told it, as the next prompt.
    """

    action: Literal["approve_tool"]
    call_id: str
    response: Any = None
    option_id: str | None = None
    reason: str = Field("", max_length=LONGEST_REASON)

    @property
    def approves(self) -> bool:
        """Only the words `yes` and `y`."""
        return isinstance(self.response, str) and self.response.strip().lower() in ("yes", "y")


class Stop(BaseModel):
    """Cancel the turn that runs, and forget what waits behind it."""

    action: Literal["stop"]


Action = NewSession | ResumeSession | Send | ApproveTool | Stop
_ACTION: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="action")])


class UnreadSend(UsageError):
    """A `send` that cannot be read: whoever sent it waits for the end of a response all the same."""


def read(frame: str | bytes) -> Action:
    """The action in a frame; `type` may stand for `action`. Raises UsageError."""
    found = _object(frame)
    name = found.get("action", found.get("type"))
    if name not in ACTIONS:
        shown = f"{name!r:.60}" if name is not None else "none"
        raise UsageError(f"There is no action {shown}.", f"There is {', '.join(ACTIONS)}.")
    wrong = UnreadSend if name == "send" else UsageError
    if len(frame) > LONGEST:
        raise wrong(f"This message has more than {LONGEST} characters.", "Send less at once.")
    try:
        return _ACTION.validate_python({**found, "action": name})
    except ValidationError as error:
        raise wrong(f"The action {name} cannot be read: {_problems(error)}", "See the list of actions.") from error


def _object(frame: str | bytes) -> dict[str, Any]:
    if isinstance(frame, bytes):
        raise UsageError("This message is binary.", "Send JSON as text.")
    try:
        found = json.loads(frame)
    except unread.FAULTS as error:
        raise UsageError(f"This message {unread.why(error)}.", "Send one JSON object.") from error
    if not isinstance(found, dict):
        raise UsageError("This message is no JSON object.", f"It needs an action: {', '.join(ACTIONS)}.")
    return found


def _problems(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, each['loc'][1:])) or 'message'} {in_words(each)}" for each in error.errors())


# -- messages to the client -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionCreated:
    """`resumed` says how a session goes on: `live` (it is still here), `loaded` (by the agent) or `context` (its last
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
class ApprovalRequest:
    """The event `tool_approval_request`. `html` is what a person must see."""

    type: ClassVar[str] = "event"
    call_id: str
    tool: str
    arguments: str
    title: str
    options: tuple[Option, ...]
    entry: int
    html: str = ""


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """How a command ended; `exit_code` is None where the agent does not tell."""

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
    """Adaptive cards; each content is JSON as the agent sent it."""

    type: ClassVar[str] = "cards"
    cards: tuple[Any, ...]
    entry: int


@dataclass(frozen=True, slots=True)
class Said:
    """The answer to a slash command."""

    type: ClassVar[str] = "message"
    content: str
    html: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """What went wrong, and what to do next."""

    type: ClassVar[str] = "error"
    content: str
    html: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a response; there is one for each `send`. `stop_reason` is the agent's; `command` for a slash command,
    `error` after an error, `cancelled` also for what waited when it was stopped. `usage` are tokens, as the agent told
    them."""

    type: ClassVar[str] = "done"
    stop_reason: str
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """The event `entry`, for readers with pictures only: `html` stands at (`entry`, `piece`) and replaces what was."""

    type: ClassVar[str] = "event"
    entry: int
    piece: int
    kind: str
    html: str
    status: str = ""


CARD = "application/vnd.microsoft.card.adaptive"
Message = (
    SessionCreated | Delta | Event | ApprovalRequest | SandboxResult | Media | Cards | Said | Failed | Done | Drawn
)


def compose(message: Message, pictures: bool = False) -> str:
    """`message` as JSON text."""
    found = {"type": message.type, **dict(_members(message, pictures))}
    return json.dumps(clean(found), ensure_ascii=False)


def _members(message: Message, pictures: bool) -> Iterator[tuple[str, Any]]:
    match message:
        case Event(event, fields):
            yield from {"event": event, **fields}.items()
        case ApprovalRequest():
            yield from _request(message, pictures)
        case Cards(cards, entry):
            yield "cards", [{"contentType": CARD, "content": each} for each in cards]
            yield "entry", entry
        case Media(files, entry):
            yield "files", [{"url": each.url, "mime": each.mime, "name": each.name} for each in files]
            yield "entry", entry
        case Drawn():
            yield "event", "entry"
            yield from _plain(message)
        case _:
            named = (pair for pair in _plain(message) if pictures or pair[0] != "html")
            yield from (pair for pair in named if pair[1] is not None or pair[0] == "exit_code")


def _request(message: ApprovalRequest, pictures: bool) -> Iterator[tuple[str, Any]]:
    yield "event", "tool_approval_request"
    for name, value in _plain(message):
        if name == "options":
            yield name, [{"id": each.id, "name": each.name, "kind": each.kind} for each in value]
        elif pictures or name != "html":
            yield name, value


def _plain(message: Any) -> Iterator[tuple[str, Any]]:
    return ((name, getattr(message, name)) for name in message.__slots__)
