"""What `COPILOT_KERNEL_DEMO` makes different about the test agent; names are joined by commas, `a,b=2`.

Faults with a number happen that many times, counted in the demo agent's folder (`home`), not in one process.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from copilot_kernel.demo.session import home

Switches = Mapping[str, str]

SWITCHES = {
    "exit-at-start": "ends at once with exit code 3, after a line on stderr",
    "fails-starts": "[=N] the same, for the first N starts (1)",
    "name": "=NAME gives itself that name and title",
    "never-answers": "hears, and is silent",
    "new-fails": "[=N] answers the first N `session/new` with -32603 (1)",
    "load-fails": "[=N] answers the first N `session/load` with -32603 (all)",
    "resume-fails": "[=N] answers the first N `session/resume` with -32603 (all)",
    "mcp-fails": "answers -32603, with their names, when MCP servers come with a session",
    "mcp-hangs": "never answers when MCP servers come with a session",
    "mcp-http": "takes MCP servers of type http",
    "no-load": "has no `session/load`",
    "no-resume": "has no `session/resume`",
    "no-list": "has no `session/list`",
    "no-close": "has no `session/close`",
    "no-delete": "has no `session/delete`",
    "no-logout": "has no `logout`",
    "no-image": "takes no images",
    "page": "=N answers `session/list` with N sessions at a time",
    "uri-modes": "has Copilot's modes, whose ids are URIs",
    "more-options": "has groups, an unknown category, and yes or no for clients that know it",
    "option-id": "wants `optionId` in `session/set_config_option`",
    "no-modes": "has no `modes`, nor `session/set_mode`",
    "no-options": "has no `configOptions`, nor `session/set_config_option`",
    "models": "has `models` and `session/set_model`, as it was before there were `configOptions`",
    "signed-out": "wants a sign-in before there are sessions",
    "auth": "=KIND+KIND offers `agent`, `terminal`, `meta` (in `_meta`, as Copilot) or `none` to sign in (meta)",
}


def read_switches(text: str) -> dict[str, str]:
    """`a,b=2` as `{"a": "", "b": "2"}`. Exits when there is no such switch."""
    parts = (part.partition("=") for part in text.split(",") if part.strip())
    switches = {name.strip(): value for name, _, value in parts}
    if unknown := switches.keys() - SWITCHES.keys():
        sys.exit(f"demo agent: COPILOT_KERNEL_DEMO does not know {', '.join(sorted(unknown))}")
    return switches


def trips(switches: Switches, name: str, default: str = "1") -> bool:
    """Whether the fault `name` happens this time: the first N times, without a number `default`; `inf` is always."""
    if name not in switches:
        return False
    counter = home() / f"count-{name}"
    times = int(counter.read_text()) if counter.exists() else 0
    counter.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    counter.write_text(str(times + 1))
    return times < float(switches[name] or default)
