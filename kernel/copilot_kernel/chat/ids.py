"""Which tool calls are ours: their ids begin with a word that no id of the agent's keeps."""

from __future__ import annotations

from dataclasses import replace

from ..acp.messages import PermissionRequest, ToolCallUpdate, Update

PREFIX = "copilot-kernel-"


def of_agent(update: Update) -> Update:
    """`update`; an agent that names a call of ours, or one that looks like it, means one of its own."""
    return _apart(update) if isinstance(update, ToolCallUpdate) else update


def asked_by_agent(request: PermissionRequest) -> PermissionRequest:
    """The same for what it asks about."""
    return replace(request, tool_call=_apart(request.tool_call))


def _apart(update: ToolCallUpdate) -> ToolCallUpdate:
    return replace(update, id=f"agent {update.id}") if update.id.startswith(PREFIX) else update
