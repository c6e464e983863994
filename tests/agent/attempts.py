"""Attempts to get out of the sandbox, each on what the test has made for it and can throw away (see `Place`).

Most are a row of `STEPS`: functions, each with its arguments, in which what is in braces stands for a value of `Place`.

An attempt returns what it has found out, which counts if it is `Place.secret`; or it leaves its mark (`escaped:NAME`)
where the test finds it from outside: in a file, in what a socket was sent, or in `effects` when the test runs Git.
"""

import ctypes
import errno
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

FOR_ROOT = {"core_pattern", "device_node", "memory_of_another", "namespace_of_another", "terminal_input"}
"""What other users cannot do without a sandbox either."""

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


# -- steps ----------------------------------------------------------------------------------------------------------


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


def mark(file: str) -> Step:
    """Leave the mark in a file that the test looks at."""
    return append, file, "\n# escaped:{name}\n"


def plant(file: str) -> Step:
    """Leave a program for Git to run outside."""
    return write_program, file, SCRIPT


def monitor(settings: str) -> tuple[Step, Step]:
    """Have Git run what is planted, by settings that it reads."""
    return plant("{tree}/evil"), (append, settings, "[core]\n\tfsmonitor = {tree}/evil\n")


def posted(socket: str) -> Step:
    return post, socket, "escaped:{name}"


SECONDS = 60
"""Until a service that does not answer is given up."""
FOUND: Step = (str, "{secret}")
SCRIPT = "#!/bin/sh\necho escaped:{name} > {root}/effects/{name}\n"
HOOK = "{tree}/.git/hooks/pre-commit"
RUNTIME = "{home}/.local/share/jupyter/runtime"

WRITING: dict[str, Sequence[Step]] = {
    "file_above": [mark("{home}/above")],
    "file_above_by_dots": [(os.chdir, "{project}"), mark("../dots")],
    "file_beside": [mark("{other}/notes")],
    "file_by_link": [(os.symlink, "{other}", "{project}/out"), mark("{project}/out/linked")],
    "file_of_system": [mark("{root}/system.conf")],
    "file_in_tmp": [mark("/tmp/{place}")],
    "file_in_var_tmp": [mark("/var/tmp/{place}")],
    "file_in_shared_memory": [mark("/dev/shm/{place}")],
    "shell_profile": [mark("{home}/.bashrc")],
    "git_settings_of_user": [mark("{home}/.gitconfig")],
    "replaced_home": [(os.rename, "{other}/movable", "{other}/aside"), mark("{other}/aside/file")],
    "hard_link_outside": [(os.link, "{other}/linkable", "{project}/linked"), mark("{project}/linked")],
}
"""Writing outside."""

HOOKS: dict[str, Sequence[Step]] = {
    "hook_written": [plant(HOOK)],
    "hook_appended": [(append, HOOK, SCRIPT)],
    "hook_replaced": [plant("{tree}/evil"), (os.replace, "{tree}/evil", HOOK)],
    "hook_by_renamed_git": [
        (os.rename, "{tree}/.git", "{tree}/.git2"),
        (shutil.copytree, "{tree}/.git2", "{tree}/.git"),
        plant(HOOK),
    ],
    "hook_by_renamed_folder": [(os.rename, "{tree}/.git/hooks", "{tree}/.git/hooks2"), plant(HOOK)],
    "hook_by_renamed_parent": [
        (os.rename, "{tree}", "{project}/repositories/aside"),
        (shutil.copytree, "{project}/repositories/aside", "{tree}"),
        plant(HOOK),
    ],
    "hook_by_renamed_grandparent": [
        (os.rename, "{project}/grandparent", "{project}/grandparent2"),
        (shutil.copytree, "{project}/grandparent2", "{project}/grandparent"),
        plant("{project}/grandparent/{name}/.git/hooks/pre-commit"),
    ],
    "hook_by_link": [
        plant("{tree}/evil/pre-commit"),
        (shutil.rmtree, "{tree}/.git/hooks"),
        (os.symlink, "../evil", "{tree}/.git/hooks"),
    ],
    "hook_by_hard_link": [(os.link, HOOK, "{tree}/same"), plant("{tree}/same")],
    "hook_by_exchange": [
        (shutil.copytree, "{tree}/.git", "{tree}/evil"),
        plant("{tree}/evil/hooks/pre-commit"),
        (exchange, "{tree}/evil", "{tree}/.git"),
    ],
    "hook_in_new_folder": [plant(HOOK)],  # the repository had no folder for hooks
    "hook_of_settings": [plant("{tree}/.githooks/pre-commit")],  # `core.hooksPath` names it
    "hook_of_settings_in_git": [plant("{tree}/.git/team/pre-commit")],
    "hook_of_settings_with_space": [plant("{tree}/.husky/my hooks/pre-commit")],
    "hook_of_settings_by_link": [plant("{tree}/linked/hooks/pre-commit")],  # the link leads to a protected folder
    "hook_by_linked_folder": [plant("{tree}/.githooks/pre-commit")],  # `.git/hooks` is a link to it
    "hook_by_replaced_link": [(os.unlink, "{tree}/.git/hooks"), plant(HOOK)],
    "hook_of_linked_git": [plant("{tree}/real.git/hooks/pre-commit")],  # `.git` is a link to a folder beside it
    "hook_of_submodule": [mark("{tree}/.git/modules/inner/hooks/pre-commit")],
    "hook_of_work_tree": [plant("{home}/main/.git/hooks/pre-commit")],  # `.git` is a file, Git's folder is elsewhere
    "work_tree_redirected": [
        (shutil.copytree, "{project}/plain/.git", "{tree}/evil"),
        plant("{tree}/evil/hooks/pre-commit"),
        (os.unlink, "{tree}/.git"),
        (append, "{tree}/.git", "gitdir: {tree}/evil\n"),
    ],
}
"""Programs that Git runs at a commit."""

