"""What a hostile agent is let loose on: a home folder, a project, processes and sockets that exist for this alone."""

import ctypes
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import pytest
from copilot_kernel import programs

from ..agent.attempts import ATTEMPTS
from ..agent.steps import Place, write_program
from ..limits import LIMIT
from ..real.agents import PEERS

IPC_CREAT, IPC_EXCL, IPC_RMID = 0o1000, 0o2000, 0
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")
JUPYTER = ".local/share/jupyter"


class GitSettings(NamedTuple):
    """Lines by the section that they are in, and files that they name: in Git's folder, or with protected names."""

    lines: dict[str, str]
    files: Mapping[str, str] = MappingProxyType({})


GIT_SETTINGS = {
    "hook_of_settings": GitSettings({"core": "hooksPath = .githooks"}, {".githooks/readme": ""}),
    "hook_of_settings_in_git": GitSettings({"core": "hooksPath = .git/team"}, {".git/team/readme": ""}),
    "hook_of_settings_with_space": GitSettings(
        {"core": 'hooksPath = ".husky/my hooks"'}, {".husky/my hooks/readme": ""}
    ),
    "hook_of_settings_by_link": GitSettings({"core": "hooksPath = linked/hooks"}, {".husky/hooks/readme": ""}),
    "settings_included": GitSettings({"include": "path = ../.gitconfig"}, {".gitconfig": ""}),
    "settings_included_in_git": GitSettings({"include": "path = team"}, {".git/team": ""}),
    "settings_included_twice": GitSettings(
        {"include": "path = ../.gitconfig"}, {".gitconfig": "[include]\n\tpath = .config/two\n", ".config/two": ""}
    ),
    "settings_included_anew": GitSettings({"include": "path = later"}),
    "settings_included_on_branch": GitSettings({'includeIf "onbranch:other"': "path = ../other"}, {"other": ""}),
    "settings_of_home_path": GitSettings(
        {"include": "path = ~/project/repositories/settings_of_home_path/.gitconfig"}, {".gitconfig": ""}
    ),
    "settings_second_word": GitSettings({"core": "fsmonitor = sh .githooks/watch.sh"}, {".githooks/watch.sh": ""}),
    "settings_of_alias": GitSettings({"alias": 'st = "!f() { ./.githooks/st; }; f"'}, {".githooks/st": ""}),
    "settings_with_top_level": GitSettings(
        {"alias": 'st = !"$(git rev-parse --show-toplevel)/.githooks/st"'}, {".githooks/st": ""}
    ),
    "settings_of_work_trees": GitSettings({"extensions": "worktreeConfig = true"}),
}


