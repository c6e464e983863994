"""A server or cluster that kernels run on: a process, and everything that comes from it."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from ..browser.lab import running_program
from ..jupyter.front_end import until
from ..limits import LIMIT
from ..processes import running as running_processes


def belonging_to(root: Path) -> list[psutil.Process]:
    """The processes that run in `root`, or have it in their command or environment, whoever their parent is."""
    return running_processes(lambda process: _belongs(process, str(root)))


def _belongs(process: psutil.Process, root: str) -> bool:
    said = (*process.cmdline(), *process.environ().values(), process.cwd())
    return process.pid != os.getpid() and any(root in each for each in said)


def await_none_of(root: Path) -> None:
    """Wait until no process belongs to `root`."""
    until(lambda: belonging_to(root) == [], f"the end of all of {root}", LIMIT)


@contextmanager
def running(
    command: Sequence[str], url: str, root: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that answers at `url` and works in `root`; ended with the block, and then nothing may be left."""
    with running_program(command, url, root, root, environment) as process:
        yield process
    await_none_of(root)
