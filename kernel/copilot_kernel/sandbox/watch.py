"""Watch Git's folders while an agent runs: Git outside may follow what is created there before the turn ends."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event

from .held import Held
from .protected import GIT_REDIRECTIONS
from .sweep import Sweep

STEP_MS, DEBOUNCE_MS = 20, 60
"""Changes are gathered until one step brings no more, and no longer than the second."""
FIRST_MS = 100
"""After this, at the latest, it is known that changes are seen."""
_log = logging.getLogger(__name__)


def watch(sweep: Sweep, stop: Event) -> None:
    """Rename at once what Git would follow, and have it reported, until `stop` is set.

    Where that cannot be, it returns at once, and the sweep reports it. Blocks: it is for a thread of its own.
    """
    folders = sorted(_folders(sweep.held))
    if not folders:
        return
    try:
        _react(sweep, folders, stop)
    except (ImportError, OSError, RuntimeError, ValueError) as error:  # also of the library's compiled part
        _log.warning("Git's folders cannot be watched: %s", error)
        sweep.unwatched()


def _react(sweep: Sweep, folders: Sequence[Path], stop: Event) -> None:
    import watchfiles  # on Linux only

    def is_created(change: watchfiles.Change, path: str) -> bool:
        return change is watchfiles.Change.added and sweep.is_removed(Path(path))

    missed: Iterable[Path] = _existing(sweep.held)  # since the agent was started
    for changes in watchfiles.watch(
        *folders, watch_filter=is_created, recursive=False, step=STEP_MS, debounce=DEBOUNCE_MS, stop_event=stop,
        rust_timeout=FIRST_MS, yield_on_timeout=True,
    ):  # fmt: skip
        sweep.react(sorted({*(Path(path) for _, path in changes), *missed}))
        missed = ()


def _folders(held: Held) -> Iterator[Path]:
    """That exist, can be read, and have names that the library takes."""
    for folder in {*held.git_folders, *(path.parent for path, is_removed in held.expected.items() if is_removed)}:
        if os.path.isdir(folder) and os.access(folder, os.R_OK) and not _is_undecodable(folder):
            yield folder


def _existing(held: Held) -> Iterator[Path]:
    paths = (folder / name for folder in held.git_folders for name in GIT_REDIRECTIONS)
    return (path for path in (*paths, *held.expected) if os.path.lexists(path))


def _is_undecodable(path: Path) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in str(path))
