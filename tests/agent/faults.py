"""What can go wrong with the test agent, by name: in a turn, by a line of the prompt; always, by `COPILOT_KERNEL_DEMO`.

The names in that variable are joined by commas, `a,b=2`. Faults with a number happen that many times, counted in the
demo agent's folder (`home`), not in one process.
"""

import math
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.demo.demo_session import home
from copilot_kernel.demo.stage import Stage, TurnEnded, chunk, text_block

Switches = Mapping[str, str]
Directive = Callable[[Stage, str], Awaitable[object]]
"""What a line of a script does; the text is the line without the directive's name."""


def unescape(argument: str) -> str:
    """`argument` with `\\n` and `\\t` made a line break and a tab."""
    return argument.replace("\\n", "\n").replace("\\t", "\t")


def numbers(argument: str, defaults: Sequence[float]) -> list[float]:
    """The numbers in `argument`, with `defaults` for those left out. Raises ValueError."""
    given = [float(word) for word in argument.split()[: len(defaults)]]
    return [*given, *defaults[len(given) :]]


def split_two(argument: str, separator: str) -> tuple[str, str]:
    """Both sides of `separator`. Raises ValueError."""
    left, right = argument.split(separator, 1)
    return left.strip(), right.strip()


async def pause(stage: Stage, when: str, default: float) -> None:
    """Wait for so many seconds; or, where `when` is a name, for the file of that name in the session's folder."""
    try:
        await anyio.sleep(float(when or default))
    except ValueError:
        while not (stage.session.cwd / when).exists():
            await anyio.sleep(0.01)


async def stop(stage: Stage, argument: str) -> None:
    """`stop REASON`: ends the turn with any stop reason."""
    raise TurnEnded(argument or "end_turn")


async def error(stage: Stage, argument: str) -> None:
    """`error CODE MESSAGE`: a JSON-RPC error as the prompt's answer."""
    code, _, message = argument.partition(" ")
    raise RequestFailed(int(code), message, None)


async def die(stage: Stage, argument: str) -> None:
    """`die [SIGNAL or exit code]`: ends the process (1)."""
    number = signal.Signals.__members__.get(f"SIG{argument.removeprefix('SIG')}")
    await stderr(stage, f"demo agent: ending now, as I was asked to ({argument or 'exit code 1'})")
    if number is not None:
        os.kill(os.getpid(), number)
    os._exit(int(argument or 1))


async def wait(stage: Stage, argument: str) -> None:
    """`wait [WHEN]`: silence for so many seconds, until a file WHEN is there, or for ever."""
    await pause(stage, argument, math.inf)


async def hang(stage: Stage, argument: str) -> None:
    """`hang [TEXT]`: TEXT, then silence that no cancel ends, only the end of the connection."""
    with anyio.CancelScope(shield=True):
        if argument:
            await stage.say(unescape(argument))
        await stage.client.closed.wait()


async def late(stage: Stage, argument: str) -> None:
    """`late TEXT`: a chunk that comes after the prompt's answer."""
    stage.afterwards.append(chunk(text_block(unescape(argument) or "demo agent: one more thing")))


async def rawline(stage: Stage, argument: str) -> None:
    """`rawline TEXT`: that line on the wire, as it is."""
    await stage.client.transport.send(unescape(argument).encode() + b"\n")


async def stderr(stage: Stage, argument: str) -> None:
    """`stderr TEXT`: a line on stderr."""
    sys.stderr.write(unescape(argument) + "\n")
    sys.stderr.flush()


FAULTS: Mapping[str, Directive] = {
    fault.__name__: fault for fault in (stop, error, die, wait, hang, late, rawline, stderr)
}
"""Directives by name."""

SWITCHES = {
    "exit-at-start": "ends at once with exit code 3, after a line on stderr",
    "fails-starts": "[=N] the same, for the first N starts (1)",
    "name": "=NAME gives itself that name and title",
    "never-answers": "reads requests, and never answers",
    "new-fails": "[=N] answers the first N `session/new` with -32603 (1)",
    "load-fails": "[=N] answers the first N `session/load` with -32603 (all)",
    "resume-fails": "[=N] answers the first N `session/resume` with -32603 (all)",
    "mcp-fails": "answers -32603, with their names, when MCP servers come with a session",
    "mcp-hangs": "never answers when MCP servers come with a session",
    "mcp-http": "takes MCP servers of type http",
    "no-load": "has no `session/load`",
    "no-resume": "has no `session/resume`",
    "no-list": "has no `session/list`",
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
"""Faults of the whole agent by name."""


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
