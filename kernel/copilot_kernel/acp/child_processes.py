"""Child processes: environment, graces and words that agents and the commands they run have in common."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
_GIT_COUNT = "GIT_CONFIG_COUNT"
_OF_ONE_KERNEL = ("JPY_", "KERNEL_")
"""Prefixes of variables that differ between the kernels of one server."""


@dataclass(frozen=True, slots=True)
class Graces:
    """Seconds that the end of a child process may take after each step."""

    eof: float = 1.0
    """Time to end after its input was closed."""
    term: float = 1.0
    kill: float = 1.0
    linger: float = 0.5
    """Time after its end in which something that left its session may still hold the pipes."""


def of_no_kernel(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without what belongs to one kernel, such as the path of its notebook."""
    return {name: value for name, value in environ.items() if not name.startswith(_OF_ONE_KERNEL)}


def guarded(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` of no kernel, with Git set to take no folder for a bare repository by itself.

    The settings of one may run any program, and a clone or an edit can bring one along.
    """
    environ = of_no_kernel(environ)
    count = environ.get(_GIT_COUNT, "") or "0"
    if not (count.isascii() and count.isdecimal()):
        return environ  # Git refuses to run with it
    ours = {f"GIT_CONFIG_KEY_{int(count)}": "safe.bareRepository", f"GIT_CONFIG_VALUE_{int(count)}": "explicit"}
    return {**environ, **ours, _GIT_COUNT: str(int(count) + 1)}


def start_problem(program: str, error: OSError | ValueError) -> str:
    """Why `program` could not be started."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"{program} was not found, or its interpreter is missing"
    if isinstance(error, PermissionError):
        return f"{program} is not executable"
    return f"{program} could not be started: {error}"


def without_proxy_to_us(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ`, with what listens on 127.0.0.1 reached without a proxy: an agent may be given a server there."""
    upper, lower = environ.get("NO_PROXY", ""), environ.get("no_proxy", "")
    names = {"NO_PROXY": upper or lower, "no_proxy": lower or upper}
    named = {name: f"{hosts},{LOOPBACK}".lstrip(",") for name, hosts in names.items() if hosts != "*"}
    return {**environ, **named}


def signal_name(returncode: int) -> str:
    """The signal that ended a process, by its negative return code."""
    with suppress(ValueError):
        return signal.Signals(-returncode).name
    return f"signal {-returncode}"
