"""Git's other repositories: a word that looks like a name or an address may be a folder, whose hooks a push runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

NETWORK = frozenset({"fetch", "pull", "push", "clone", "ls-remote", "remote"})
"""The subcommands that reach other repositories."""

_TRANSPORT = re.compile(r"\w+::|(?!https?://|ssh://|git://)[\w+.-]+://")
"""Addresses for which git starts a program of their own, `git-remote-…`."""
_ADDRESS = re.compile(r"(?:https?|ssh|git)://.|[^/:]+:.")
"""Before a colon stands a host, unless a slash stands before the colon."""
_USUAL = "origin"
"""The name that a clone has. Another name may be the one of a folder."""
OUTSIDE = re.compile(r"[/~]|(.*/)?\.\.(/|$)")
"""It leads out of the folder."""
_VALUED = re.compile(r"--(?:depth|deepen|shallow-since|branch|filter|sort)")
"""Options that take the next word."""
_LETTERS = {"clone": re.compile("-[qvn]*b"), "remote": re.compile("-[vn]*[tm]")}
"""Of these, also behind flags."""
_NAMED = frozenset({"show", "prune", "set-head"})
"""Of `git remote`: they ask the repository itself."""


def address_hides(name: str, words: Sequence[str], free: Sequence[str], is_known: bool, globs: frozenset[str]) -> str:
    """Why `git NAME WORDS…` may start programs for the transfer, or run what a folder says.

    `free` are those of `words` that no rule spells out. `is_known`: all options are, so that the others have places.
    """
    places = [word for word in free if not word.startswith("-")]
    if address := next(filter(_TRANSPORT.match, places), ""):
        return f"git {name} {address} starts a program of its own for the transfer"
    if globs.intersection(places):
        return f"where git {name} goes is not written out"
    if place := next((word for word in places if OUTSIDE.match(word) or word[:1] == "."), ""):
        return f"git {name} {place} may run what another folder says"
    goals = _goals(name, _positional(name, words)) if is_known and "--" not in words else places
    usual = () if name in ("clone", "remote") else (_USUAL,)
    place = next((word for word in goals if word in free and word not in usual and not _ADDRESS.match(word)), "")
    return f"git {name} {place}: {place} {_may_be_folder(place)}, and may run what that says" if place else ""


def _positional(name: str, words: Sequence[str]) -> list[str]:
    """Without options, and without the values that stand behind them."""
    found, is_value = [], False
    for word in words:
        if not is_value and not word.startswith("-"):
            found.append(word)
        letters = _LETTERS.get(name)
        is_value = not is_value and bool(_VALUED.fullmatch(word) or (letters and letters.fullmatch(word)))
    return found


def _goals(name: str, places: list[str]) -> list[str]:
    """The words that say where it goes: of `remote add NAME URL` all behind the name, since some may be the URL."""
    if name != "remote":
        return places[:1]
    deed = places[0] if places else ""
    if deed in ("add", "set-url"):
        return places[2:]
    return [word for word in places[1:2] if deed in _NAMED and word != _USUAL]


def _may_be_folder(place: str) -> str:
    return "may be a folder" if "/" in place else "is not origin, so that it may be a folder"
