"""Variables of the environment: those that let the agent do more, and those of the project, which it is not given."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..config import AGENT, DEMO_COMMAND, ENVIRONMENT, Settings
from ..rendering.plain import visible_line
from .running_files import Item, key_of

STARTS, ALLOWS = "{} starts `{}`. Use it?", "{} is `{}`, which allows more than your settings. Use it?"
SEVERAL = "{} allow more than your settings. Use them?"
NOT_GIVEN = "Not given to the agent"
TO_GIVE = "To give them to it, use %permissions give."
MAX_NAMES, MAX_VALUE = 3, 80
"""Limits of what one line says."""


def widening(settings: Settings) -> list[Item]:
    """Return what the environment widens for the agent of these settings, by variable and value."""
    others = {AGENT} if settings.origins.get("agent") != ENVIRONMENT else set()
    others |= {DEMO_COMMAND} if settings.agent != "demo" else set()
    return [
        Item(name, key_of("setting", name, value), (f"{name}={value}",))
        for name, value in settings.widened.items()
        if name not in others
    ]


def head_of(items: Sequence[Item]) -> str:
    """What is asked about these variables; the values are shown below, too."""
    if len(items) > 1:
        return SEVERAL.format(" and ".join(item.name for item in items))
    value = visible_line(items[0].lines[0].partition("=")[2])
    shown = value if len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]}…"
    return (STARTS if items[0].name in (AGENT, DEMO_COMMAND) else ALLOWS).format(items[0].name, shown)


def withheld(settings: Settings) -> list[Item]:
    """Return the files of the project whose variables the agent is not given, with the names of these."""
    digests = {file.path: file.digest for file in settings.environment.files}
    return [
        Item(os.path.relpath(path, settings.folder), key_of("variables", path, digests[path]), tuple(names), path)
        for path, names in settings.withheld.items()
    ]


def named(items: Sequence[Item]) -> str:
    """Say how many variables of which files these are, and name the first ones."""
    return visible_line("; ".join(map(_named, items)))


def _named(item: Item) -> str:
    names = item.lines
    shown = ", ".join((*names[:MAX_NAMES], *(["…"] if len(names) > MAX_NAMES else ())))
    return f"{len(names)} variable{'s' * (len(names) > 1)} of {item.name} ({shown})"


def note(settings: Settings) -> str:
    """A line about what the agent is not given; empty if it is given all."""
    items = withheld(settings)
    return f"{NOT_GIVEN}: {named(items)}. {TO_GIVE}" if items else ""
