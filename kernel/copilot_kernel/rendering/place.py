"""Where something is: paths short enough to read, and never misleading."""

from __future__ import annotations

from posixpath import normpath

from ..acp.messages import Location


def shown_path(path: str, cwd: str = "") -> str:
    """`path` relative to `cwd` if it lies inside as it is written; every other path, one with `..` too, stays whole."""
    inside = cwd.rstrip("/") + "/"
    if cwd and path.startswith(inside) and normpath(path) == path:
        return path[len(inside) :]
    return path


def place(location: Location, cwd: str = "") -> str:
    """`path:line`."""
    path = shown_path(location.path, cwd)
    return f"{path}:{location.line}" if location.line is not None else path
