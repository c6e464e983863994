"""The broker's socket: a folder that only the user can enter, a socket of the same kind, and who is there."""

from __future__ import annotations

import os
import socket
import stat
import struct
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ..errors import AgentStartFailed
from ..system.files import user_ids

FOLDER = "copilot-agent"
SHORT = Path("/tmp")
"""Anyone can create a folder here first: `private_folder` refuses it."""
MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107
BACKLOG = 128

NOT_ON_WINDOWS = "Agents cannot be shared on Windows"
OFF = "Or set COPILOT_KERNEL_AGENT_SHARING=off."


def socket_path(runtime: Path, digest: str) -> Path:
    """Return the path where the broker of a key listens, and make its folder. Raises AgentStartFailed.

    The folder lies in `runtime`, or in `SHORT` if a path in `runtime` is too long for a socket.
    """
    if sys.platform == "win32":
        raise AgentStartFailed(NOT_ON_WINDOWS, "Set COPILOT_KERNEL_AGENT_SHARING=off.")
    path = runtime / FOLDER / f"{digest}.sock"
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        path = SHORT / f"{FOLDER}-{sha256(os.fsencode(runtime)).hexdigest()[:16]}" / path.name
    private_folder(path.parent)
    return path


def private_folder(folder: Path) -> Path:
    """`folder`, a real one of this user that nobody else can enter. Raises AgentStartFailed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise AgentStartFailed(f"The agent cannot be shared: {folder}: {error.strerror}", OFF) from error
    is_private = (
        stat.S_ISDIR(found.st_mode) and found.st_uid == user_ids()[0] and not stat.S_IMODE(found.st_mode) & 0o077
    )
    if not is_private:
        hint = f"Delete it; the next agent creates it with mode 0700. {OFF}"
        raise AgentStartFailed(f"The agent cannot be shared: {folder} is not a folder that only you can use", hint)
    return folder


def listen(path: Path) -> socket.socket:
    """A new socket at `path`, in place of one that is left over. Raises OSError."""
    with suppress(FileNotFoundError):
        path.unlink()
    listener = unix_socket()
    try:
        listener.bind(os.fspath(path))
        path.chmod(0o600)  # nobody else gets into the folder meanwhile
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def unix_socket() -> socket.socket:
    """A socket of this machine alone, which is not connected."""
    if sys.platform == "win32":
        raise NotImplementedError
    return socket.socket(socket.AF_UNIX)


def is_own(peer: socket.socket) -> bool:
    """Return True if the operating system says that this user runs the process at the other end."""
    try:
        return _uid(peer) == user_ids()[0]
    except (OSError, AttributeError, struct.error):
        return False


def _uid(peer: socket.socket) -> int | None:
    if sys.platform == "linux":
        return int(struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
    if sys.platform == "darwin":
        _version, uid = struct.unpack_from("2I", peer.getsockopt(0, 1, 128))  # SOL_LOCAL, LOCAL_PEERCRED: xucred
        return int(uid)
    return None
