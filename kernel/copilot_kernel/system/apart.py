"""Start an agent as no descendant of this process; as a script, what stands between the two.

To stop a cell, VS Code sends SIGINT to a kernel and to all processes below it, by their parents' numbers. The script
stays such a child, which ends as the agent does. The agent's parent, which lives as long, as a sandbox needs it, has
none in this family: the process between has ended. All are in one session, with which `reaper.py` ends them.
"""

import os
import signal
import sys

assert sys.platform != "win32"

prefix: tuple[str, ...] = ()
"""Command with which agents are started; empty: as children."""
_IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)


def keep_apart() -> None:
    """Start agents apart from now on."""
    global prefix
    prefix = (sys.executable, "-I", "-S", __file__)


def _run(argv: list[str]) -> None:
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    reading, writing = os.pipe()
    if os.fork():
        os.wait()
        os.closerange(0, 3)
        os.close(writing)
        _end(int(os.read(reading, 9) or -signal.SIGKILL))
    if os.fork():
        os._exit(0)
    try:
        program = os.posix_spawnp(argv[0], argv, os.environ, setsigdef=_IGNORED)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error}\n".encode())
        os.write(writing, b"127")
    else:
        os.closerange(0, 3)
        os.write(writing, b"%d" % os.waitstatus_to_exitcode(os.waitpid(program, 0)[1]))


def _end(code: int) -> None:
    """End as the agent did, also by a signal."""
    if -code in _IGNORED:
        signal.signal(-code, signal.SIG_DFL)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    _run(sys.argv[1:])
