"""Whose a tool call is: ids of our own calls begin with a prefix that no id of the agent's keeps."""

from __future__ import annotations

from msgspec.structs import replace

from ..acp.messages import PermissionRequest, TextBlock, ToolCallUpdate
from ..conversation.model import Conversation, ToolCall

OUR_PREFIX = "copilot-kernel-"


def own_ids(update: ToolCallUpdate, before: Conversation) -> ToolCallUpdate:
    """Take care that no id of the agent's looks like one of ours."""
    return _renamed(update)


def request_of_agent(request: PermissionRequest) -> PermissionRequest:
    """`request` from the agent, whose ids never look like ours."""
    return replace(request, tool_call=_renamed(request.tool_call))


def _renamed(update: ToolCallUpdate) -> ToolCallUpdate:
    return replace(update, id=f"agent {update.id}") if update.id.startswith(OUR_PREFIX) else update


def is_only_described(request: ToolCallUpdate) -> bool:
    """Whether the request has words, perhaps a kind, and nothing by which a rule could judge it."""
    is_prose = all(isinstance(part, TextBlock) for part in request.content or ())
    return not request.id and is_prose and request.raw_input is None and not request.locations


def unfinished(now: Conversation) -> list[ToolCall]:
    """The agent's own calls of this turn that have not ended, in order."""
    theirs = (call for call in now.entries.unfinished() if call.turn == now.turn)
    return [call for call in theirs if call.call_id and not call.call_id.startswith(OUR_PREFIX)]


def equal(one: object, other: object) -> bool:
    """JSON may be nested deeper than it can be compared."""
    try:
        return bool(one == other)
    except RecursionError:
        return False
