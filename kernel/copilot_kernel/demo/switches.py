"""What `COPILOT_KERNEL_DEMO` makes different about the demo agent, for tests; names are joined by commas, `a,b=2`.

Faults with a number happen that many times, counted in the demo agent's folder (`home`), not in one process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

Switches = Mapping[str, str]

SWITCHES = {
    "slow-start": "[=SECONDS] hears nothing at first (1)",
    "exit-at-start": "[=CODE] ends at once, with words on stderr (3)",
    "fails-starts": "[=N] the same, for the first N starts (1)",
    "stderr-flood": "[=BYTES] writes much on stderr first (1000000)",
    "noise": "writes lines that are no messages first",
    "name": "=NAME gives itself that name and title",
    "stubborn": "ignores SIGTERM and the end of its input",
    "never-answers": "hears, and is silent",
    "protocol-2": "speaks another version",
    "hangs-initialize": "[=N] never answers the first N `initialize` (1)",
    "new-fails": "[=N] answers the first N `session/new` with -32603 (1)",
    "load-fails": "[=N] answers the first N `session/load` with -32603 (all)",
    "resume-fails": "[=N] answers the first N `session/resume` with -32603 (all)",
    "mcp-fails": "answers -32603, with their names, to who wants MCP servers",
    "mcp-hangs": "never answers who wants MCP servers",
    "no-load": "has no `session/load`",
    "no-resume": "has no `session/resume`",
    "no-list": "has no `session/list`",
    "no-close": "has no `session/close`",
    "no-delete": "has no `session/delete`",
    "no-logout": "has no `logout`",
    "page": "=N answers `session/list` with N sessions at a time (50)",
    "replays-thoughts": "shows thoughts too when a session is loaded",
    "uri-modes": "has Copilot's modes, whose ids are URIs",
    "more-options": "has groups, an unknown category, and yes or no for clients that know it",
    "option-id": "wants `optionId` in `session/set_config_option`",
    "no-modes": "has no `modes`, nor `session/set_mode`",
    "no-options": "has no `configOptions`, nor `session/set_config_option`",
    "models": "has `models` and `session/set_model`, as it was before there were `configOptions`",
    "signed-out": "wants a sign-in before there are sessions",
    "auth": "=KIND+KIND offers `agent`, `terminal`, `meta` (in `_meta`, as Copilot) or `none` to sign in (meta)",
    "auth-fails": "[=N] answers the first N sign-ins with -32603 (1)",
    "no-image": "takes no images",
    "no-embedded": "takes no embedded resources",
    "audio": "takes audio",
    "mcp-http": "takes MCP servers of type http",
    "mcp-sse": "takes MCP servers of type sse",
    "dialect": "=000 or =001 speaks as an agent written from another description of the protocol",
    "flat-answers": "understands an answer to its questions only as {outcome, optionId}, and tells what it got",
    "unstreamed": "says its messages in the answer to the prompt only (with a dialect that has them there)",
}
DIALECT = dict.fromkeys(("no-resume", "no-list", "no-close", "no-delete", "no-logout"), "")
IMPLIED: Mapping[str, Mapping[str, str]] = {"": {}, "000": {**DIALECT, "option-id": ""}, "001": DIALECT}
"""What an agent with a dialect does not have either."""


def read_switches(text: str) -> dict[str, str]:
    """`a,b=2` as `{"a": "", "b": "2"}`. Exits when there is no such switch."""
    switches = {
        name.strip(): value for name, _, value in (part.partition("=") for part in text.split(",")) if name.strip()
    }
    if unknown := switches.keys() - SWITCHES.keys():
        known = ", ".join(sorted(SWITCHES))
        sys.exit(f"demo agent: COPILOT_KERNEL_DEMO knows {known}; not {', '.join(sorted(unknown))}")
    if (dialect := switches.get("dialect", "")) not in IMPLIED:
        sys.exit(f"demo agent: there are the dialects 000 and 001; not {dialect}")
    return {**IMPLIED[dialect], **switches}


def home() -> Path:
    """Where the demo agent keeps what it remembers: `COPILOT_KERNEL_DEMO_HOME`, or in the user's folder for state."""
    if chosen := os.environ.get("COPILOT_KERNEL_DEMO_HOME"):
        return Path(chosen)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "copilot-kernel-demo"


def trips(switches: Switches, name: str, default: str = "1") -> bool:
    """Whether the fault `name` happens this time: the first N times, without a number `default`; `inf` is always."""
    if name not in switches:
        return False
    counter = home() / f"count-{name}"
    times = int(counter.read_text()) if counter.exists() else 0
    counter.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    counter.write_text(str(times + 1))
    return times < float(switches[name] or default)
