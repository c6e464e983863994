"""What the sandbox could not hold, at the end of a turn: protected files that were created, or replaced outside.

What Git would run or follow outside is removed if it was created inside; everything else is only reported.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock

from ..programs import real
from . import live_mounts
from .git_settings import text_of
from .held import Finding, Held, Kind, link_target, looks_of
from .protected import GIT_REDIRECTIONS, Search
from .removal import remove, set_aside

END_SECONDS, POLL_SECONDS = 2.0, 0.01
MAX_SET_ASIDE = 3
"""Files that had one name: an agent may create it again and again, the user does not."""
EVENT_SECONDS = 1.0
"""Until `react` has heard of what `findings` has removed."""


class Sweep:
    """Looks at what became of `held`. Reads and writes the disk, where the agent may be busy.

    With `sets_aside`, what would be removed is renamed, since it may be the user's.
    """

    def __init__(self, held: Held, *, sets_aside: bool = False) -> None:
        self.held = held
        self._remove = self._set_aside if sets_aside else self._delete
        self._gone: set[str] = set()
        # What was told already, with what it looked like then.
        self._told: dict[Path, str] = dict(held.watched)
        self._warnings = list(held.warnings)
        self._is_cut_told = False
        # What `react` has found, in order, to be reported by `findings`, which runs in another thread.
        self._news: dict[Finding, None] = {}
        self._set_aside_before: Counter[Path] = Counter()
        # What `findings` has removed before `react` has heard that it was created.
        self._removed: dict[Path, float] = {}
        self._lock = Lock()

    def replaced(self) -> list[Path]:
        """The protected files that are held no more while something runs inside, until its end. Raises OSError."""
        lost = live_mounts.lost(self.held.handover, set(self.held.points) - self._gone)
        self._gone |= {point for point in lost if not os.path.lexists(point)}
        return [path for path in self.held.paths if os.path.realpath(path) in lost - self._gone]

    def react(self, created: Iterable[Path]) -> None:
        """Rename what was created in Git's folders, and report it the next time, even if it is gone again.

        It is not deleted: between two turns, the user's own Git may have made it.
        """
        with self._lock:
            for path in filter(self.is_removed, created):
                removed_before = time.monotonic() - self._removed.pop(path, -math.inf)
                if os.path.lexists(path):
                    if not (self._is_held(path) or _is_harmless(path)):
                        self._set_aside_before[path] += 1
                        get_rid = self._set_aside if self._set_aside_before[path] <= MAX_SET_ASIDE else self._delete
                        self._news[get_rid(path) or self._finding(path, Kind.UNREMOVED)] = None
                elif removed_before > EVENT_SECONDS:
                    self._news[self._finding(path, Kind.VANISHED)] = None

    def unwatched(self) -> None:
        """Report that nobody calls `react`."""
        with self._lock:
            self._news[Finding("the project", Kind.UNWATCHED)] = None

    def findings(self) -> list[Finding]:
        """What is news since the last time, the worst first. Raises OSError."""
        with self._lock:
            found = dict.fromkeys((*self._news, *self._found()))
            self._news.clear()
            return list(found)

    def _found(self) -> list[Finding]:
        held = self.held
        search = Search(held.project, held.git_folder, held.git_folders)
        found = [*self._replaced(), *self._created(search), *self._unsearched(search), *self._warnings]
        self._warnings.clear()
        return found

    def last_findings(self) -> list[Finding]:
        """`findings`, once nothing runs inside: what bubblewrap has left ends a moment after it. Raises OSError."""
        deadline = time.monotonic() + END_SECONDS
        while live_mounts.is_entered(self.held.handover) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return self.findings()

    def _replaced(self) -> Iterator[Finding]:
        for path in self.replaced():
            if path not in self._told:
                self._told[path] = looks_of(path)
                yield self._finding(path, Kind.REPLACED)

    def _created(self, search: Search) -> Iterator[Finding]:
        more = filter(os.path.lexists, (*self.held.watched, *self.held.expected))
        for path in dict.fromkeys((*search.git, *search.others, *more)):
            looks = looks_of(path)
            if self._is_held(path) or self._told.get(path) == looks or _is_harmless(path):
                continue
            is_obeyed = (path in search.git or path in self.held.expected) and self.is_removed(path)
            # What was there at the start and was removed outside may be back from outside, too.
            get_rid = self._set_aside if path in self.held.paths else self._remove
            if is_obeyed and (removed := get_rid(path)):
                self._told.pop(path, None)
                self._removed[path] = time.monotonic()
                yield removed
            else:
                again = Kind.CHANGED if path in self._told else Kind.CREATED
                self._told[path] = looks
                yield self._finding(path, Kind.UNREMOVED if is_obeyed else again)

    def _delete(self, path: Path) -> Finding | None:
        return self._finding(path, Kind.REMOVED) if remove(path) else None

    def _set_aside(self, path: Path) -> Finding | None:
        aside = set_aside(path)
        return Finding(f"{self.held.name(path)} to {self.held.name(aside)}", Kind.SET_ASIDE) if aside else None

    def is_removed(self, path: Path) -> bool:
        """Whether Git would run or follow what is created there; not for what was there and could not be held."""
        is_obeyed = path.name in GIT_REDIRECTIONS or self.held.expected.get(path, False)
        return is_obeyed and path not in self.held.watched

    def _unsearched(self, search: Search) -> Iterator[Finding]:
        for folder in search.unsearched:
            if folder not in self._told and folder not in self.held.unsearched:
                self._told[folder] = ""
                yield self._finding(folder, Kind.UNSEARCHED)
        if search.is_cut and not self._is_cut_told:
            self._is_cut_told = True
            yield Finding("The project", Kind.CUT)

    def _finding(self, path: Path, kind: Kind) -> Finding:
        return Finding(self.held.name(path), kind)

    def _is_held(self, path: Path) -> bool:
        return self.held.paths.get(path) == link_target(path) and str(path) not in self._gone


def _is_harmless(path: Path) -> bool:
    """Whether Git makes such a thing by itself: a folder of samples, or the way from a work tree to its repository.

    False if that cannot be seen.
    """
    try:
        if path.name == "commondir" and path.parent.parent.name == "worktrees":
            own = path.parent
            return not path.is_symlink() and path.is_file() and real(own / text_of(path).strip()) == own.parent.parent
        is_folder = path.name == "hooks" and path.is_dir() and not path.is_symlink()
        return is_folder and all(path.suffix == ".sample" for path in path.iterdir())
    except (OSError, ValueError):
        return False
