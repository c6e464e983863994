"""Steps of attempts to get out of the sandbox: functions, and the place that a test has made for them."""

import ctypes
import errno
import fcntl
import json
import os
import socket
import subprocess
import termios
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SECONDS = 60
"""Until a service that does not answer is given up."""

libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Place:
    """`root` is everything that is disposable; in it are `home`, and the project `home/project`.

    `helper` is a process outside, with the secret in its environment; it ends at SIGTERM. `shared_memory` is the key of
    a segment that holds the secret, `terminal` the path of a terminal that nobody reads. `service`, `datagrams` and
    the abstract socket `name` answer with the secret on loopback; `listed`, a port that may be reached, does not.
    """

    root: str
    secret: str
    helper: int
    victim: int
    shared_memory: int
    terminal: str
    environment: str
    service: int
    listed: int
    datagrams: int

    @property
    def home(self) -> Path:
        return Path(self.root, "home")

    @property
    def project(self) -> Path:
        return self.home / "project"

    @property
    def run(self) -> Path:
        return Path(self.root, "run")

    @property
    def socket_in_tmp(self) -> Path:
        return Path("/tmp", f"{self.name}.sock")

    @property
    def name(self) -> str:
        """For files in folders that everyone shares; unique."""
        return Path(self.root).name

    def repository(self, name: str) -> Path:
        """One for each attempt that needs one."""
        return self.project / "repositories" / name

    def values(self, name: str) -> dict[str, object]:
        """What the words of a step may stand for; `tree` is the repository of the attempt `name`."""
        folders = {
            "home": self.home,
            "project": self.project,
            "other": self.home / "other",
            "tree": self.repository(name),
        }
        more = {"name": name, "place": self.name, "parent": os.getppid(), "length": len(self.secret)}
        return {**asdict(self), **folders, **more}

    @classmethod
    def read(cls, file: Path) -> "Place":
        return cls(**json.loads(file.read_text()))

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)))


Attempt = Callable[[Place], str | None]
Step = tuple[Any, ...]


def perform(place: Place, name: str, steps: Sequence[Step]) -> str | None:
    """Take the steps of an attempt. Returns what the last one returns."""
    values, found = place.values(name), None
    for act, *words in steps:
        found = act(*(word.format(**values) for word in words))
    return found


def perform_in_child(place: Place, name: str, steps: Sequence[Step]) -> None:
    """Take steps that a process cannot undo in a process of its own."""
    if os.fork() == 0:
        try:
            perform(place, name, steps)
        finally:
            os._exit(0)
    os.wait()


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), errno.errorcode.get(ctypes.get_errno(), "?"))
    return result


def append(file: str, text: str) -> None:
    """Append, so that what was there still works."""
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as opened:
        opened.write(text)


def write_program(file: str, text: str) -> None:
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def read(file: str) -> str:
    return Path(file).read_text()


def read_member(file: str, name: str) -> str:
    return json.loads(read(file))[name]


def read_variable(name: str, *pids: str) -> str:
    """What one of the processes was started with."""
    for pid in pids:
        with suppress(OSError):
            for pair in Path(f"/proc/{pid}/environ").read_text().split("\0"):
                if pair.startswith(f"{name}="):
                    return pair.partition("=")[2]
    raise LookupError


def rename_lock(lock: str, file: str) -> None:
    try:
        os.rename(lock, file)
    finally:
        Path(lock).unlink(missing_ok=True)


def exchange(one: str, other: str) -> None:
    """Let two paths change places at once."""
    flag, here = 2, -100
    checked(libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), flag))


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def read_segment(key: str, length: str) -> str:
    id = checked(libc.shmget(int(key), 0, 0))
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(id, None, 0o10000)
    found = ctypes.string_at(address, int(length)).decode()
    libc.shmdt(ctypes.c_void_p(address))
    return found


def trace(pid: str) -> None:
    """Attach to another process (`ptrace`, PTRACE_ATTACH), and detach."""
    checked(libc.ptrace(16, int(pid), None, None))
    os.waitpid(int(pid), 0x40000000)
    libc.ptrace(17, int(pid), None, None)


def enter(namespace: str) -> None:
    with open(namespace) as opened:
        checked(libc.setns(opened.fileno(), 0))


def type_into(terminal: str, text: str) -> None:
    """By TIOCSTI, into a terminal of somebody else."""
    os.setsid()
    opened = os.open(terminal, os.O_RDWR)
    for byte in text.encode():
        fcntl.ioctl(opened, termios.TIOCSTI, bytes([byte]))


def post(file: str, text: str) -> None:
    """Write to a socket at which the test listens."""
    path = Path(file)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        os.chdir(path.parent)  # those of sockets must be short
        client.connect(path.name)
        client.sendall(text.encode())
