"""What the demo agent says, as dicts in the protocol's spelling; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from copilot_kernel import __version__

from .switches import Switches

Json = dict[str, Any]

OPTION_NAMES = {
    "allow_once": "Allow once",
    "allow_always": "Always allow",
    "reject_once": "Deny",
    "reject_always": "Always deny",
}
CONTEXT_SIZE = 32_000
COMMANDS: tuple[Json, ...] = (
    {"name": "help", "description": "What the demo agent is, and what to ask it"},
    {"name": "tour", "description": "Show one part of the tour", "input": {"hint": "plan, edit, tests or trouble"}},
)


def initialized(version: int, switches: Switches, auth_methods: Sequence[Json]) -> Json:
    """The answer to `initialize`."""
    name, title = switches.get("name", "demo"), switches.get("name", "demo agent")
    return {
        "protocolVersion": version,
        "agentInfo": {"name": name, "title": title, "version": __version__},
        "agentCapabilities": capabilities(switches),
        "authMethods": list(auth_methods),
    }


def capabilities(switches: Switches) -> Json:
    """What the agent can."""

    def marked(*names: str) -> Json:
        return {name: {} for name in names if f"no-{name}" not in switches}

    return {
        "auth": marked("logout"),
        "loadSession": "no-load" not in switches,
        "promptCapabilities": {
            "image": "no-image" not in switches,
            "audio": "audio" in switches,
            "embeddedContext": "no-embedded" not in switches,
        },
        "mcpCapabilities": {"http": "mcp-http" in switches, "sse": "mcp-sse" in switches},
        "sessionCapabilities": marked("list", "resume", "close", "delete"),
    }


def unwanted(blocks: Sequence[Any], switches: Switches) -> list[str]:
    """The types of blocks that the agent did not say it takes."""
    takes = capabilities(switches)["promptCapabilities"]
    needed = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
    types = {block.get("type") for block in blocks if isinstance(block, dict)}
    return [type for type, capability in needed.items() if type in types and not takes[capability]]


def mode_update(id: str) -> Json:
    """The session has another mode now."""
    return {"sessionUpdate": "current_mode_update", "currentModeId": id}


def text_block(text: str) -> Json:
    """A content block of text."""
    return {"type": "text", "text": text}


def chunk(block: Json, speaker: str = "message") -> Json:
    """A piece of the agent's `message` or `thought`."""
    return {"sessionUpdate": f"agent_{speaker}_chunk", "content": block}


def content(text: str) -> list[Json]:
    """The content of a tool call that is one text."""
    return [{"type": "content", "content": text_block(text)}]


def diff(path: str, old: str | None, new: str) -> list[Json]:
    """The content of a tool call that changes a file; the texts may be fragments."""
    return [{"type": "diff", "path": path, "oldText": old, "newText": new}]


def plan(steps: Sequence[str], done: int = 0) -> Json:
    """A plan of which the first `done` steps are completed and the next is in progress."""
    statuses = ["completed" if n < done else "in_progress" if n == done else "pending" for n in range(len(steps))]
    entries = [
        {"content": step, "priority": "medium", "status": status} for step, status in zip(steps, statuses, strict=True)
    ]
    return {"sessionUpdate": "plan", "entries": entries}


def commands(available: Sequence[Json] = COMMANDS) -> Json:
    """The slash commands."""
    return {"sessionUpdate": "available_commands_update", "availableCommands": list(available)}


def usage(used: int, size: int = CONTEXT_SIZE) -> Json:
    """How much of the context is used, in tokens."""
    return {"sessionUpdate": "usage_update", "used": used, "size": size}


def options(kinds: Sequence[str]) -> list[Json]:
    """Permission options from `kind` or `kind=Name`; a kind that comes again gets an id of its own (`allow_once_2`)."""
    made: list[Json] = []
    for kind, _, name in (item.strip().partition("=") for item in kinds):
        times = 1 + sum(option["kind"] == kind for option in made)
        id = kind if times == 1 else f"{kind}_{times}"
        made.append({"optionId": id, "kind": kind, "name": name or OPTION_NAMES.get(kind, kind)})
    return made


USUAL_OPTIONS = options(["allow_once", "allow_always", "reject_once"])


def chosen(answer: Any, offered: Sequence[Json]) -> tuple[str, str]:
    """Id and kind of the option that was chosen; the kind may be `cancelled`, or `invalid` for what was not offered."""
    match answer:
        case {"outcome": {"outcome": "cancelled"}}:
            return "", "cancelled"
        case {"outcome": {"outcome": "selected", "optionId": str(id)}}:
            return id, next((str(option["kind"]) for option in offered if option["optionId"] == id), "invalid")
    return "no option", "invalid"
