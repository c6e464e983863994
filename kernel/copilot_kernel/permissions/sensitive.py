"""Files that are more than text: what holds secrets, runs by itself, or decides what agents may do."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

OURS = "copilot_kernel.json"
"""The file in which a user allows things."""

_SECRETS = (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials")
_DOORS = ("kernel-*.json", "jpserver-*.json", "jupyter_cookie_secret")
_ENVIRONMENTS = (".env", ".env.*", ".envrc")
_SHELLS = (".bashrc", ".bash_*", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout")
_AGENTS = (".copilot", ".claude", ".codex", ".gemini", ".cursor", ".mcp.json")
_TOOLS = (".vscode", ".idea", ".devcontainer", ".husky", ".pre-commit-config.yaml", ".gitconfig")
_PYTHON = (".ipython", ".jupyter", "jupyter_*config.*", "sitecustomize.py", "usercustomize.py", "*.pth")

_PATTERNS = {
    ".git": "belongs to Git itself",
    OURS: "holds the rules for agents",
    **dict.fromkeys((*_SECRETS, *_DOORS, *_ENVIRONMENTS), "may hold secrets"),
    **dict.fromkeys((*_SHELLS, *_TOOLS, *_PYTHON), "may be run by itself"),
    **dict.fromkeys(_AGENTS, "holds the rules for agents"),
}
_NEVER_WRITTEN = (".git", OURS)


def why_sensitive(names: Iterable[str]) -> str:
    """Why no rule may allow a path with these names, in words that follow its name; empty if nothing is special."""
    found = [place for name in names if (place := _place(plain(name))) is not None]
    return _REASONS[min(found)] if found else ""


def is_never_written(names: Iterable[str]) -> bool:
    """Git's hooks and settings run programs, and our settings allow them."""
    return any(plain(name) in _NEVER_WRITTEN for name in names)


def plain(name: str) -> str:
    """What a file system that ignores case and invisible characters makes of a name."""
    if name.isascii():
        return name.lower()
    visible = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return "".join(visible).casefold()


_REASONS = tuple(_PATTERNS.values())


@lru_cache(maxsize=4096)
def _place(name: str) -> int | None:
    """Of the first pattern that fits."""
    return next((place for place, pattern in enumerate(_PATTERNS) if fnmatchcase(name, pattern)), None)
