"""`copilot-kernel export`: a past conversation as a notebook."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

import anyio

from .. import config
from ..acp.messages import SessionInfo
from ..config import Settings
from ..errors import CopilotError
from ..rendering.plain import clean
from ..store.lines import Tally
from ..store.past import turns
from ..store.places import Stored, folders, stored
from . import notebook
from .notebook import About
from .replay import Replay, replayed
from .shelf import Shelved, found, listed, merged, where

COPILOT = "Copilot"
"""Who wrote the logs."""


def run(arguments: argparse.Namespace) -> int:
    """Find the session, have it told, write it."""
    settings = config.load()
    if arguments.agent is not None:
        settings = replace(settings, agent=arguments.agent.strip())
    target = Path(arguments.output)
    notebook.refuse_existing(target, arguments.force)
    session = _find(settings, arguments)
    told = None if arguments.from_log else _replay(settings, session)
    if told is not None:
        about = About(session.id, told.agent, "replay", session.cwd, session.title)
        _report(target, notebook.write(target, told.turns, about, arguments.force), "as the agent told it again")
    elif session.log is not None:
        _export_log(session, session.log, target, arguments.force)
    return 0


def _find(settings: Settings, arguments: argparse.Namespace) -> Shelved:
    """An id that is on disk needs no agent to be found."""
    places = folders(os.environ, arguments.config_dir)
    logs = stored(places)
    infos: tuple[SessionInfo, ...] = ()
    looked_in = where(places)
    if not arguments.from_log and arguments.session not in {log.id for log in logs}:
        outcome = anyio.run(listed, settings, False)
        if isinstance(outcome, CopilotError):
            looked_in += f"\nThe agent could not be asked: {outcome}"
        else:
            infos = outcome
            looked_in += ", and asked the agent"
    return found(merged(logs, infos), arguments.session, looked_in)


def _replay(settings: Settings, session: Shelved) -> Replay | None:
    """None if only the log can tell. Raises CopilotError if there is no log either."""
    if session.cwd and Path(session.cwd).is_dir():
        settings = replace(settings, cwd=session.cwd)
    outcome = anyio.run(replayed, settings, session.id)
    problem = outcome if isinstance(outcome, CopilotError) else None
    if problem is None and isinstance(outcome, Replay) and not outcome.turns:
        problem = CopilotError("The agent loaded the session, but told nothing of it.")
    if problem is None:
        assert isinstance(outcome, Replay)
        return outcome
    if session.log is None:
        raise problem
    print(clean(f"copilot-kernel: read from the event log, because: {problem}"), file=sys.stderr)
    return None


def _export_log(session: Shelved, log: Stored, target: Path, force: bool) -> None:
    tally = Tally()
    about = About(session.id, COPILOT, "log", session.cwd, session.title)
    written = notebook.write(target, turns(log.path, tally), about, force)
    lines = "line was" if tally.damaged == 1 else "lines were"
    damage = f"; {tally.damaged:,} damaged {lines} left out" if tally.damaged else ""
    _report(target, written, f"from {log.path}{damage}")


def _report(target: Path, written: int, how: str) -> None:
    if not written:
        raise CopilotError("Nothing was said in this session; no notebook was written.")
    print(clean(f"{target}: {written} prompt{'s' * (written != 1)}, {how}"))
