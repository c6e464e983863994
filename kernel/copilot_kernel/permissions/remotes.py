"""Git's other repositories: a word that looks like a name or an address may be a folder, whose hooks a push runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .sensitive import why_sensitive

NETWORK = frozenset({"fetch", "pull", "push", "clone", "ls-remote", "remote"})
"""The subcommands that reach other repositories."""

_TRANSPORT = re.compile(r"\w+::|(?!https?://|ssh://|git://)[\w+.-]+://")
"""Addresses for which git starts a program of their own, `git-remote-…`."""
_ADDRESS = re.compile(r"(?:https?|ssh|git)://.|[^/:]+:.")
"""Before a colon stands a host, unless a slash stands before the colon."""
USUAL = frozenset({"origin"})
"""What a clone calls where it comes from; where nothing else is known. Another name may be the one of a folder."""
OUTSIDE = re.compile(r"[/~]|(.*/)?\.\.(/|$)")
"""It leads out of the folder."""
_WHOLE = re.compile(r"(?:(?:https?|ssh|git)://|[\w.@-]{2,}:)[\w.@:/~%+-]+", re.ASCII)
"""An address in settings; quotes, comments and continued lines are none."""
_SECTION = re.compile(r'\[remote "([A-Za-z0-9][\w.-]*)"\]', re.ASCII | re.IGNORECASE)
_ODD = re.compile(
    r"^\s*(?!\[remote \"[A-Za-z0-9][\w.-]*\"\]\s*$)\[\s*remote\b", re.ASCII | re.IGNORECASE | re.MULTILINE
)
_ENTRY = re.compile(r"(url|pushurl|vcs)(?:\s*=)?(.*)", re.IGNORECASE)
_VALUED = re.compile(r"--(?:depth|deepen|shallow-since|branch|filter|sort)")
"""Options that take the next word."""
_LETTERS = {"clone": re.compile("-[qvn]*b"), "remote": re.compile("-[vn]*[tm]")}
"""Of these, also behind flags."""
_NAMED = frozenset({"show", "prune", "set-head"})
"""Of `git remote`: they ask the repository itself."""


def address_hides(
    name: str,
    words: Sequence[str],
    free: Sequence[str],
    is_known: bool,
    globs: frozenset[str],
    remotes: frozenset[str] = USUAL,
) -> str:
    """Why `git NAME WORDS…` may start programs for the transfer, or run what a folder says.

    `free` are those of `words` that no rule spells out. `is_known`: all options are, so that the others have places.
    `remotes` are the names that stand for addresses.
    """
    places = [word for word in free if not word.startswith("-")]
    if address := next(filter(_TRANSPORT.match, places), ""):
        return f"git {name} {address} starts a program of its own for the transfer"
    if globs.intersection(places):
        return f"where git {name} goes is not written out"
    if place := next((word for word in places if OUTSIDE.match(word) or word[:1] == "."), ""):
        return f"git {name} {place} may run what another folder says"
    has_places = is_known and not {"--", "--multiple"}.intersection(words)
    found = _positional(name, words) if has_places else places
    if name == "clone" and (why := _clone_hides([word for word in found if word in free], remotes)):
        return why
    goals = _goals(name, found, remotes) if has_places else found
    usual = () if name in ("clone", "remote") else remotes
    place = next((word for word in goals if word in free and word not in usual and not _ADDRESS.match(word)), "")
    return f"git {name} {place}: {place} {_may_be_folder(place)}, and may run what that says" if place else ""


def configured(text: str) -> frozenset[str]:
    """The names of the remotes in the text of Git's settings of a repository, of which all addresses are addresses.

    Whatever is written in an unusual way is left out; where that is a whole section, nothing is known.
    """
    found = () if _ODD.search(text) else tuple(_addresses(text))
    odd = {name for name, _, address in found if not _is_address(address)}
    return frozenset(name for name, key, _ in found if key.lower() == "url") - odd


def _addresses(text: str) -> Iterator[tuple[str, str, str]]:
    """The name of a remote, and a setting of it with what should be an address."""
    name = ""
    for line in map(str.strip, text.split("\n")):
        if line.startswith("["):
            header = _SECTION.fullmatch(line)
            name = header[1] if header else ""
        elif name and (entry := _ENTRY.fullmatch(line)):
            yield name, entry[1], entry[2].strip()


def _is_address(text: str) -> bool:
    return not _TRANSPORT.match(text) and bool(_WHOLE.fullmatch(text))


def _clone_hides(places: Sequence[str], remotes: frozenset[str]) -> str:
    """Of any of the words, the folder that git would make of it, since each may be the one that counts."""
    for word in places:
        folder = _cloned(word)
        if folder in remotes | USUAL:
            return f"git clone {word} makes a folder that is called like a remote, to which a push may go"
        if why := why_sensitive(folder.split("/"), changes=True):
            return f"git clone {word} makes {folder}, which {why}"
    return ""


def _cloned(word: str) -> str:
    """The folder: of an address, what Git makes of its last part."""
    if not _ADDRESS.match(word):
        return word.rstrip("/")
    path = word.rstrip("/ ").removesuffix("/.git").rstrip("/ ")
    return re.sub(r"\.(git|bundle)$", "", re.split("[/:]", path)[-1])


def _positional(name: str, words: Sequence[str]) -> list[str]:
    """Without options, and without the values that stand behind them."""
    found, is_value = [], False
    for word in words:
        if not is_value and not word.startswith("-"):
            found.append(word)
        letters = _LETTERS.get(name)
        is_value = not is_value and bool(_VALUED.fullmatch(word) or (letters and letters.fullmatch(word)))
    return found


def _goals(name: str, places: list[str], remotes: frozenset[str]) -> list[str]:
    """The words that say where it goes: of `remote add NAME URL` all behind the name, since some may be the URL."""
    if name != "remote":
        return places[:1]
    deed = places[0] if places else ""
    if deed in ("add", "set-url"):
        return places[2:]
    return [word for word in places[1:2] if deed in _NAMED and word not in remotes]


def _may_be_folder(place: str) -> str:
    return "may be a folder" if "/" in place else "is no remote with an address here, so that it may be a folder"