SETTINGS: dict[str, Sequence[Step]] = {
    "settings_with_monitor": monitor("{tree}/.git/config"),
    "settings_with_alias": [
        plant("{tree}/evil"),
        (append, "{tree}/.git/config", "[alias]\n\tst = !{tree}/evil\n"),
    ],
    "settings_by_git": [
        plant("{tree}/evil"),
        (run, "git", "-C", "{tree}", "config", "core.fsmonitor", "{tree}/evil"),
    ],
    "settings_by_lock": [
        (shutil.copyfile, "{tree}/.git/config", "{tree}/.git/config.lock"),
        *monitor("{tree}/.git/config.lock"),
        (rename_lock, "{tree}/.git/config.lock", "{tree}/.git/config"),
    ],
    "settings_included": monitor("{tree}/.gitconfig"),
    "settings_included_in_git": monitor("{tree}/.git/team"),
    "settings_included_twice": monitor("{tree}/.config/two"),
    "settings_included_anew": monitor("{tree}/.git/later"),  # the settings name a file that was not there
    "settings_included_on_branch": [  # the agent can check out the branch
        *monitor("{tree}/other"),
        (os.unlink, "{tree}/.git/HEAD"),
        (append, "{tree}/.git/HEAD", "ref: refs/heads/other\n"),
    ],
    "settings_of_home_path": monitor("{tree}/.gitconfig"),
    "settings_second_word": [plant("{tree}/.githooks/watch.sh")],
    "settings_of_alias": [plant("{tree}/.githooks/st")],
    "settings_with_top_level": [plant("{tree}/.githooks/st")],
    "settings_of_work_trees": monitor("{tree}/.git/config.worktree"),
    "settings_by_common_folder": [
        (shutil.copytree, "{tree}/.git", "{tree}/common"),
        *monitor("{tree}/common/config"),
        (append, "{tree}/.git/commondir", "../common\n"),
    ],
}
"""Settings that make Git run a program."""

LATER: dict[str, Sequence[Step]] = {
    "instructions": [mark("{project}/AGENTS.md")],
    "instructions_by_renamed_parent": [
        (os.rename, "{project}/.github", "{project}/github"),
        mark("{project}/.github/copilot-instructions.md"),
    ],
    "instructions_replaced": [mark("{project}/new"), (os.replace, "{project}/new", "{project}/CLAUDE.md")],
    "tasks_of_editor": [mark("{project}/.vscode/tasks.json")],
    "mcp_servers_of_agent": [mark("{home}/.copilot/mcp-config.json")],
    "new_hooks_of_agent": [mark("{home}/.copilot/hooks/hook.json")],
    "settings_of_agent": [
        mark("{home}/.copilot/aside"),
        (os.replace, "{home}/.copilot/aside", "{home}/.copilot/settings.json"),
    ],
    "program_of_agent": [mark("{home}/bin/copilot")],
    "cached_program_of_agent": [mark("{home}/.cache/copilot/pkg/program")],
    "new_cached_program": [mark("{home}/.cache/tool/program")],
    "program_on_path": [mark("{home}/.local/bin/git")],
    "python_environment": [mark("{environment}/lib/planted.pth")],
    "python_environment_by_renamed_parent": [
        (os.rename, "{environment}", "{project}/aside-environment"),
        mark("{environment}/pyvenv.cfg"),
    ],
    "settings_of_ours": [mark("{home}/.jupyter/copilot_kernel.json")],
    "kernelspec": [mark("{home}/.local/share/jupyter/kernels/ours/kernel.json")],
}
"""What runs or is obeyed later."""

