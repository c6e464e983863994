"""Attempts to get out of the sandbox, each on what the test has made for it and can throw away (see `Place`).

An attempt returns what it has found out, which counts if it is `Place.secret`; or it leaves its mark (`escaped:NAME`)
where the test finds it from outside: in a file, in what a socket was sent, or in `effects` when the test runs Git.
"""

import ctypes
import errno
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

ATTEMPTS: dict[str, Callable[["Place"], str | None]] = {}
FOR_ROOT = {"core_pattern", "device_node", "memory_of_another", "namespace_of_another", "terminal_input"}
"""Which others cannot do without a sandbox either."""

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
    def other(self) -> Path:
        return self.home / "other"

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

    @classmethod
    def read(cls, file: Path) -> "Place":
        return cls(**json.loads(file.read_text()))

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)))


Attempt = Callable[[Place], str | None]


def attempt(function: Attempt) -> Attempt:
    ATTEMPTS[function.__name__] = function
    return function


def mark(path: Path, name: str) -> None:
    """Append, so that what was there goes on to work."""
    with path.open("a") as file:
        file.write(f"\n# escaped:{name}\n")


def script(place: Place, name: str) -> str:
    """What Git shall run outside."""
    return f"#!/bin/sh\necho escaped:{name} > {place.root}/effects/{name}\n"


def plant(path: Path, place: Place, name: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script(place, name))
    path.chmod(0o755)


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), errno.errorcode.get(ctypes.get_errno(), "?"))
    return result


# -- writing outside ------------------------------------------------------------------------------------------------


@attempt
def file_above(place):
    mark(place.home / "above", "file_above")


@attempt
def file_above_by_dots(place):
    os.chdir(place.project)
    mark(Path("../dots"), "file_above_by_dots")


@attempt
def file_beside(place):
    mark(place.other / "notes", "file_beside")


@attempt
def file_by_link(place):
    (place.project / "out").symlink_to(place.other)
    mark(place.project / "out" / "linked", "file_by_link")


@attempt
def file_of_system(place):
    mark(Path(place.root, "system.conf"), "file_of_system")


@attempt
def file_in_tmp(place):
    mark(Path("/tmp", place.name), "file_in_tmp")


@attempt
def file_in_var_tmp(place):
    mark(Path("/var/tmp", place.name), "file_in_var_tmp")


@attempt
def file_in_shared_memory(place):
    mark(Path("/dev/shm", place.name), "file_in_shared_memory")


@attempt
def shell_profile(place):
    mark(place.home / ".bashrc", "shell_profile")


@attempt
def git_settings_of_user(place):
    mark(place.home / ".gitconfig", "git_settings_of_user")


@attempt
def replaced_home(place):
    aside = place.other / "aside"
    os.rename(place.other / "movable", aside)
    mark(aside / "file", "replaced_home")


@attempt
def hard_link_outside(place):
    os.link(place.other / "linkable", place.project / "linked")
    mark(place.project / "linked", "hard_link_outside")


# -- Git ------------------------------------------------------------------------------------------------------------


@attempt
def hook_written(place):
    plant(place.repository("hook_written") / ".git/hooks/pre-commit", place, "hook_written")


@attempt
def hook_appended(place):
    hook = place.repository("hook_appended") / ".git/hooks/pre-commit"
    with hook.open("a") as file:
        file.write(script(place, "hook_appended"))


@attempt
def hook_replaced(place):
    tree = place.repository("hook_replaced")
    plant(tree / "evil", place, "hook_replaced")
    os.replace(tree / "evil", tree / ".git/hooks/pre-commit")


@attempt
def hook_by_renamed_git(place):
    tree = place.repository("hook_by_renamed_git")
    os.rename(tree / ".git", tree / ".git2")
    shutil.copytree(tree / ".git2", tree / ".git")
    plant(tree / ".git/hooks/pre-commit", place, "hook_by_renamed_git")


@attempt
def hook_by_renamed_folder(place):
    git = place.repository("hook_by_renamed_folder") / ".git"
    os.rename(git / "hooks", git / "hooks2")
    plant(git / "hooks/pre-commit", place, "hook_by_renamed_folder")


