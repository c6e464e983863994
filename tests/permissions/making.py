"""Calls as agents make them, and the circumstances in which they are judged, in few words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from copilot_kernel.acp.messages import Diff, Location, PermissionOption
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.policy import Decision, PolicyContext, Rules, decide, paths

ROOT = "/home/me/project"
HOME = "/home/me"
PROTECTED = ("/home/me/.jupyter/copilot_kernel.json", "/home/me/.local/share/jupyter/copilot_kernel")

ALWAYS = PermissionOption("always", "Always allow", "allow_always")
ONCE = PermissionOption("once", "Allow once", "allow_once")
NO = PermissionOption("no", "Deny", "reject_once")
NEVER = PermissionOption("never", "Never", "reject_always")
OPTIONS = (ALWAYS, ONCE, NEVER, NO)


def split(text: str) -> tuple[str, ...]:
    """The items of a table in rows."""
    return tuple(item.strip(" ") for row in text.strip("\n").split("\n") for item in row.split(" ¦ "))


def make(kind: str, raw_input: Any = None, title: str = "", **more: Any) -> ToolCall:
    return ToolCall(0, 1, "t", title=title, kind=kind, raw_input=raw_input, **more)


def run(command: Any, title: str = "", **raw: Any) -> ToolCall:
    """As Copilot asks about a command."""
    return make("execute", {"command": command, **raw}, title)


def edit(path: str, **raw: Any) -> ToolCall:
    """As Copilot asks about a change."""
    return make("edit", {"fileName": at(path), **raw}, "Edit file", locations=(Location(at(path)),))


def claude_edit(path: str) -> ToolCall:
    raw = {"file_path": at(path), "old_string": "two", "new_string": "/etc/passwd ../.. TWO"}
    return make("edit", raw, f"Edit {path}", locations=(Location(at(path)),), content=(Diff(at(path), "two", "TWO"),))


def view(path: str, title: str = "") -> ToolCall:
    return make("read", {"path": at(path)}, title or f"Viewing {at(path)}", locations=(Location(at(path)),))


def delete(path: str) -> ToolCall:
    return make("delete", {"path": at(path)})


def move(source: str, target: str) -> ToolCall:
    return make("move", {"source": at(source), "destination": at(target)})


def fetch(url: str, **raw: Any) -> ToolCall:
    return make("fetch", {"url": url, **raw}, "Fetch")


def tool(name: str, raw_input: Any = None, title: str = "") -> ToolCall:
    """As one adapter names the tools of MCP servers: in `_meta`."""
    return make("other", raw_input or {}, title or name, meta={"claudeCode": {"toolName": name}})


def at(path: str) -> str:
    """In the project, if it is not absolute."""
    return path if path.startswith(("/", "~", "file:")) else f"{ROOT}/{path}"


def judged(
    call: ToolCall, *, earlier: ToolCall | None = None, options: tuple[PermissionOption, ...] = OPTIONS, **more: Any
) -> Decision:
    """What the policy decides; for `more` see `around`."""
    return decide(call, options, around(call, **more), earlier)


def around(
    call: ToolCall,
    allow: str = "",
    ask: str = "",
    deny: str = "",
    mode: str = "default",
    links: Mapping[str, str] | None = None,
    cwd: str = ROOT,
    root: str = ROOT,
) -> PolicyContext:
    """The circumstances of a call; rules are separated by `; `.

    `links` says where paths lead that do not lead where they say, "" for not known.
    """
    rules, problems, _ = Rules.read(*(_split(texts) for texts in (allow, ask, deny)))
    assert not problems, problems
    before = PolicyContext(mode=mode, rules=rules, root=root, cwd=cwd, protected=PROTECTED, home=HOME)
    real = {path: (links or {}).get(path, path) for path in paths(call, before)}
    return replace(before, real={path: leads for path, leads in real.items() if leads})


def _split(texts: str) -> list[str]:
    return [text for text in texts.split("; ") if text]
