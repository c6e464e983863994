"""All routes, as each module of handlers lists them.

A module has `ROUTES`, which are at the root of the base URL and below `copilot/`, or `OWN_ROUTES`, which are only below
`copilot/`: pairs of a pattern, which begins with a slash, and a handler.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import completions, files, health, models, openapi, page, responses, socket, unknown

MODULES: tuple[Any, ...] = (completions, responses, models, health, openapi, socket, page, files)
"""Whose routes there are; the first one that fits counts."""

Route = tuple[str, type[Any]]
OWN = "/copilot"


def routes(at_root: bool) -> list[Route]:
    """What the extension hangs in, most particular first."""
    return [*_below(), *(_at_root() if at_root else ()), *unknown.routes(OWN, at_root)]


def _below() -> Iterator[Route]:
    for module in MODULES:
        for pattern, handler in (*getattr(module, "ROUTES", ()), *getattr(module, "OWN_ROUTES", ())):
            yield OWN + pattern, handler


def _at_root() -> Iterator[Route]:
    for module in MODULES:
        yield from getattr(module, "ROUTES", ())