@attempt
def hook_by_renamed_parent(place):
    tree = place.repository("hook_by_renamed_parent")
    os.rename(tree, tree.with_name("aside"))
    shutil.copytree(tree.with_name("aside"), tree)
    plant(tree / ".git/hooks/pre-commit", place, "hook_by_renamed_parent")


@attempt
def hook_by_renamed_grandparent(place):
    folder = place.project / "grandparent"
    os.rename(folder, place.project / "grandparent2")
    shutil.copytree(place.project / "grandparent2", folder)
    plant(folder / "hook_by_renamed_grandparent/.git/hooks/pre-commit", place, "hook_by_renamed_grandparent")


@attempt
def hook_by_link(place):
    tree = place.repository("hook_by_link")
    plant(tree / "evil/pre-commit", place, "hook_by_link")
    shutil.rmtree(tree / ".git/hooks")
    (tree / ".git/hooks").symlink_to("../evil")


@attempt
def hook_by_hard_link(place):
    tree = place.repository("hook_by_hard_link")
    os.link(tree / ".git/hooks/pre-commit", tree / "same")
    plant(tree / "same", place, "hook_by_hard_link")


@attempt
def hook_by_exchange(place):
    tree = place.repository("hook_by_exchange")
    shutil.copytree(tree / ".git", tree / "evil")
    (tree / "evil/hooks").mkdir(exist_ok=True)
    plant(tree / "evil/hooks/pre-commit", place, "hook_by_exchange")
    exchange, here = 2, -100
    checked(libc.renameat2(here, os.fsencode(tree / "evil"), here, os.fsencode(tree / ".git"), exchange))


@attempt
def hook_by_race(place):
    """Two threads rename while a third plants."""
    tree = place.repository("hook_by_race")

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
            plant(tree / ".git/hooks/pre-commit", place, "hook_by_race")
    if (tree / ".g/HEAD").exists():
        shutil.rmtree(tree / ".git", ignore_errors=True)
        os.rename(tree / ".g", tree / ".git")
    plant(tree / ".git/hooks/pre-commit", place, "hook_by_race")


@attempt
def hook_in_new_folder(place):
    """The repository had no folder for hooks."""
    plant(place.repository("hook_in_new_folder") / ".git/hooks/pre-commit", place, "hook_in_new_folder")


@attempt
def hook_of_settings(place):
    """`core.hooksPath` names a folder of the project."""
    plant(place.repository("hook_of_settings") / "tools/hooks/pre-commit", place, "hook_of_settings")


@attempt
def hook_of_settings_in_git(place):
    plant(place.repository("hook_of_settings_in_git") / ".git/team/pre-commit", place, "hook_of_settings_in_git")


@attempt
def hook_of_settings_with_space(place):
    tree = place.repository("hook_of_settings_with_space")
    plant(tree / "tools/my hooks/pre-commit", place, "hook_of_settings_with_space")


@attempt
def hook_of_settings_by_link(place):
    """A folder on the way is a symbolic link, which leads into the project."""
    tree = place.repository("hook_of_settings_by_link")
    plant(tree / "linked/hooks/pre-commit", place, "hook_of_settings_by_link")


@attempt
def hook_by_linked_folder(place):
    """`.git/hooks` is a symbolic link to a folder of the project."""
    plant(place.repository("hook_by_linked_folder") / "linked/pre-commit", place, "hook_by_linked_folder")


@attempt
def hook_by_replaced_link(place):
    git = place.repository("hook_by_replaced_link") / ".git"
    (git / "hooks").unlink()
    plant(git / "hooks/pre-commit", place, "hook_by_replaced_link")


@attempt
def hook_of_linked_git(place):
    """`.git` is a symbolic link to a folder beside it."""
    plant(place.repository("hook_of_linked_git") / "real.git/hooks/pre-commit", place, "hook_of_linked_git")


@attempt
def hook_of_submodule(place):
    hooks = place.repository("hook_of_submodule") / ".git/modules/inner/hooks"
    mark(hooks / "pre-commit", "hook_of_submodule")


