"""`copilot-kernel sessions`: the conversations that there are, on disk and at the agent."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from .. import config
from ..acp.messages import SessionInfo
from ..errors import CopilotError
from ..rendering.plain import clean, one_line, visible_line
from ..store.places import folders, stored
from .exits import FAILED
from .shelf import Shelved, is_here, listed, merged, where

LONGEST_TITLE, LONGEST_FOLDER = 60, 40
HEAD = ("ID", "Last used", "Where", "Folder", "Title")


def run(arguments: argparse.Namespace) -> int:
    """List; 1 if there is no store and the agent could not be asked."""
    settings = config.load()
    if arguments.agent is not None:
        settings = replace(settings, agent=arguments.agent.strip())
    places = folders(os.environ, arguments.config_dir)
    told: tuple[SessionInfo, ...] | CopilotError = ()
    if not arguments.offline:
        told = anyio.run(listed, settings, arguments.here)
    failure = told if isinstance(told, CopilotError) else None
    sessions = merged(stored(places), () if isinstance(told, CopilotError) else told)
    if arguments.here:
        sessions = [one for one in sessions if is_here(one, settings.folder)]
    _show(sessions, failure, places, arguments.json)
    return FAILED if failure and not any(map(Path.is_dir, places)) else 0


def _show(sessions: Sequence[Shelved], failure: CopilotError | None, places: Sequence[Path], as_json: bool) -> None:
    problem = f"The agent could not be asked: {failure}" if failure else ""
    if as_json:
        print(json.dumps({"sessions": [*map(_json, sessions)], "looked_in": [*map(str, places)], "problem": problem}))
        return
    if problem:
        print(clean(f"copilot-kernel: {problem}"), file=sys.stderr)
    if sessions:
        print("\n".join(_table([HEAD, *map(_row, sessions)])))
    else:
        print(clean(f"No sessions. {where(places)}"), file=sys.stderr)


def _json(session: Shelved) -> dict[str, Any]:
    log = {"path": str(session.log.path), "size": session.log.size} if session.log else {"path": "", "size": None}
    at = datetime.fromtimestamp(session.updated, UTC).isoformat(timespec="seconds") if session.updated else ""
    return {
        "id": session.id,
        "title": session.title,
        "cwd": session.cwd,
        "updated": at,
        "sources": [*session.sources],
        **log,
    }


def _row(session: Shelved) -> tuple[str, ...]:
    at = datetime.fromtimestamp(session.updated).strftime("%Y-%m-%d %H:%M") if session.updated else ""
    title, folder = visible_line(session.title), visible_line(session.cwd)
    return one_line(session.id), at, "+".join(session.sources), _end(folder), _beginning(title) or "(no title)"


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"


def _end(text: str) -> str:
    return text if len(text) <= LONGEST_FOLDER else f"…{text[1 - LONGEST_FOLDER :]}"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
