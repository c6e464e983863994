"""The narrowest rule worth saving for calls like this one. Whether it would allow this one, the policy then tries."""

from __future__ import annotations

import posixpath
import shlex

from .domains import host_of
from .parts import below
from .patterns import compile_pattern
from .request import Request
from .rules import KINDS
from .shell import read

LONGEST = 1_000
"""Characters of a command for which a rule is worth saving."""
_NAMES = {kind: name for name, kinds in KINDS.items() for kind in kinds}


def suggestion(request: Request) -> str:
    """One rule, or nothing if no rule alone is about it."""
    if request.seen.tool:
        return request.seen.tool
    name = _NAMES.get(request.call.kind, "")
    if name == "Bash":
        return _for_command(request)
    if name == "WebFetch":
        hosts = {host_of(url) for url in request.seen.urls}
        return f"WebFetch(domain:{hosts.pop()})" if len(hosts) == 1 and "" not in hosts else ""
    return _for_paths(request, name) if name else ""


def _for_command(request: Request) -> str:
    """The one command that no rule allows yet, word for word; of a line of several there is no one rule."""
    if len(request.seen.lines) != 1:
        return ""
    if len(request.seen.lines[0]) > LONGEST:
        return ""
    line = read(request.seen.lines[0])
    parts = {part for part in line.parts if part[0] != "cd"}
    if line.unclear or line.globs or len(parts) != 1:
        return ""
    text = shlex.join(parts.pop())
    return f"Bash({text})" if _compiles(text) else ""


def _compiles(text: str) -> bool:
    try:
        return compile_pattern(text).is_exact
    except ValueError:
        return False


def _for_paths(request: Request, name: str) -> str:
    """The file; of several the folder that holds them all, if that is less than the project."""
    paths = {_shown(request, spot.written) for spot in request.spots if not spot.problem} - {""}
    if not paths:
        return ""
    if len(paths) == 1:
        return f"{name}({paths.pop()})"
    folder = posixpath.commonpath(paths) if len({path[:1] == "/" for path in paths}) == 1 else ""
    return f"{name}({folder}/**)" if folder.strip("/.") else ""


def _shown(request: Request, path: str) -> str:
    """As a rule writes it: from the project's root, which a name without a slash must say."""
    for root in (request.circumstances.root, request.circumstances.real_root):
        inner = below(path, root)
        if inner is not None:
            return "/".join(inner) if len(inner) > 1 else "".join(f"./{name}" for name in inner)
    return posixpath.normpath(path)
