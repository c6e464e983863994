"""What the demo agent remembers of a session: a JSONL file, one line for everything that happens, written at once.

So whatever was said before a `kill -9` is there afterwards. A session has no file before its first prompt.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from .protocol import Json
from .script import texts
from .switches import home

_ID = re.compile(r"[0-9a-f-]{36}")
BLOCK = 4096
"""Bytes of a journal that are read from its end at first."""


class Journal:
    """The file of the session `id`; `begin` makes it, and what is written before that is dropped.

    Where it cannot be written, such as in a read-only home folder, the session goes on and is not kept.
    """

    def __init__(self, id: str) -> None:
        self.path = _folder() / f"{id}.jsonl"
        self._file: int | None = None
        self._failed = False

    def begin(self, id: str, cwd: str, chosen: Mapping[str, Any]) -> None:
        """The next `write` is kept. Continues a file that is there."""
        if self._file is None and not self._failed:
            with self._giving_up():
                self._begin(id, cwd, chosen)

    def write(self, **record: Any) -> None:
        if self._file is not None:
            line = json.dumps({"at": datetime.now(UTC).isoformat(), **record}) + "\n"
            with self._giving_up():
                os.write(self._file, line.encode())

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = None

    def _begin(self, id: str, cwd: str, chosen: Mapping[str, Any]) -> None:
        _folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if self.path.stat().st_size == 0:
            return self.write(session=id, cwd=cwd, chosen=dict(chosen))
        os.write(self._file, b"\n")  # the line before this may have been cut off

    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._failed = True
            self.close()
            sys.stderr.write(f"demo agent: sessions are not kept: {error}\n")


@dataclass(slots=True)
class Past:
    """A session as its file tells it."""

    id: str
    cwd: str = ""
    updated: str = ""
    chosen: Json = field(default_factory=dict)
    prompts: list[str] = field(default_factory=list)
    records: list[Json] = field(default_factory=list)

    @property
    def title(self) -> str:
        return title(self.prompts)

    def add(self, record: Json) -> None:
        self.updated = record["at"]
        self.cwd = record.get("cwd", self.cwd)
        self.chosen |= record.get("chosen", {})
        if "prompt" in record:
            self.prompts.append("\n".join(texts(record["prompt"])))
        self.records.append(record)


def title(prompts: list[str]) -> str:
    """What a session is called."""
    first_line = prompts[0].strip().partition("\n")[0]
    return f"Demo: {first_line[:50]}"


def recall(id: Any) -> Past | None:
    """The session of that id, if there is a file with a prompt in it."""
    if not isinstance(id, str) or not _ID.fullmatch(id):
        return None
    past = Past(id)
    for record in _read(_folder() / f"{id}.jsonl"):
        past.add(record)
    return past if past.prompts else None


@dataclass(frozen=True, slots=True)
class Told:
    """What a list says of a session."""

    id: str
    cwd: str
    title: str
    updated: str


def list_all() -> list[Told]:
    """All of them, the newest first. Of a file its two ends are read, and only when it is another one than before."""
    found = filter(None, map(_now, _folder().glob("*.jsonl")))
    return sorted(found, key=lambda told: (told.updated, told.id), reverse=True)


def forget(id: Any) -> None:
    """Delete the file of the session `id`, if there is one."""
    if isinstance(id, str) and _ID.fullmatch(id):
        with suppress(FileNotFoundError, NotADirectoryError):
            (_folder() / f"{id}.jsonl").unlink()


def _folder() -> Path:
    return home() / "sessions"


def _read(path: Path) -> Iterator[Json]:
    with suppress(FileNotFoundError, NotADirectoryError), path.open("rb") as lines:
        yield from _records(lines)


def _records(lines: Iterable[bytes]) -> Iterator[Json]:
    """A line that was cut off in the middle costs itself."""
    for line in lines:
        with suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict) and "at" in record:
                yield record


def _now(path: Path) -> Told | None:
    try:
        is_now = path.stat()
    except FileNotFoundError:
        return None
    return _told(path, is_now.st_mtime_ns, is_now.st_size)


@lru_cache(maxsize=10_000)
def _told(path: Path, changed: int, size: int) -> Told | None:
    """`changed` and `size` are the file's; None where there is no prompt in it."""
    past = Past(path.stem)
    with suppress(FileNotFoundError), path.open("rb") as file:
        for record in _records(iter(file.readline, b"")):
            past.add(record)
            if past.prompts and _ID.fullmatch(past.id):
                return Told(past.id, past.cwd, past.title, _last(file).get("at", past.updated))
    return None


def _last(file: BinaryIO) -> Json:
    """The last record: more and more is read from the file's end until a whole one is there."""
    size, block = file.seek(0, os.SEEK_END), BLOCK
    while True:
        file.seek(max(0, size - block))
        lines = file.read(block).split(b"\n")
        for record in _records(reversed(lines[block < size :])):
            return record
        if block >= size:
            return {}
        block *= 4
