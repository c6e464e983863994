"""A place without a network: loopback only, its own process tree (and /proc), no credentials, an empty home.

`run(command)` starts `unshare` round this file, which raises the loopback device, runs the command as its
child and is process 1 of the new tree: when it ends, or the time is up, the system ends every process in it.
"""

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNSHARE = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "VIRTUAL_ENV", "COPILOT_TEST_PEERS")
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def unavailable() -> str:
    """Why there can be no namespace here, in one line; empty when there can."""
    from ..limits import LIMIT  # not where this file is a program

    if shutil.which("unshare") is None:
        return "install util-linux: `unshare` is missing (Linux only)"
    trial = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, timeout=LIMIT)
    if trial.returncode == 0:
        return ""
    return f"allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0): {trial.stderr.strip()}"


def environment(home: Path, cache: Path) -> dict[str, str]:
    """Everything that a program may know of this machine: a path to programs and an empty home."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    places = {f"XDG_{kind.upper()}_HOME": str(home / kind) for kind in ("config", "data", "state")}
    quiet = {"NO_COLOR": "1", "DO_NOT_TRACK": "1", "NO_UPDATE_NOTIFIER": "1", "PYTHONPATH": str(ROOT)}
    return {**kept, **places, **quiet, "HOME": str(home), "XDG_CACHE_HOME": str(cache), "TMPDIR": str(home / "tmp")}


def run(command: Sequence[str], env: Mapping[str, str], seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Run the command inside; raises TimeoutExpired after `seconds`, with nothing left running."""
    inside = [*UNSHARE, sys.executable, __file__, *command]
    pipe = subprocess.PIPE
    with subprocess.Popen(inside, env=dict(env), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe,
                          text=True, start_new_session=True) as process:  # fmt: skip
        try:
            out, err = process.communicate(timeout=seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def raise_loopback() -> None:
    """`ip link set lo up`, without needing `ip`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        before = fcntl.ioctl(control, _GET_FLAGS, struct.pack("16sh22x", b"lo", 0))
        flags = struct.unpack("16sh22x", before)[1] | _UP
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh22x", b"lo", flags))


def main() -> int:
    raise_loopback()
    Path(os.environ["TMPDIR"]).mkdir(parents=True, exist_ok=True)
    return _follow(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ))


def _follow(child: int) -> int:
    """The child's exit status; whoever lost its parent is ours to bury."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
