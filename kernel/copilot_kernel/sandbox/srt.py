"""Anthropic's sandbox runtime (`srt`, npm `@anthropic-ai/sandbox-runtime`): its settings and its command line.

On Linux it gives a network namespace in which only its proxy is reached, and bubblewrap with our mounts runs inside. On
macOS it holds the files, too.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..system.files import user_ids
from .mounts import Access, Mount, parents
from .probe import BUBBLEWRAP, SandboxTools, SandboxUnavailable

LOOPBACK = ("127.0.0.1", "localhost")
USER = "1000"
"""User as whom `srt` sees root on Linux: for root it drops what another bubblewrap inside needs."""
SOCKETS = "/tmp"
"""The folder of the settings must be in it: `srt` makes sockets there, whose paths must be short."""
_GLOB = frozenset("*?[]")
Json = dict[str, Any]


def linux_settings(tools: SandboxTools, hosts: Sequence[str]) -> Json:
    """No rules for files: bubblewrap inside has them. `rg` would only be needed for such rules, but is looked for."""
    files = {"disabled": True, "denyRead": [], "allowWrite": [], "denyWrite": []}
    network = _network(hosts) | {"allowAllUnixSockets": True}
    programs = {"bwrapPath": tools.bubblewrap, "socatPath": tools.socat, "ripgrep": {"command": "true"}}
    return {"network": network, "filesystem": files, **programs}


def macos_settings(hosts: Sequence[str], mounts: Iterable[Mount]) -> Json:
    """Return `mounts` as rules of `srt` on macOS; where these cannot say the same, they are stricter.

    A private folder does not stand in the place of another one, and what is denied inside a writable folder stays
    denied below, too. Raises SandboxUnavailable for a path that would be read as a pattern.
    """
    paths: dict[Access, list[str]] = {access: [] for access in Access}
    for mount in mounts:
        path = mount.source if mount.source and mount.access is not Access.HIDDEN else mount.path
        if _GLOB & set(path):
            hint = "Use folders without *, ?, [ and ] in their names."
            raise SandboxUnavailable(f"srt would read {path} as a pattern", hint)
        paths[mount.access].append(path)
    read, writable, hidden = paths[Access.READ], paths[Access.WRITE], paths[Access.HIDDEN]
    files = {
        "denyRead": hidden,
        "allowRead": [*read, *writable],
        "allowWrite": writable,
        "denyWrite": [path for path in (*read, *hidden) if not {path, *parents(path)}.isdisjoint(writable)],
    }
    return {"network": _network(hosts), "filesystem": files}


def linux_script(tools: SandboxTools, hosts: Sequence[str], inner: Sequence[str]) -> str:
    """A shell script for the namespace: starts bubblewrap with the arguments `inner` and its own.

    Clients reach loopback without a proxy, so each listed port of it is forwarded through the proxy.
    """
    account = '"$CLOUDSDK_PROXY_USERNAME:$CLOUDSDK_PROXY_PASSWORD"'
    relays = (
        f"{shlex.quote(tools.socat)} TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr "
        f"PROXY:localhost:{host}:{port},proxyport=3128,proxyauth={account} >/dev/null 2>&1 &"
        for host, _, port in (name.partition(":") for name in dict.fromkeys(hosts))
        if host in LOOPBACK
    )
    user, group = user_ids()
    # `srt` has made the namespace of processes: the operating system's kernel may refuse another /proc.
    around = ("--uid", str(user), "--gid", str(group), "--bind", "/proc", "/proc")
    return "\n".join((*relays, f'exec {shlex.join((tools.bubblewrap, *BUBBLEWRAP, *around, *inner))} "$@"\n'))


MACOS_SCRIPT = 'export NO_PROXY= no_proxy=; cd "$2" && shift 3 && exec "$@"\n'
"""Takes the arguments of bubblewrap that `Sandbox.command` adds. All of loopback is behind the proxy here."""


def command(
    tools: SandboxTools, hosts: Sequence[str], folder: Path, mounts: Iterable[Mount] = (), inner: Sequence[str] = ()
) -> tuple[str, ...]:
    """The command, which takes more arguments of bubblewrap. Writes what it needs into `folder`.

    `inner` are the arguments of bubblewrap for `mounts`, which is not there on macOS. Raises SandboxUnavailable.
    """
    is_linux = bool(tools.bubblewrap)
    settings = linux_settings(tools, hosts) if is_linux else macos_settings(hosts, mounts)
    (folder / "srt.json").write_text(json.dumps(settings), "utf-8")
    (folder / "start").write_bytes(os.fsencode(linux_script(tools, hosts, inner) if is_linux else MACOS_SCRIPT))
    around = _around(tools.bubblewrap) if is_linux else ()
    return (*around, tools.srt, "--settings", str(folder / "srt.json"), "--", "/bin/sh", str(folder / "start"))


def environment(tools: SandboxTools, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of `srt`, which runs outside: the agent chooses nothing in it. Sockets go to `folder`."""
    own = {"TMPDIR": str(folder)} if tools.bubblewrap else {"CLAUDE_CODE_TMPDIR": str(make_temporary(folder))}
    return {**environ, "PATH": tools.path, **own}


def make_temporary(folder: Path) -> Path:
    """Make the folder of the agent's temporary files on macOS."""
    (made := folder / "tmp").mkdir(exist_ok=True)
    return made


def _network(hosts: Sequence[str]) -> Json:
    return {"allowedDomains": list(dict.fromkeys(hosts)), "deniedDomains": [], "strictAllowlist": True}


def _around(bubblewrap: str) -> tuple[str, ...]:
    """Ends `srt` when this process ends, and takes it out of the agent's folder."""
    user, group = user_ids()
    ids = ("--uid", str(user or USER), "--gid", str(group or USER))
    return (bubblewrap, "--unshare-user", *ids, "--die-with-parent", "--dev-bind", "/", "/", "--chdir", "/", "--")
