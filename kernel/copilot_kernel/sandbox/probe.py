"""Find out whether there can be a sandbox here, and what prevents it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..programs import find_outside, path_outside

PROBE_SECONDS = 10.0
# All that the sandbox needs of the kernel. Root keeps its capabilities unless they are dropped, and could mount anew.
BUBBLEWRAP = (
    *("--unshare-user", "--cap-drop", "ALL", "--unshare-ipc", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev"),
)
ALONE = ("--unshare-pid", "--proc", "/proc")
_SWITCHES = {
    "kernel/unprivileged_userns_clone": ("0", "1"),
    "user/max_user_namespaces": ("0", "15000"),
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),
}
"""Switches of sysctl, with the value that forbids a sandbox, and one that allows it."""
_INSTALL = {
    "bwrap": ("bubblewrap (bwrap) is not installed", "Install it, for example: sudo apt-get install bubblewrap"),
    "socat": (
        "socat is not installed, which a list of hosts needs", "Install it, for example: sudo apt-get install socat"
    ),
    "srt": (
        "Anthropic's sandbox runtime (srt) is not installed", "Install it: npm install -g @anthropic-ai/sandbox-runtime"
    ),
}  # fmt: skip
_ELSEWHERE = "Run Jupyter in WSL2, a container or a virtual machine, or set COPILOT_KERNEL_SANDBOX=off."
_LIST = 'Set COPILOT_KERNEL_SANDBOX_HOSTS, for example to ["api.githubcopilot.com", "api.github.com"].'
_CONTAINER = (
    "This is often a container whose seccomp profile forbids namespaces: run it with "
    "--security-opt seccomp=unconfined --security-opt systempaths=unconfined, or sandbox the container itself."
)
_APPARMOR = "Or allow bwrap alone, by an AppArmor profile for it with `userns,` (see `man apparmor.d`)."


class SandboxUnavailable(Exception):
    """Why there can be no sandbox, as a sentence without its period; `hint` is what to do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class SandboxTools:
    """Absolute paths of programs, and the PATH on which they find others; empty: not needed here."""

    path: str
    bubblewrap: str = ""
    srt: str = ""
    socat: str = ""


def find_tools(
    hosts: Sequence[str] | None, environ: Mapping[str, str], writable: tuple[Path, ...] = ()
) -> SandboxTools:
    """Find the programs for a sandbox, with a network limited to `hosts` if given. Raises SandboxUnavailable.

    A program in a folder that the agent writes to is not used.
    """
    path = path_outside(writable, environ)
    if sys.platform == "darwin":
        if hosts is None:
            raise SandboxUnavailable("On macOS a sandbox needs a list of hosts", _LIST)
        return SandboxTools(path, srt=_find("srt", environ, writable))
    if sys.platform != "linux":
        raise SandboxUnavailable("A sandbox needs Linux or macOS", _ELSEWHERE)
    if hosts is None:
        return SandboxTools(path, _find("bwrap", environ, writable))
    return SandboxTools(path, *(_find(name, environ, writable) for name in ("bwrap", "srt", "socat")))


def _find(name: str, environ: Mapping[str, str], writable: tuple[Path, ...]) -> str:
    """The program's path. Raises SandboxUnavailable."""
    if found := find_outside(name, writable, environ):
        return found
    raise SandboxUnavailable(*_INSTALL[name])


@lru_cache(maxsize=8)
def try_bubblewrap(program: str) -> None:
    """Start a sandbox once; an answer of yes is kept. Raises SandboxUnavailable."""
    try_command((program, *BUBBLEWRAP, *ALONE, "--", program, "--version"), "bubblewrap")


def try_command(command: Sequence[str], name: str, environ: Mapping[str, str] | None = None) -> None:
    """Run what makes a sandbox by the program `name`. Raises SandboxUnavailable."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL, cwd="/",
            errors="replace", env=environ,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxUnavailable(f"{name} does not work: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it exited with code {done.returncode}"]
        reason = next((line for line in lines if line.startswith(("bwrap:", "Error:"))), lines[-1])
        is_of_system = sys.platform == "linux" and not reason.startswith("Error:")
        raise SandboxUnavailable(f"{name} cannot make a sandbox here ({reason})", obstacles() if is_of_system else "")


def obstacles(sysctl: Path = Path("/proc/sys")) -> str:
    """Say which switch of the system is the cause, and how to change it, as far as that can be seen."""
    closed = [name for name, (value, _) in _SWITCHES.items() if _value(sysctl / name) == value]
    if not closed:
        return _CONTAINER
    commands = (f"{name.replace('/', '.')}={_SWITCHES[name][1]}" for name in closed)
    hint = f"Set it by: sudo sysctl -w {' '.join(commands)}"
    return f"{hint}\n{_APPARMOR}" if any("apparmor" in name for name in closed) else hint


def _value(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