@attempt
def hook_of_work_tree(place):
    """`.git` is a file, and Git's folder is elsewhere."""
    plant(Path(place.root, "home/main/.git/hooks/pre-commit"), place, "hook_of_work_tree")


@attempt
def work_tree_redirected(place):
    tree = place.repository("work_tree_redirected")
    evil = tree / "evil"
    shutil.copytree(place.project / "plain/.git", evil)
    plant(evil / "hooks/pre-commit", place, "work_tree_redirected")
    (tree / ".git").unlink()
    (tree / ".git").write_text(f"gitdir: {evil}\n")


@attempt
def settings_with_monitor(place):
    tree = place.repository("settings_with_monitor")
    plant(tree / "evil", place, "settings_with_monitor")
    with (tree / ".git/config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = {tree}/evil\n")


@attempt
def settings_with_alias(place):
    tree = place.repository("settings_with_alias")
    plant(tree / "evil", place, "settings_with_alias")
    with (tree / ".git/config").open("a") as file:
        file.write(f"[alias]\n\tst = !{tree}/evil\n")


@attempt
def settings_by_git(place):
    tree = place.repository("settings_by_git")
    plant(tree / "evil", place, "settings_by_git")
    subprocess.run(["git", "-C", tree, "config", "core.fsmonitor", f"{tree}/evil"], check=True, capture_output=True)


@attempt
def settings_by_lock(place):
    tree = place.repository("settings_by_lock")
    plant(tree / "evil", place, "settings_by_lock")
    text = (tree / ".git/config").read_text()
    (tree / ".git/config.lock").write_text(f"{text}[core]\n\tfsmonitor = {tree}/evil\n")
    try:
        os.rename(tree / ".git/config.lock", tree / ".git/config")
    finally:
        (tree / ".git/config.lock").unlink(missing_ok=True)


@attempt
def settings_included(place):
    tree = place.repository("settings_included")
    plant(tree / "evil", place, "settings_included")
    (tree / "common.gitconfig").write_text(f"[core]\n\tfsmonitor = {tree}/evil\n")


def monitor_in(settings: Path, place: Place, name: str) -> None:
    """Have Git run what is planted, by settings that Git includes."""
    plant(place.repository(name) / "evil", place, name)
    with settings.open("a") as file:
        file.write(f"[core]\n\tfsmonitor = {place.repository(name)}/evil\n")


@attempt
def settings_included_in_git(place):
    monitor_in(place.repository("settings_included_in_git") / ".git/team", place, "settings_included_in_git")


@attempt
def settings_included_twice(place):
    monitor_in(place.repository("settings_included_twice") / "deeper/two", place, "settings_included_twice")


@attempt
def settings_included_anew(place):
    """The settings name a file that was not there."""
    monitor_in(place.repository("settings_included_anew") / ".git/later", place, "settings_included_anew")


@attempt
def settings_included_on_branch(place):
    """Which branch is checked out is for the agent to say."""
    tree = place.repository("settings_included_on_branch")
    monitor_in(tree / "other", place, "settings_included_on_branch")
    (tree / ".git/HEAD").write_text("ref: refs/heads/other\n")


@attempt
def settings_of_home_path(place):
    monitor_in(place.repository("settings_of_home_path") / "home", place, "settings_of_home_path")


@attempt
def settings_second_word(place):
    plant(place.repository("settings_second_word") / "tools/watch.sh", place, "settings_second_word")


@attempt
def settings_of_alias(place):
    plant(place.repository("settings_of_alias") / "tools/st", place, "settings_of_alias")


@attempt
def settings_with_top_level(place):
    plant(place.repository("settings_with_top_level") / "tools/st", place, "settings_with_top_level")


@attempt
def settings_of_work_trees(place):
    tree = place.repository("settings_of_work_trees")
    plant(tree / "evil", place, "settings_of_work_trees")
    (tree / ".git/config.worktree").write_text(f"[core]\n\tfsmonitor = {tree}/evil\n")


