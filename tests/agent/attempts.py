"""Attempts to get out of the sandbox, each on what the test has made for it and can throw away (see `steps.Place`).

Most are a row of `STEPS`: functions, each with its arguments, in which what is in braces stands for a value of `Place`.

An attempt returns what it has found out, which counts if it is `Place.secret`; or it leaves its mark (`escaped:NAME`)
where the test finds it from outside: in a file, in what a socket was sent, or in `effects` when the test runs Git.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from .steps import (
    Attempt,
    Step,
    append,
    enter,
    exchange,
    perform,
    perform_in_child,
    post,
    read,
    read_member,
    read_segment,
    read_variable,
    rename_lock,
    run,
    trace,
    type_into,
    write_program,
)

FOR_ROOT = {"core_pattern", "device_node", "memory_of_another", "namespace_of_another", "terminal_input"}
"""What other users cannot do without a sandbox either."""


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
