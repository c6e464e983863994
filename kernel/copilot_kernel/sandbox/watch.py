"""Watch Git's folders while an agent runs: Git outside may follow what is created there before the turn ends."""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Event

from .protected import GIT_FILES, GIT_REDIRECTIONS
from .sweep import Sweep

STEP_MS, DEBOUNCE_MS = 10, 50
"""Changes are gathered until one step brings no more, and no longer than the second."""
_log = logging.getLogger(__name__)


def watch(sweep: Sweep, stop: Event) -> None:
    """Remove at once what Git would follow, and have it reported, until `stop` is set.

    Without inotify it returns at once. Blocks: it is for a thread of its own.
    """
    import watchfiles

    def is_obeyed(change: watchfiles.Change, path: str) -> bool:
        return change is watchfiles.Change.added and Path(path).name in GIT_REDIRECTIONS

    folders = {path.parent for path in sweep.held.paths if path.name in GIT_FILES}
    try:
        for changes in watchfiles.watch(
            *folders, watch_filter=is_obeyed, recursive=False, step=STEP_MS, debounce=DEBOUNCE_MS, stop_event=stop
        ):
            sweep.react(sorted({Path(path) for _, path in changes}))
    except (OSError, RuntimeError) as error:  # the latter by the library's compiled part
        _log.warning("New files in .git are looked for at the end of each turn only: %s", error)