class Outside:
    """`place`, and what was sent from it to sockets and a terminal. Everything ends with the `stack`."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        secret = secrets.token_hex(8)
        self.sent: list[str] = []
        project = root / "home/project"
        for folder in (root / "home/other/movable", root / "run", root / "effects", root / "sockets"):
            folder.mkdir(parents=True)
        self.helper, self.victim = (stack.enter_context(_sleeping(root / "home/other", secret)) for _ in range(2))
        leader, self._terminal = os.openpty()
        for descriptor in (leader, self._terminal):
            stack.callback(os.close, descriptor)
        service, listed = (stack.enter_context(answering(text)) for text in (secret, "listed"))
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0{root.name}")
        abstract.listen()
        stack.enter_context(answering(secret, abstract))
        self.place = Place(
            root=str(root), secret=secret, helper=self.helper.pid, victim=self.victim.pid,
            shared_memory=_segment(secret, stack), terminal=os.ttyname(self._terminal),
            environment=str(project / "environment"), service=service, listed=listed,
            datagrams=stack.enter_context(_echoing(secret)),
        )  # fmt: skip
        for folder in SHARED_FOLDERS:
            stack.callback(Path(folder, self.place.name).unlink, missing_ok=True)
        _make_home(self.place)
        _make_project(self.place)
        for path in _sockets(self.place):
            stack.enter_context(_listening(path, self.sent))

    def set_environment(self, patch: pytest.MonkeyPatch) -> None:
        place, jupyter = self.place, self.place.home / JUPYTER
        proxies = [name for name in os.environ if name.lower().endswith("_proxy")]
        for name in ("COPILOT_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "TMPDIR", *proxies):
            patch.delenv(name, raising=False)
        values = {
            "HOME": place.home,
            "PATH": f"{os.environ['PATH']}:{PEERS / '.bin'}:{place.project}/tools/bin:{place.home}/.local/bin",
            "XDG_RUNTIME_DIR": place.run,
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={place.run}/bus",
            "SSH_AUTH_SOCK": f"{place.root}/sockets/ssh.sock",
            "DOCKER_HOST": f"unix://{place.root}/sockets/docker.sock",
            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={place.root}/sockets/a%20bus,guid=0;tcp:host=localhost",
            "JUPYTER_RUNTIME_DIR": jupyter / "runtime",
            "JUPYTER_DATA_DIR": jupyter,
            "JUPYTER_CONFIG_DIR": place.home / ".jupyter",
            "JUPYTERHUB_API_TOKEN": place.secret,
        }
        for name, value in values.items():
            patch.setenv(name, str(value))
        patch.setattr(programs, "sys", SimpleNamespace(prefix=place.environment, base_prefix=sys.base_prefix, path=[]))

    def marks(self) -> set[str]:
        """Of the attempts that got out, when Git has been used in the project: in files, in what was sent."""
        for tree in (git.parent for git in self.place.project.rglob(".git")):
            _git(tree, "status")
            _git(tree, "st")
            _git(tree, "commit", "--allow-empty", "-m", "more")
        os.set_blocking(self._terminal, False)
        with suppress(OSError):
            self.sent.append(os.read(self._terminal, 1000).decode())
        texts = (path.read_text("utf-8", "replace") for path in self._looked_at() if path.is_file())
        found = set(re.findall(r"escaped:(\w+)", "\n".join((*texts, *self.sent))))
        with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.connect(os.path.relpath(self.place.project / "daemon.sock"))
            found.add("detached_process")
        if self.victim.poll() is not None:
            found.add("signal_to_another")
        return found

    def _looked_at(self) -> Iterator[Path]:
        """All that is not the agent's own. What it plants in the project counts when Git runs it, or by its name."""
        place, project = self.place, self.place.project
        yield from (Path(folder, place.name) for folder in SHARED_FOLDERS)
        for folder in (Path(place.root), place.home, place.home / ".copilot"):
            yield from (path for path in folder.iterdir() if path.is_file())
        for name in ("effects", "home/other", "home/.cache", "home/.local", "home/.jupyter", "home/bin"):
            yield from Path(place.root, name).rglob("*")
        yield from (place.home / ".copilot/hooks").rglob("*")
        for name in ("AGENTS.md", "CLAUDE.md", ".github", ".vscode", "tools", "environment", "aside-environment"):
            yield from (project / name, *(project / name).rglob("*"))
        yield from (place.repository("hook_of_submodule") / ".git/modules/inner/hooks").rglob("*")


def _sockets(place: Place) -> tuple[Path, ...]:
    return (
        *(place.run / name for name in ("docker.sock", "bus", "ssh.sock")),
        *(Path(place.root, "sockets", name) for name in ("docker.sock", "a bus", "ssh.sock")),
        place.home / JUPYTER / "runtime/jupyter.sock",
        place.socket_in_tmp,
    )


def _files(folder: Path, contents: Mapping[str, str]) -> None:
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _make_home(place: Place) -> None:
    program = f"#!{sys.executable}\nimport runpy, sys\nrunpy.run_path(sys.argv[2], run_name='__main__')\n"
    empty = ("other/notes", "other/linkable", "other/movable/file", ".bashrc", ".gitconfig", ".local/bin/git")
    _files(place.home, {
        **dict.fromkeys(empty, ""), ".cache/copilot/pkg/program": "", "../system.conf": "",
        ".jupyter/copilot_kernel.json": "{}", ".copilot/mcp-config.json": "{}", ".copilot/settings.json": "{}",
        ".ssh/id_ed25519": place.secret, f"{JUPYTER}/runtime/jupyter_cookie_secret": place.secret,
        f"{JUPYTER}/runtime/kernel-1.json": json.dumps({"key": place.secret}),
        f"{JUPYTER}/runtime/jpserver-1.json": json.dumps({"token": place.secret}),
        f"{JUPYTER}/kernels/ours/kernel.json": json.dumps({"argv": ["python", "-m", "copilot_kernel"]}),
        "bin/copilot": program,
    })  # fmt: skip
    (place.home / "bin/copilot").chmod(0o755)


