"""The last turns of batch runs, in the state folder: nbclient and papermill name neither the notebook nor its cells.

A prompt is known by its folder, its cell's source and how many cells with prompts the kernel has run before it. The
notebook cannot be read instead: papermill clears its outputs on disk before it starts the kernel.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ..acp.lenient import as_dict, as_dicts, as_list
from ..chat.session_store import replace_file
from .cell import Cell, Output

MAX_CELLS = 200
"""Those that ran last are remembered."""
MAX_CHARACTERS = 2_000_000
"""Of one cell's answers; longer ones are not recorded."""


class BatchTurn(NamedTuple):
    """The files that a turn changed; its answer, unless that is not recorded."""

    files: tuple[str, ...]
    outputs: tuple[Output, ...] = ()


class BatchTurns:
    """Those of one kernel's cells, and of the same cells in kernels before it. Nothing raises."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "batch"
        self._keys: dict[str, str] = {}

    def key(self, cell: Cell, folder: str) -> str:
        """Names the cell, which is the next one with a prompt if it has not been named yet."""
        if cell.request_id not in self._keys:
            place = json.dumps([folder, len(self._keys), cell.source])
            self._keys[cell.request_id] = sha256(place.encode("utf-8", "surrogatepass")).hexdigest()
        return self._keys[cell.request_id]

    def read(self, key: str) -> list[BatchTurn]:
        """The turns of a cell's last run, one for each of its prompts."""
        try:
            turns = as_dicts(json.loads(self._file(key).read_bytes()))
        except (OSError, ValueError, RecursionError):
            return []
        return [_turn(as_list(turn.get("files")), as_list(turn.get("outputs"))) for turn in turns]

    def write(self, key: str, turns: Sequence[BatchTurn]) -> None:
        """Remember a run; only the user can read it."""
        with suppress(OSError):
            if not any(turn.files for turn in turns):
                self._file(key).unlink(missing_ok=True)
                return
            text = _text(turns)
            if len(text) > MAX_CHARACTERS:
                text = _text([BatchTurn(turn.files) for turn in turns])
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._file(key), text, 0o600, sync=False)
            self._forget()

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _forget(self) -> None:
        """The oldest."""
        files = sorted(self._folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for file in files[:-MAX_CELLS]:
            file.unlink(missing_ok=True)


def _text(turns: Sequence[BatchTurn]) -> str:
    return json.dumps([turn._asdict() for turn in turns], default=str)


def _turn(files: Sequence[object], outputs: Sequence[object]) -> BatchTurn:
    pairs = (pair for each in outputs if len(pair := as_list(each)) == 2)
    shown = tuple((as_dict(data), as_dict(metadata)) for data, metadata in pairs)
    return BatchTurn(tuple(path for path in files if isinstance(path, str) and path), shown)