SECRETS: dict[str, Sequence[Step]] = {
    "key_of_kernel": [(read_member, RUNTIME + "/kernel-1.json", "key")],
    "token_of_server": [(read_member, RUNTIME + "/jpserver-1.json", "token")],
    "cookie_secret": [(read, RUNTIME + "/jupyter_cookie_secret")],
    "ssh_key": [(read, "{home}/.ssh/id_ed25519")],
    "token_of_hub": [(os.environ.__getitem__, "JUPYTERHUB_API_TOKEN")],
    "token_of_hub_elsewhere": [(read_variable, "JUPYTERHUB_API_TOKEN", "self", "{parent}", "1")],
    "environment_of_another": [(read_variable, "SECRET", "{helper}")],
    "shared_memory": [(read_segment, "{shared_memory}", "{length}")],
    "memory_of_another": [(trace, "{helper}"), FOUND],
    "root_of_another": [(read, "/proc/{helper}/root{home}/.ssh/id_ed25519")],
}

SERVICES: dict[str, Sequence[Step]] = {
    "docker": [posted("{root}/run/docker.sock")],
    "session_bus": [posted("{root}/run/bus")],
    "ssh_agent": [posted("{root}/run/ssh.sock")],
    "ssh_agent_elsewhere": [posted("{root}/sockets/ssh.sock")],  # `SSH_AUTH_SOCK` and others may name any folder
    "docker_elsewhere": [posted("{root}/sockets/docker.sock")],
    "system_bus_elsewhere": [posted("{root}/sockets/a bus")],
    "jupyter_socket": [posted(RUNTIME + "/jupyter.sock")],
    "socket_in_tmp": [posted("/tmp/{place}.sock")],
}
"""Services of the user that listen at sockets."""

WRITE_IN_HOME = "echo escaped:{name} > {home}/{name}"
ELSEWHERE: dict[str, Sequence[Step]] = {
    "folder_of_another": [mark("/proc/{helper}/cwd/from-proc")],
    "signal_to_another": [(run, "sh", "-c", "kill {victim}")],
    "core_pattern": [(run, "sh", "-c", ": >> /proc/sys/kernel/core_pattern"), FOUND],
    "device_node": [
        (run, "mknod", "-m", "600", "{project}/null", "c", "1", "3"),
        (run, "sh", "-c", ": <> {project}/null"),
        FOUND,
    ],
    "remounted_root": [(run, "unshare", "-Urm", "sh", "-c", f"mount -o remount,bind,rw /; {WRITE_IN_HOME}")],
    "unmounted_home": [(run, "unshare", "-Urm", "sh", "-c", f"umount -l {{home}}; {WRITE_IN_HOME}")],
}
"""By other processes, devices and mounts. What is written to `core_pattern` is run outside by root: only opened."""
IN_CHILD: dict[str, Sequence[Step]] = {
    "namespace_of_another": [(enter, "/proc/{helper}/ns/mnt"), mark("{root}/namespace")],
    "terminal_input": [(type_into, "{terminal}", "escaped:{name}\n")],
}
STEPS = WRITING | HOOKS | SETTINGS | LATER | SECRETS | SERVICES | ELSEWHERE


# -- attempts that are more than steps ------------------------------------------------------------------------------


def hook_by_race(place):
    """Two threads rename while a third plants."""
    tree, write = place.repository("hook_by_race"), partial(perform, place, "hook_by_race", [plant(HOOK)])

    def move():
        for _ in range(100):
            for one, other in ((".git/hooks", ".git/h"), (".git", ".g"), (".g", ".git"), (".git/h", ".git/hooks")):
                with suppress(OSError):
                    os.rename(tree / one, tree / other)

    movers = [threading.Thread(target=move) for _ in range(2)]
    for mover in movers:
        mover.start()
    while any(mover.is_alive() for mover in movers):
        with suppress(OSError):
            write()
    if (tree / ".g/HEAD").exists():
        shutil.rmtree(tree / ".git", ignore_errors=True)
        os.rename(tree / ".g", tree / ".git")
    write()


LISTEN = "import socket, sys; socket.socket(fileno=int(sys.argv[1])).accept()"


def detached_process(place):
    """It answers at a socket in the project for as long as it lives."""
    os.chdir(place.project)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("daemon.sock")
    listener.listen()
    subprocess.Popen(
        [sys.executable, "-c", LISTEN, str(listener.fileno())],
        pass_fds=[listener.fileno()], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    listener.close()


ATTEMPTS: dict[str, Attempt] = {
    **{name: partial(perform, name=name, steps=steps) for name, steps in STEPS.items()},
    **{name: partial(perform_in_child, name=name, steps=steps) for name, steps in IN_CHILD.items()},
    "hook_by_race": hook_by_race,
    "detached_process": detached_process,
}
