"""Files that are more than text: what holds secrets, runs by itself, or decides what agents may do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

OURS = "copilot_kernel.json"
"""The file in which a user allows things."""

_KEYS = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk")
_SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials"),
    *(".my.cnf", ".pgpass", ".vault-token", ".password-store", ".huggingface", ".terraform.d", ".mozilla"),
    *(".kaggle", ".databrickscfg", ".s3cfg", ".boto"),
    *("credentials.json", *_KEYS),
)
_DOORS = ("kernel-*.json", "jpserver-*.json", "jupyter_cookie_secret")
_ENVIRONMENTS = (".env", ".env[.~-]*", ".envrc")
_EXAMPLES = frozenset({".env.example", ".env.sample", ".env.template"})
"""These hold names only."""
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
_SOUGHT = (*_SECRETS, ".env", ".env.local", ".envrc", "jupyter_cookie_secret")
"""Names for which a search may be."""
_STEER = "steers agents"
_RUN = "may be run by itself"
_STEERING = """
    agents.md agents.override.md claude.md claude.local.md gemini.md qwen.md copilot-instructions.md
    .agents .cursorrules .windsurfrules .clinerules .goosehints .opencode opencode.json opencode.jsonc .qwen .kiro .roo
"""
_RUNNING = """
    .config .local .cargo/config .cargo/config.toml .yarnrc .yarnrc.yml .githooks lefthook.yml .lefthook.yml
    mise.toml .mise.toml .rprofile .renviron .pdbrc .inputrc .pythonrc .bazelrc .zed ipython_config.py
"""
_CHANGED = (
    *((tuple(names.split("/")), _STEER) for names in _STEERING.split()),
    *(((".github", name), _STEER) for name in ("hooks", "agents", "instructions", "prompts", "skills", "chatmodes")),
    *(((folder, name), _RUN) for folder in (".venv", "venv") for name in ("bin", "scripts", "pyvenv.cfg")),
    *((tuple(names.split("/")), _RUN) for names in _RUNNING.split()),
)
"""Names in a row that nobody minds being read; but who changes what is there, steers an agent or a program."""
_READ = (
    *(
        ((".config", name), "may hold secrets")
        for name in ("gh", "github-copilot", "gcloud", "rclone", "op", "hub", "anthropic")
    ),
    ((".config", "git"), "may hold secrets"),
    (("jupyter", "runtime"), "may hold secrets"),
    *(((".cargo", name), "may hold secrets") for name in ("credentials", "credentials.toml")),
    ((".gem", "credentials"), "may hold secrets"),
    *(((".cache", "huggingface", name), "may hold secrets") for name in ("token", "stored_tokens")),
    ((".config", "containers", "auth.json"), "may hold secrets"),
    ((".dbt", "profiles.yml"), "may hold secrets"),
    ((".streamlit", "secrets.toml"), "may hold secrets"),
    ((".local", "share", "keyrings"), "may hold secrets"),
)


def _by_first(rows: Sequence[tuple[tuple[str, ...], str]]) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    return {row[0]: [each for each in rows if each[0][0] == row[0]] for row, _ in rows}


_WHEN_READ, _WHEN_CHANGED = _by_first(_READ), _by_first((*_READ, *_CHANGED))
_BARE = "head"
"""With a file of this name, Git may take a folder for a repository, and run what ordinary files in it say."""
_NEVER_WRITTEN = (".git", OURS)


def why_sensitive(names: Iterable[str], *, changes: bool = False) -> str:
    """Why no rule may allow a path with these names, in words that follow its name; empty if nothing is special.

    With `changes`, also of what may be read but not changed.
    """
    plainly = tuple(plain(name).strip() for name in names)
    found = [place for name in plainly if (place := _place(name)) is not None]
    if found:
        return _REASONS[min(found)]
    if changes and next(filter(None, reversed(plainly)), "") == _BARE:
        return _RUN
    rows = (row for name in plainly for row in (_WHEN_CHANGED if changes else _WHEN_READ).get(name, ()))
    return next((why for row, why in rows if _stands_in(row, plainly, is_tree=changes)), "")


def names_secret(pattern: str) -> bool:
    """Whether a file that holds secrets may have such a name, with `*`, `?`, sets, braces and folders in it."""
    if pattern.startswith("!") or len(pattern) > _LONGEST:
        return not pattern.startswith("!")
    spelled = [*_alternatives(pattern), *_alternatives(pattern.replace("\\", ""))]
    names = {name for each in spelled for name in re.split(r"[\s,/\\]+", plain(each)) if name}
    return len(names) > _MOST or any(map(_is_sought, names))


_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST, _LONGEST = 50, 300


def _alternatives(pattern: str) -> list[str]:
    """With each of what stands in braces; where these are too many, whatever is hidden."""
    found: list[str] = []
    waiting = [pattern]
    while waiting and len(found) + len(waiting) <= _MOST:
        each = waiting.pop()
        braces = _BRACES.search(each)
        words = braces[1].split(",") if braces else []
        waiting += [each[: braces.start()] + word + each[braces.end() :] for word in words if braces]
        found += [] if braces else [each]
    return [".*"] if waiting else found


def _is_sought(name: str) -> bool:
    """Most files that end in `.json` are others."""
    if set(name) <= set("*?."):
        return name.startswith(".") and name not in (".", "..")
    if why_sensitive((name,)):
        return True
    is_open = name != "*.json" and not _GLOB.isdisjoint(name)
    return is_open and any(fnmatchcase(each, name.replace("[^", "[!")) for each in _SOUGHT)


_GLOB = frozenset("*?[")


def _stands_in(row: tuple[str, ...], names: tuple[str, ...], *, is_tree: bool) -> bool:
    """`is_tree`: also the folder of the row itself, with which the rest would come or go."""
    with_folder = len(row) > 1 and is_tree and names[-1:] == row[:1]
    return with_folder or any(names[at : at + len(row)] == row for at in range(len(names)))


def is_never_written(names: Iterable[str]) -> bool:
    """Git's hooks and settings run programs, and our settings allow them."""
    return any(plain(name).strip() in _NEVER_WRITTEN for name in names)


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
    if name in _EXAMPLES:
        return None
    return next((place for place, pattern in enumerate(_PATTERNS) if fnmatchcase(name, pattern)), None)
