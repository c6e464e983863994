"""Commands that change or remove whatever is in their folder, without naming it: `git clean -fdx`, `find -delete`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

RESTORING = frozenset({"checkout", "restore", "reset", "stash", "switch"})
"""Commands of Git after which the files that they name may be other ones, or gone."""

_DISCARDS = {
    "checkout": re.compile(r"-\w*f\w*|--force"),
    "switch": re.compile(r"-\w*f\w*|--force|--discard-changes"),
    "reset": re.compile(r"--(hard|merge|keep)"),
}
_EXCLUDES = re.compile(r"-[a-zA-Z]*e.*|--exclude.*")
_LOOKING = frozenset({"list", "show", "drop", "clear", "create", "store"})
"""What `git stash` does without touching a file."""
_FIRST_OF_FIND = re.compile(r"-[HLPX]+|-O\d|-D")


def is_whole(words: Sequence[str]) -> bool:
    """Whether a command is about all of the folder it starts in, though no word of it says so."""
    names = [posixpath.basename(word).lower() for word in words]
    if "find" in names:
        return _finds_all(words[names.index("find") + 1 :])
    return "git" in names and _changes_all(names[names.index("git") + 1 :], words)


def _finds_all(words: Sequence[str]) -> bool:
    first = next((word for word in words if not _FIRST_OF_FIND.fullmatch(word)), "-")
    return first[0] in "-(!"


def _changes_all(names: Sequence[str], words: Sequence[str]) -> bool:
    """Of Git; what `-e` keeps from being cleaned is no path to clean."""
    if "clean" in names:
        after = words[len(words) - len(names) + names.index("clean") + 1 :]
        return all(word[:1] == "-" for word in after) or any(map(_EXCLUDES.fullmatch, after))
    if "stash" in names:
        return not _LOOKING.intersection(names[names.index("stash") + 1 :][:1])
    return any(name in names and any(map(option.fullmatch, words)) for name, option in _DISCARDS.items())