@attempt
def settings_by_common_folder(place):
    tree = place.repository("settings_by_common_folder")
    plant(tree / "monitor", place, "settings_by_common_folder")
    shutil.copytree(tree / ".git", tree / "evil")
    with (tree / "evil/config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = {tree}/monitor\n")
    (tree / ".git/commondir").write_text("../evil\n")


# -- what runs or is obeyed later -----------------------------------------------------------------------------------


@attempt
def instructions(place):
    mark(place.project / "AGENTS.md", "instructions")


@attempt
def instructions_by_renamed_parent(place):
    os.rename(place.project / ".github", place.project / "github")
    (place.project / ".github").mkdir()
    mark(place.project / ".github/copilot-instructions.md", "instructions_by_renamed_parent")


@attempt
def instructions_replaced(place):
    mark(place.project / "new", "instructions_replaced")
    os.replace(place.project / "new", place.project / "CLAUDE.md")


@attempt
def tasks_of_editor(place):
    mark(place.project / ".vscode/tasks.json", "tasks_of_editor")


@attempt
def mcp_servers_of_agent(place):
    mark(place.home / ".copilot/mcp-config.json", "mcp_servers_of_agent")


@attempt
def new_hooks_of_agent(place):
    (place.home / ".copilot/hooks").mkdir(exist_ok=True)
    mark(place.home / ".copilot/hooks/hook.json", "new_hooks_of_agent")


@attempt
def settings_of_agent(place):
    aside = place.home / ".copilot/aside"
    mark(aside, "settings_of_agent")
    os.replace(aside, place.home / ".copilot/settings.json")


@attempt
def program_of_agent(place):
    mark(place.home / "bin/copilot", "program_of_agent")


@attempt
def cached_program_of_agent(place):
    mark(place.home / ".cache/copilot/pkg/program", "cached_program_of_agent")


@attempt
def new_cached_program(place):
    (place.home / ".cache/tool").mkdir(exist_ok=True)
    mark(place.home / ".cache/tool/program", "new_cached_program")


@attempt
def program_on_path(place):
    mark(place.home / ".local/bin/git", "program_on_path")


@attempt
def program_on_path_in_project(place):
    mark(place.project / "tools/bin/git", "program_on_path_in_project")


@attempt
def python_environment(place):
    mark(Path(place.environment, "lib/planted.pth"), "python_environment")


@attempt
def python_environment_by_renamed_parent(place):
    environment = Path(place.environment)
    os.rename(environment, environment.with_name("aside-environment"))
    environment.mkdir()
    mark(environment / "pyvenv.cfg", "python_environment_by_renamed_parent")


@attempt
def settings_of_ours(place):
    mark(place.home / ".jupyter/copilot_kernel.json", "settings_of_ours")


@attempt
def kernelspec(place):
    mark(place.home / ".local/share/jupyter/kernels/ours/kernel.json", "kernelspec")


# -- secrets, and services outside ----------------------------------------------------------------------------------


def runtime(place: Place) -> Path:
    return place.home / ".local/share/jupyter/runtime"


@attempt
def key_of_kernel(place):
    return json.loads((runtime(place) / "kernel-1.json").read_text())["key"]


@attempt
def token_of_server(place):
    return json.loads((runtime(place) / "jpserver-1.json").read_text())["token"]


@attempt
def cookie_secret(place):
    return (runtime(place) / "jupyter_cookie_secret").read_text()


@attempt
def ssh_key(place):
    return (place.home / ".ssh/id_ed25519").read_text()


@attempt
def token_of_hub(place):
    return os.environ["JUPYTERHUB_API_TOKEN"]


@attempt
def token_of_hub_elsewhere(place):
    """In what this process or one above it was started with."""
    for pid in ("self", os.getppid(), 1):
        with suppress(OSError):
            for pair in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                if pair.startswith(b"JUPYTERHUB_API_TOKEN="):
                    return pair.partition(b"=")[2].decode()
    raise LookupError


