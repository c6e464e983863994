"""The processes of this namespace: `/proc` shows those outside of it too, and by the numbers that they have there."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """`pid` is its number in this namespace, `outer` and `parent` are numbers of `/proc`."""

    pid: int
    outer: int
    parent: int
    name: str


def running_here() -> list[Process]:
    """Those of this namespace, without the ended ones."""
    here = os.readlink("/proc/self/ns/pid")
    return [process for pid in os.listdir("/proc") if pid.isdigit() for process in _read(pid, here)]


def kill_below(pid: int) -> list[str]:
    """`kill -9` for everything that this process has started, at once; their names."""
    found = running_here()
    family = {process.outer for process in found if process.pid == pid}
    below: list[Process] = []
    while children := [each for each in found if each.parent in family and each not in below]:
        below += children
        family |= {each.outer for each in children}
    for process in below:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    return sorted(process.name for process in below)


def _read(pid: str, here: str) -> Iterator[Process]:
    with suppress(OSError):
        name, _, state = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        numbers = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line[:6] == "NSpid:")
        if os.readlink(f"/proc/{pid}/ns/pid") == here and state.split()[0] != "Z":
            yield Process(int(numbers.split()[-1]), int(pid), int(state.split()[1]), name)
