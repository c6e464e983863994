"""A rule that the user wants to keep goes into the user's own config file, which loses nothing by it."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..config import user_file
from ..errors import UsageError

NEW = 0o600
"""Mode bits of a file that was not there."""
PATIENCE, PAUSE = 2.0, 0.02
"""Seconds in all, and between two tries, for which a lock of another program's is waited for."""


def keep(kind: str, rule: str, file: Path | None = None) -> Path:
    """Add `rule` to the list `kind` of the config file, and return which file that is.

    Every other member stays, and so do the mode bits and a link. Raises UsageError if the file cannot be read or
    written, or if what is in it is not understood, or if another
    program holds its folder: it is then as it was.
    """
    file = Path(os.path.realpath(file or user_file()))
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(file.parent):
            _add(kind, rule, file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}.", "Check who may write it.") from error
    return file


def _add(kind: str, rule: str, file: Path) -> None:
    values, mode = _read(file)
    rules = values.setdefault(kind, [])
    if not isinstance(rules, list) or not all(isinstance(each, str) for each in rules):
        raise UsageError(f"{kind} in {file} is no list of texts, so the rule was not added.", _MEND)
    if rule not in rules:
        rules.append(rule)
        _replace(file, values, mode)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Another kernel that adds a rule at the same time waits, but not for ever."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise UsageError(f"Another program holds {folder}, so the rule was not added.", _LATER) from error
        time.sleep(PAUSE)  # in a thread of its own; a blocking flock could not be given up


_LATER = "Add it again when that program is done."
_MEND = "Mend the file first; nothing in it was changed."


def _read(file: Path) -> tuple[dict[str, Any], int]:
    try:
        text = file.read_text("utf-8")
        values = json.loads(text, object_pairs_hook=_members) if text.strip() else {}
        mode = stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return {}, NEW
    except ValueError as error:
        raise UsageError(f"{file} cannot be read as JSON ({error}), so the rule was not added.", _MEND) from error
    if not isinstance(values, dict):
        raise UsageError(f"{file} does not hold one JSON object, so the rule was not added.", _MEND)
    return values, mode


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name that stands there twice, one would be lost."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return members


def _replace(file: Path, values: dict[str, Any], mode: int) -> None:
    """Wholly or not at all: a temporary file beside it takes its place."""
    descriptor, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(values, stream, indent=2, ensure_ascii=False)
            stream.write("\n")
            os.fchmod(stream.fileno(), mode)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
