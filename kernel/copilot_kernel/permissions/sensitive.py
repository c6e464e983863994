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
_TOOLS = (
    ".vscode",
    ".idea",
    ".devcontainer",
    ".husky",
    ".pre-commit-config.yaml",
    ".gitconfig",
    ".gdbinit",
    ".lldbinit",
)
_PYTHON = (".ipython", ".jupyter", "jupyter_*config.*", "sitecustomize.py", "usercustomize.py", "*.pth")

_PATTERNS = {
    ".git": "belongs to Git itself",
    OURS: "holds the rules for agents",
    **dict.fromkeys((*_SECRETS, *_DOORS, *_ENVIRONMENTS), "may hold secrets"),
    **dict.fromkeys((*_SHELLS, *_TOOLS, *_PYTHON), "may be run by itself"),
    **dict.fromkeys(_AGENTS, "holds the rules for agents"),
}
SECRETS = (*_SECRETS, ".env", ".env.local", ".envrc", "jupyter_cookie_secret")
"""Names for which a search may be."""
_STEER = "steers agents"
_RUN = "may be run by itself"
_CHANGED = (
    *(((name,), _STEER) for name in ("agents.md", "claude.md", "gemini.md", "copilot-instructions.md")),
    *(((".github", name), _STEER) for name in ("hooks", "agents", "instructions", "prompts", "skills", "chatmodes")),
    *(((folder, name), _RUN) for folder in (".venv", "venv") for name in ("bin", "scripts", "pyvenv.cfg")),
    *(((name,), _RUN) for name in (".config", ".local")),
)
"""Names in a row that nobody minds being read; but who changes what is there, steers an agent or a program."""
_READ = (
    *(((".config", name), "may hold secrets") for name in ("gh", "github-copilot", "gcloud", "rclone", "op", "hub")),
    ((".config", "git"), "may hold secrets"),
    (("jupyter", "runtime"), "may hold secrets"),
)
_NEVER_WRITTEN = (".git", OURS)


def why_sensitive(names: Iterable[str], *, changes: bool = False) -> str:
    """Why no rule may allow a path with these names, in words that follow its name; empty if nothing is special.

    With `changes`, also of what may be read but not changed.
    """
    plainly = tuple(map(plain, names))
    found = [place for name in plainly if (place := _place(name)) is not None]
    if found:
        return _REASONS[min(found)]
    rows = (*_READ, *_CHANGED) if changes else _READ
    return next((why for row, why in rows if row[0] in plainly and _stands_in(row, plainly, is_tree=changes)), "")


def _stands_in(row: tuple[str, ...], names: tuple[str, ...], *, is_tree: bool) -> bool:
    """`is_tree`: also the folder of the row itself, with which the rest would come or go."""
    with_folder = len(row) > 1 and is_tree and names[-1:] == row[:1]
    return with_folder or any(names[at : at + len(row)] == row for at in range(len(names)))


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
