"""Change a member of the user's config file, in which everything else stays as it is.

A file that cannot be read, or that a newer version has written, is an error and is never overwritten.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import UsageError
from .kept_files import VERSION, UnknownVersion, check_version, replace_file

LOCK_SECONDS, LOCK_PAUSE_SECONDS = 2.0, 0.02
"""Time to wait for another program that is changing the config file, and between two tries."""
LOCKED = "Another program has locked {}, so nothing was saved."
_FIX_FIRST = "Fix the file first; it was not modified."


def add_to_list(name: str, item: str, file: Path) -> Path:
    """Add `item` to the list `name`, unless it is in it. See `change_setting`."""

    def added(value: Any) -> list[str]:
        items = [] if value is None else value
        if not isinstance(items, list) or not all(isinstance(each, str) for each in items):
            raise UsageError(f"{name} in {file} is not a list of strings, so nothing was saved.", _FIX_FIRST)
        return items if item in items else [*items, item]

    return change_setting(name, added, file)


def change_setting(name: str, change: Callable[[Any], Any], file: Path) -> Path:
    """Replace the value of a setting, None if the file has none, by what `change` returns, None to remove it.

    Return the path of the file, which may be a link. Blocks. Raises UsageError if the file cannot be read, understood
    or written, or if another program has locked it; it is then as it was.
    """
    from filelock import FileLock, Timeout

    file = Path(os.path.realpath(file))
    lock = file.with_name(f".{file.name}.lock")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(lock, timeout=LOCK_SECONDS, poll_interval=LOCK_PAUSE_SECONDS, thread_local=False):
            values, mode = _read(file)
            changed = {**values, name: change(values.get(name))}
            if changed[name] is None:
                del changed[name]
            if changed != values:
                replace_file(file, f"{json.dumps(changed, indent=2, ensure_ascii=False)}\n", mode)
    except Timeout as error:
        raise UsageError(LOCKED.format(file), "Try again when that program is done.") from error
    except UnknownVersion as error:
        raise UsageError(f"{error} Nothing was saved.") from error
    except UnicodeEncodeError as error:
        message = f"Cannot write {file}: a value contains an invalid character (a lone surrogate)."
        raise UsageError(message, "Remove that character.") from error
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror or error}."
        raise UsageError(message, "Check the file's permissions.") from error
    return file


def _read(file: Path) -> tuple[dict[str, Any], int]:
    """The members of the file and its mode bits; a new file is for the user alone."""
    try:
        text = file.read_text("utf-8-sig")
        values = json.loads(text, object_pairs_hook=_members) if text.strip() else {}
        mode = stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return {VERSION: 1}, 0o600
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read as JSON ({error}), so nothing was saved.", _FIX_FIRST) from error
    if not isinstance(values, dict):
        raise UsageError(f"{file} does not hold one JSON object, so nothing was saved.", _FIX_FIRST)
    check_version(values.get(VERSION, 1), file)
    return values, mode


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that occurs twice: one of the two values would be lost."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("duplicate key")
    return members
