"""Real bash in a room where nothing can be harmed: what does a command line run, and what does it write?

`PATH` holds nothing but stubs that write down the words they were started with. Where the system allows it, the room
has no network and a file system that can only be read, but for its own folder in memory. The commands run in a process
of their own (this file), so that the room is built once for all of them.
"""

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT = 120.0  # this file runs by itself, too

FILES = {
    **dict.fromkeys(("train.py", "src/a.py", "src/b.py", "data/c.csv", ".env", "-rf", "--evil", "-exec"), ""),
    **{"a.txt": "1\n", "b.csv": "x,y\n", "notes.md": "# n\n", "evil": "#!/bin/sh\n", "src/evil": "#!/bin/sh\n"},
}
"""What lies in the folder: also names that read like options, and programs that no rule names."""


@dataclass(frozen=True)
class Deed:
    """What a command line did: the words of each program that was started, the files that changed, and its errors."""

    ran: list[list[str]]
    changed: list[str]
    said: str


class Sandbox:
    """The parent's side: `run` asks the process in the room."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, command: str) -> Deed:
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return Deed(**json.loads(self._line()))

    def _line(self) -> str:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process in the sandbox has ended")
        return line


@contextlib.contextmanager
def sandbox(programs: Sequence[str]) -> Iterator[Sandbox]:
    """A room with a stub for each of `programs`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*_walls(folder), sys.executable, "-I", __file__, folder, *programs]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield Sandbox(process)
            finally:
                process.terminate()


_BUILD = """
for place in $(cut -d' ' -f2 /proc/mounts); do mount -o remount,bind,ro "$place" 2>/dev/null; done
mount -o remount,bind,ro / && mount -t tmpfs -o size=16m none "$1" || exit 3
shift
"""


def _walls(folder: str) -> list[str]:
    """A namespace of its own, where that is allowed."""
    enter = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c"]
    if not shutil.which("unshare"):
        return []
    tried = subprocess.run([*enter, _BUILD, "sh", folder], capture_output=True, timeout=LIMIT)
    return [*enter, _BUILD + 'exec "$@"', "sh", folder] if tried.returncode == 0 else []


# In the room


def main(folder: str, *programs: str) -> None:
    room = Path(folder)
    for limit, value in ((resource.RLIMIT_FSIZE, 1 << 20), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (value, value))
    _put_stubs(room, programs)
    _put_files(room)
    for line in sys.stdin:
        _say(_do(room, json.loads(line)))


def _say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _put_stubs(room: Path, programs: Sequence[str]) -> None:
    (room / "bin").mkdir()
    (room / "log").mkdir()
    stub = room / "bin" / "stub"
    stub.write_text(f'#!/bin/sh\nprintf \'%s\\0\' "$0" "$@" > {room}/log/$$\n', "utf-8")
    stub.chmod(0o755)
    for program in programs:
        (room / "bin" / program).symlink_to("stub")
    for name in ("evil", "src/evil"):
        FILES[name] = stub.read_text("utf-8")


def _put_files(room: Path) -> None:
    shutil.rmtree(room / "work", ignore_errors=True)
    for name, text in FILES.items():
        path = room / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755)


def _do(room: Path, command: str) -> dict[str, Any]:
    before = _seen(room / "work")
    said = _bash(room, command)
    after = _seen(room / "work")
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if changed:
        _put_files(room)
    return {"ran": _logged(room), "changed": changed, "said": said}


def _bash(room: Path, command: str) -> str:
    """Run to the end of every process that it started: each holds one end of a pipe open."""
    alive, held = os.pipe()
    with (room / "said").open("w+b") as said:
        process = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile", "-c", command],
            **{"cwd": room / "work", "env": {"PATH": f"{room}/bin", "HOME": f"{room}/home", "LC_ALL": "C.UTF-8"}},
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": said},
            pass_fds=(held,),
            start_new_session=True,
        )
        os.close(held)
        in_time = bool(select.select([alive], [], [], LIMIT)[0])
        if not in_time:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(alive)
        said.seek(0)
        return said.read(2_000).decode("utf-8", "replace") + ("" if in_time else "it took too long")


def _seen(folder: Path) -> dict[str, tuple[int, int, int]]:
    seen = {}
    for place, _, names in os.walk(folder):
        for name in (*names, "."):
            found = os.lstat(os.path.join(place, name))
            seen[os.path.relpath(os.path.join(place, name), folder)] = (found.st_mtime_ns, found.st_size, found.st_mode)
    return seen


def _logged(room: Path) -> list[list[str]]:
    ran = []
    for log in (room / "log").iterdir():
        program, *words = log.read_bytes().decode("utf-8", "replace").split("\0")[:-1]
        ran.append([program.removeprefix(f"{room}/bin/"), *words])
        log.unlink()
    return ran


if __name__ == "__main__":
    main(*sys.argv[1:])
