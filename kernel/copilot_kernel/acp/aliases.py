"""The names that older dialects of the protocol use, as one table.

Each row: the member of the specification, then the names that stand in for it. They are consulted only where the
specification's own member is absent, so a message that follows the specification is never read in another way.
"""

from __future__ import annotations

from typing import Any

from .lenient import items, members
from .messages import Json

TABLE: dict[str, dict[str, tuple[str, ...]]] = {
    "update": {"sessionUpdate": ("kind",)},
    "tool call": {"kind": ("toolKind",), "rawInput": ("input",), "content": ("output",)},
    "diff": {"oldText": ("oldContent",), "newText": ("newContent",)},
    "plan": {"entries": ("steps",)},
    "plan entry": {"content": ("description",)},
    "mode": {"currentModeId": ("modeId",)},
    "option": {"id": ("configId", "optionId")},
    "prompt capabilities": {"image": ("images",)},
    "agent capabilities": {"mcpCapabilities": ("mcp",)},
    "mcp capabilities": {"http": ("httpTransport",), "sse": ("sseTransport",)},
}

BLOCK_TYPES = {"resourceLink": "resource_link"}


def spelled(shape: str, raw: Json) -> Json:
    """`raw` with the specification's names; the same object if there was nothing to translate."""
    moved = {old: name for name, olds in TABLE[shape].items() if name not in raw for old in olds if old in raw}
    return {moved.get(name, name): value for name, value in raw.items()} if moved else raw


def spelled_update(raw: Json) -> Json:
    """An update; one that carries a plan and no discriminator at all is a plan."""
    raw = spelled("update", raw)
    return raw if "sessionUpdate" in raw or "plan" not in raw else {**raw, "sessionUpdate": "plan"}


def spelled_plan(raw: Json) -> Json:
    """A plan; `plan: {description, steps}` stands for the members themselves."""
    if "entries" not in raw and isinstance(raw.get("plan"), dict):
        raw = raw["plan"]
    return spelled("plan", raw)


def spelled_plan_entry(raw: Any) -> Json:
    """A step; a bare text is its content."""
    return {"content": raw} if isinstance(raw, str) else spelled("plan entry", members(raw))


def spelled_resource(raw: Json) -> Json:
    """What a `resource` block embeds; its members may stand in the block itself."""
    return raw if "resource" not in raw and "uri" in raw else members(raw.get("resource"))


def spelled_prompt_capabilities(raw: Any) -> Json:
    """The kinds of content that a prompt may have; `content: ["image", …]` lists the supported ones."""
    listed = {name: True for name in items(members(raw).get("content")) if isinstance(name, str)}
    return {**listed, **spelled("prompt capabilities", members(raw))}
