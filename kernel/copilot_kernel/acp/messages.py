"""The protocol's messages as frozen values: `parse.py` and `results.py` read them, `compose.py` writes them.

Spec: agentclientprotocol.com, schema v1.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

Json = dict[str, Any]
Speaker = Literal["user", "agent", "thought"]
KINDS = frozenset({"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"})
STATUSES = frozenset({"pending", "in_progress", "completed", "failed", "cancelled"})


# -- content blocks (spec: content) ---------------------------------------------------------------------------


class TextBlock(Struct, frozen=True, gc=False):
    """Text, markdown by convention."""

    text: str


class ImageBlock(Struct, frozen=True):
    """An image; `data` is base64."""

    data: str
    mime_type: str
    uri: str = ""


class AudioBlock(Struct, frozen=True):
    """A sound; `data` is base64."""

    data: str
    mime_type: str


class ResourceLink(Struct, frozen=True):
    """A reference to a resource that the other side can read."""

    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None


class EmbeddedResource(Struct, frozen=True):
    """An embedded resource: `text`, or `blob` in base64."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str = ""


class UnknownBlock(Struct, frozen=True):
    """A block of an unknown type."""

    raw: Any


Block = TextBlock | ImageBlock | AudioBlock | ResourceLink | EmbeddedResource | UnknownBlock


class Diff(Struct, frozen=True):
    """A change of a file. `old_text` None means a new file; both texts may be fragments of the file."""

    path: str
    old_text: str | None
    new_text: str


class TerminalContent(Struct, frozen=True):
    """A terminal, whose output is in the `meta` of the tool call."""

    terminal_id: str


ToolContent = Block | Diff | TerminalContent


class Location(Struct, frozen=True):
    """A place in a file; `line` is 1-based."""

    path: str
    line: int | None = None


# -- session/update (spec: session-update) ---------------------------------------------------------------------


class Chunk(Struct, frozen=True, gc=False):
    """A piece of a message: `agent_message_chunk`, `agent_thought_chunk`, `user_message_chunk`."""

    speaker: Speaker
    block: Block
    message_id: str | None = None


class ToolCallUpdate(Struct, frozen=True):
    """`tool_call` (`begins`) or `tool_call_update`; None means "unchanged", `content` replaces."""

    id: str
    begins: bool = False
    title: str | None = None
    name: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[ToolContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: Json | None = None


class PlanEntry(Struct, frozen=True):
    """One step; status pending, in_progress or completed; priority high, medium or low."""

    content: str
    priority: str = "medium"
    status: str = "pending"


class PlanUpdate(Struct, frozen=True):
    """The whole plan, replacing the one before. A `description` is not in the specification."""

    entries: tuple[PlanEntry, ...]
    description: str = ""


class AvailableCommand(Struct, frozen=True):
    """A slash command that the agent offers; sent as prompt text `/name …`."""

    name: str
    description: str = ""
    hint: str = ""


class CommandsUpdate(Struct, frozen=True):
    """The whole list of the agent's commands."""

    commands: tuple[AvailableCommand, ...]


class ModeUpdate(Struct, frozen=True):
    """The agent changed its mode."""

    mode_id: str


class ConfigUpdate(Struct, frozen=True):
    """The whole list of the session's options, as raw JSON objects."""

    options: tuple[Json, ...]


class InfoUpdate(Struct, frozen=True):
    """Title of the session; `raw` shows whether a member is absent or null."""

    title: str | None
    raw: Json = field(default_factory=dict)


class UsageUpdate(Struct, frozen=True):
    """Context used and its size in tokens; cost as raw JSON `{amount, currency}`."""

    used: int
    size: int
    cost: Json | None = None


class NoticeUpdate(Struct, frozen=True):
    """A message to the user; severity info, warning, error or other. `about`: see `Notice`."""

    severity: str
    title: str
    description: str = ""
    about: str = ""


class CompactionUpdate(Struct, frozen=True):
    """The agent shortens its context; None means "unchanged"."""

    id: str
    status: str | None = None
    summary: str | None = None
    error: str | None = None


class CompactionChunk(Struct, frozen=True):
    """A piece of the summary that replaces the context."""

    id: str
    text: str


class UnknownUpdate(Struct, frozen=True):
    """An update of an unknown kind, shown as raw JSON."""

    kind: str
    raw: Any


Update = (
    Chunk
    | ToolCallUpdate
    | PlanUpdate
    | CommandsUpdate
    | ModeUpdate
    | ConfigUpdate
    | InfoUpdate
    | UsageUpdate
    | NoticeUpdate
    | CompactionUpdate
    | CompactionChunk
    | UnknownUpdate
)


# -- requests and answers -----------------------------------------------------------------------------------------


class PermissionOption(Struct, frozen=True):
    """An answer to a permission request; kind allow_once, allow_always, reject_once, reject_always or unknown.

    Without an id, the answer is `cancelled`.
    """

    id: str | None
    name: str
    kind: str

    @property
    def rejects(self) -> bool:
        """True only for the two kinds that reject."""
        return self.kind in ("reject_once", "reject_always")


class PermissionRequest(Struct, frozen=True):
    """The parameters of `session/request_permission`."""

    tool_call: ToolCallUpdate
    options: tuple[PermissionOption, ...]


class AuthMethod(Struct, frozen=True):
    """A way to sign in; `command` is set if the user runs it in a terminal."""

    id: str
    name: str
    description: str = ""
    type: str = "agent"
    command: tuple[str, ...] = ()

    @property
    def is_askable(self) -> bool:
        """The agent does it when it is asked to (`authenticate`)."""
        return self.type == "agent" and not self.command


class AgentInfo(Struct, frozen=True):
    """The answer to `initialize`."""

    protocol_version: Any = 1
    name: str = ""
    title: str = ""
    version: str = ""
    load_session: bool = False
    prompt: frozenset[str] = frozenset()
    """Content types of prompts: image, audio, embeddedContext."""
    mcp: frozenset[str] = frozenset()
    """Transports of MCP servers: http, sse."""
    session: frozenset[str] = frozenset()
    """Session methods: list, delete, resume, close, additionalDirectories, fork, …"""
    auth: frozenset[str] = frozenset()
    """Sign-in methods: logout, status."""
    auth_methods: tuple[AuthMethod, ...] = ()

    @property
    def is_copilot(self) -> bool:
        """True if the agent is GitHub Copilot CLI by its own name."""
        return self.name.casefold() == "copilot"


class Mode(Struct, frozen=True):
    """A mode, or a model, that the agent offers."""

    id: str
    name: str = ""
    description: str = ""


class SessionState(Struct, frozen=True):
    """The settings of a session: the result of `session/new`, with the changes of later updates."""

    id: str
    mode: str | None = None
    modes: tuple[Mode, ...] = ()
    model: str | None = None
    options: tuple[Json, ...] = ()
    models: tuple[Mode, ...] = ()
    raw: Json = field(default_factory=dict)


class SessionInfo(Struct, frozen=True):
    """A session of `session/list`; `updated_at` is in ISO 8601."""

    id: str
    cwd: str = ""
    title: str = ""
    updated_at: str = ""


class PromptResult(Struct, frozen=True):
    """The end of a turn; `stop_reason` may be an unknown one."""

    stop_reason: str
    usage: Json | None = None
    messages: tuple[Update, ...] = ()