def post(path: Path, name: str) -> None:
    """To a socket at which the test listens."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        os.chdir(path.parent)  # those of sockets must be short
        client.connect(path.name)
        client.sendall(f"escaped:{name}".encode())


@attempt
def docker(place):
    post(place.run / "docker.sock", "docker")


@attempt
def session_bus(place):
    post(Path(os.environ["DBUS_SESSION_BUS_ADDRESS"].partition("=")[2]), "session_bus")


@attempt
def ssh_agent(place):
    post(place.run / "ssh.sock", "ssh_agent")


@attempt
def ssh_agent_elsewhere(place):
    """`SSH_AUTH_SOCK` and other variables may name any folder."""
    post(Path(place.root, "sockets/ssh.sock"), "ssh_agent_elsewhere")


@attempt
def docker_elsewhere(place):
    post(Path(place.root, "sockets/docker.sock"), "docker_elsewhere")


@attempt
def system_bus_elsewhere(place):
    post(Path(place.root, "sockets/a bus"), "system_bus_elsewhere")


@attempt
def jupyter_socket(place):
    post(runtime(place) / "jupyter.sock", "jupyter_socket")


@attempt
def socket_in_tmp(place):
    post(place.socket_in_tmp, "socket_in_tmp")


@attempt
def shared_memory(place):
    id = checked(libc.shmget(place.shared_memory, 0, 0))
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(id, None, 0o10000)
    found = ctypes.string_at(address, len(place.secret)).decode()
    libc.shmdt(ctypes.c_void_p(address))
    return found


# -- other processes, devices, mounts -------------------------------------------------------------------------------


@attempt
def environment_of_another(place):
    return Path(f"/proc/{place.helper}/environ").read_bytes().partition(b"SECRET=")[2].partition(b"\0")[0].decode()


@attempt
def root_of_another(place):
    return Path(f"/proc/{place.helper}/root", *(place.home / ".ssh/id_ed25519").parts[1:]).read_text()


@attempt
def folder_of_another(place):
    mark(Path(f"/proc/{place.helper}/cwd/from-proc"), "folder_of_another")


@attempt
def memory_of_another(place):
    """`ptrace` (PTRACE_ATTACH)."""
    checked(libc.ptrace(16, place.helper, None, None))
    os.waitpid(place.helper, 0x40000000)
    libc.ptrace(17, place.helper, None, None)
    return place.secret


@attempt
def signal_to_another(place):
    os.kill(place.victim, signal.SIGTERM)


@attempt
def namespace_of_another(place):
    if os.fork() == 0:
        try:
            with open(f"/proc/{place.helper}/ns/mnt") as namespace:
                checked(libc.setns(namespace.fileno(), 0))
            mark(Path(place.root, "namespace"), "namespace_of_another")
        finally:
            os._exit(0)
    os.wait()


@attempt
def core_pattern(place):
    """Only opened: what is written there is run outside, by root."""
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    return place.secret


@attempt
def device_node(place):
    node = place.project / "null"
    os.mknod(node, 0o600 | 0o020000, os.makedev(1, 3))
    os.close(os.open(node, os.O_RDWR))
    return place.secret


def in_own_namespaces(place: Place, command: str, name: str) -> None:
    write = f"echo escaped:{name} > {place.home}/{name}"
    subprocess.run(["unshare", "-Urm", "sh", "-c", f"{command}; {write}"], check=True, capture_output=True)


@attempt
def remounted_root(place):
    in_own_namespaces(place, "mount -o remount,bind,rw /", "remounted_root")


@attempt
def unmounted_home(place):
    in_own_namespaces(place, f"umount -l {place.home}", "unmounted_home")


@attempt
def terminal_input(place):
    """TIOCSTI: what is typed into a terminal of somebody else."""
    if os.fork() == 0:
        try:
            os.setsid()
            terminal = os.open(place.terminal, os.O_RDWR)
            for byte in b"escaped:terminal_input\n":
                fcntl.ioctl(terminal, termios.TIOCSTI, bytes([byte]))
        finally:
            os._exit(0)
    os.wait()


LISTEN = "import socket, sys; socket.socket(fileno=int(sys.argv[1])).accept()"


@attempt
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
