"""JSON files that outlive a process. Each says its version; one of an unknown version is neither used nor overwritten.

A file without a version is of the first one. New members do not change the version, since unknown ones are kept; a
member that changes its meaning or goes does. So kernels of two versions can use one home folder.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

VERSION = "version"  # the member that holds it
UNKNOWN = "{} has version {}, and this Copilot Kernel reads only version {}. It stays as it is. Update Copilot Kernel."


class UnknownVersion(OSError):
    """A newer Copilot Kernel has written the file: it cannot be read, and must not be overwritten."""


def check_version(found: object, what: object, known: int = 1) -> None:
    """Raise UnknownVersion unless `what` has a known version, here `found`."""
    if type(found) is not int or not 1 <= found <= known:
        raise UnknownVersion(UNKNOWN.format(what, json.dumps(found), known))


def read_file(file: Path, known: int = 1) -> dict[str, Any]:
    """Return the members of `file` but its version. Raises OSError, ValueError and RecursionError."""
    values = json.loads(file.read_text("utf-8-sig"))
    if not isinstance(values, dict):
        raise ValueError("must contain a JSON object")
    check_version(values.pop(VERSION, 1), file, known)
    return values


def write_file(file: Path, values: Mapping[str, Any], version: int = 1, *, sync: bool = True) -> None:
    """Set these members of `file`, which only the user can read. Raises OSError."""
    members = {VERSION: version, **_present(file, version), **values}
    replace_file(file, json.dumps(members), 0o600, sync=sync)


def remove_file(file: Path) -> None:
    """Remove `file`, if it is there. Raises OSError."""
    _present(file, 1)
    file.unlink(missing_ok=True)


def _present(file: Path, known: int) -> dict[str, Any]:
    """Return the members, none of a file that is damaged or missing."""
    with suppress(FileNotFoundError, ValueError, RecursionError):
        return read_file(file, known)
    return {}


def replace_file(file: Path, text: str, mode: int, *, sync: bool = True) -> None:
    """Replace `file` wholly or not at all, by a temporary file beside it. With `sync`, it survives a loss of power."""
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