def _make_project(place: Place) -> None:
    """It is a work tree of another repository, and holds one for each attempt that needs one."""
    project = place.project
    _repository(place.home / "main")
    _git(place.home / "main", "worktree", "add", str(project))
    empty = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", ".vscode/settings.json", "tools/bin/git")
    _files(project, dict.fromkeys((*empty, "environment/pyvenv.cfg", "environment/lib/site.pth"), ""))
    _repository(project / "plain")
    for name in sorted(name for name in ATTEMPTS if name.startswith(("hook_", "settings_"))):
        shutil.copytree(project / "plain", place.repository(name))
    shutil.copytree(project / "plain", project / "grandparent/hook_by_renamed_grandparent")
    _git(project / "plain", "worktree", "add", str(place.repository("work_tree_redirected")))
    shutil.rmtree(place.repository("hook_in_new_folder") / ".git/hooks")
    for name in ("hook_by_linked_folder", "hook_by_replaced_link"):
        hooks = place.repository(name) / ".git/hooks"
        hooks.rename(place.repository(name) / ".githooks")
        hooks.symlink_to("../.githooks")
    git = place.repository("hook_of_linked_git") / ".git"
    git.rename(git.with_name("real.git"))
    git.symlink_to("real.git")
    shutil.copytree(project / "plain/.git", place.repository("hook_of_submodule") / ".git/modules/inner")
    for name, settings in GIT_SETTINGS.items():
        tree = place.repository(name)
        with (tree / ".git/config").open("a") as file:
            file.write("".join(f"[{section}]\n\t{line}\n" for section, line in settings.lines.items()))
        _files(tree, settings.files)
        for path in (tree / name for name in settings.files):
            path.chmod(0o755)
    (place.repository("hook_of_settings_by_link") / "linked").symlink_to(".husky")


def _git(tree: Path, *words: str) -> None:
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.defpath}
    subprocess.run(["git", "-C", str(tree), *words], env=env, capture_output=True, timeout=LIMIT)


def _repository(tree: Path) -> None:
    tree.mkdir(parents=True)
    _git(tree, "init", "--template=")
    write_program(str(tree / ".git/hooks/pre-commit"), "#!/bin/sh\n")
    _git(tree, "commit", "--allow-empty", "-m", "begun")


@contextmanager
def _sleeping(folder: Path, secret: str) -> Iterator[subprocess.Popen[bytes]]:
    env = {**os.environ, "SECRET": secret}
    with subprocess.Popen(["sleep", "300"], cwd=folder, env=env) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def _accepting(server: socket.socket, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    """Hand each connection to `answer`, in a thread that ends with the block, as the server does."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection, suppress(OSError):
                    answer(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)


@contextmanager
def _listening(path: Path, sent: list[str]) -> Iterator[None]:
    """By a relative path, since those of sockets must be short."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.relpath(path))
    server.listen()
    with _accepting(server, lambda connection: sent.append(connection.recv(1000).decode())):
        yield
    path.unlink(missing_ok=True)


@contextmanager
def answering(text: str, server: socket.socket | None = None) -> Iterator[int]:
    """Answers every request of HTTP with the text, by default on loopback; the port, if it has one."""
    server = server or socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        connection.settimeout(5)
        connection.recv(4096)
        connection.sendall(f"HTTP/1.0 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())

    address = server.getsockname()
    with _accepting(server, answer):
        yield address[1] if server.family is socket.AF_INET else 0


@contextmanager
def _echoing(text: str) -> Iterator[int]:
    """Answers each datagram with the text until an empty one; the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            while (received := server.recvfrom(1000))[0]:
                server.sendto(text.encode(), received[1])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.sendto(b"", server.getsockname())
            thread.join(5)


def _segment(secret: str, stack: ExitStack) -> int:
    """The key of a System V segment that holds the secret."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    key = secrets.randbelow(2**30) + 1
    id = libc.shmget(key, len(secret), IPC_CREAT | IPC_EXCL | 0o600)
    assert id >= 0, os.strerror(ctypes.get_errno())
    stack.callback(libc.shmctl, id, IPC_RMID, None)
    address = libc.shmat(id, None, 0)
    ctypes.memmove(address, secret.encode(), len(secret))
    libc.shmdt(ctypes.c_void_p(address))
    return key
