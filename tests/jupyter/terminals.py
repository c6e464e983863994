"""Programs in a terminal of their own."""

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pexpect
import psutil

from ..limits import LIMIT
from .front_end import until


@contextmanager
def in_terminal(
    argv: Sequence[str], cwd: Path, environ: Mapping[str, str], columns: int = 200
) -> Iterator[pexpect.spawn]:
    """The program `argv`, which has ended after the block."""
    child = pexpect.spawn(
        argv[0], [*argv[1:]], cwd=str(cwd), env=dict(environ), encoding="utf-8", timeout=LIMIT, dimensions=(50, columns)
    )
    try:
        yield child
    finally:
        if child.isalive():  # `close` allows it a tenth of a second to end
            child.kill(signal.SIGKILL)
            child.wait()
        child.close()


def enter(child: pexpect.spawn, line: str, *patterns: str) -> None:
    """Type a line, and wait for what shall appear, one after the other."""
    child.sendline(line)
    for pattern in patterns:
        child.expect(pattern)


def interrupt(child: pexpect.spawn) -> None:
    """Ctrl-C, once the main thread waits: what arrives between a prompt and Python's wait is noticed only after it."""
    process = psutil.Process(child.pid)

    def waits() -> bool:
        switches = process.num_ctx_switches()
        time.sleep(0.05)
        return process.status() == psutil.STATUS_SLEEPING and process.num_ctx_switches() == switches

    until(waits, "the program waits")
    child.sendintr()
