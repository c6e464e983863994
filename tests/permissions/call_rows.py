"""Calls with rules and a mode, what must come of each, and why: what the tables of them share."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from copilot_kernel.acp.messages import Location
from copilot_kernel.conversation.model import ToolCall

from .making import ROOT, make, split

GATE = "Access paths outside trusted directories"
ACCEPT, BYPASS, PLAN = "acceptEdits", "bypassPermissions", "plan"


class Row(NamedTuple):
    """`links` says where paths really lead, "" for not known."""

    call: ToolCall
    why: str
    allow: str = ""
    ask: str = ""
    deny: str = ""
    mode: str = "default"
    earlier: ToolCall | None = None
    links: Mapping[str, str] = {}
    cwd: str = ROOT


def each(call: Callable[[str], ToolCall], why: str, text: str) -> list[tuple[ToolCall, str]]:
    """Calls of one kind with the same reason."""
    return [(call(item), why) for item in split(text)]


def rows(*pairs: tuple[ToolCall, str], **same: Any) -> list[Row]:
    """Of calls with their reasons, all in the same circumstances."""
    return [Row(call, why, **same) for call, why in pairs]


def patch(*files: str) -> str:
    return "\n".join(["*** Begin Patch", *(f"*** Update File: {file}\n@@\n-a\n+b" for file in files), "*** End Patch"])


def git_diff(path: str) -> str:
    head = f"\ndiff --git a{path} b{path}\nindex 0..0 100644\n--- a{path}\n+++ b{path}\n"
    return f"{head}@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"


def mcp(arguments: dict[str, Any], name: str = "write_file") -> ToolCall:
    """As another adapter does: server, tool and arguments in the input, the first two in the title too."""
    return make("other", {"server": "fs", "tool": name, "arguments": arguments}, f"fs/{name}")


NOTES = f"{ROOT}/notes.txt"
LINKED = {
    f"{ROOT}/link.txt": "/etc/passwd",
    f"{ROOT}/out/new.py": "/srv/out/new.py",
    f"{ROOT}/in.txt": f"{ROOT}/data/in.txt",
}
COPILOT = make(
    "edit", {"path": NOTES, "old_str": "two", "new_str": "TWO"}, f"Editing {NOTES}", locations=(Location(NOTES),)
)
