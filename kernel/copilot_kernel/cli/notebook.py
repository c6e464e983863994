"""Write a past conversation as a notebook: each prompt is a cell with the outputs that it would have had.

It gets its name when it is complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..acp.results import short_name
from ..chat import TurnOutcome
from ..chat.turn_record import METADATA_KEY, SCHEMA_MEMBER, SCHEMA_VERSION, metadata_of
from ..config import LANGUAGE
from ..conversation.changes import changes_of
from ..conversation.model import Message, ToolCall
from ..errors import CopilotError, UsageError
from ..jupyter.kernel import CopilotKernel
from ..output.slot_items import picture
from ..output.slots import Slots
from ..rendering.footer import footer_bundles
from ..rendering.plain import encodable
from ..store.turns import PastTurn

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Past:
    """A past conversation; `source` is `replay` or `log`."""

    session: str
    agent: str
    source: str
    cwd: str
    title: str
    turns: Iterable[PastTurn]


def refuse_existing(path: Path, force: bool) -> None:
    """Raises UsageError if `path` may not be written."""
    if path.exists() and not force:
        raise UsageError(f"{path} already exists.", "Choose another name, or --force to overwrite it.")
    if path.is_dir():
        raise UsageError(f"{path} cannot be written: it is a folder.")
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: the folder {path.parent} does not exist.")


def write(path: Path, past: Past, force: bool) -> int:
    """Write the notebook; how many prompts it holds, and nothing is written for none. Raises CopilotError."""
    cells = [_cell(turn, number, past) for number, turn in enumerate(past.turns, 1)]
    if not cells:
        return 0
    notebook = {"cells": cells, "metadata": _metadata(past), "nbformat": 4, "nbformat_minor": 5}
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8") as file:
            json.dump(notebook, file, ensure_ascii=False, indent=1)
        refuse_existing(path, force)
        part.replace(path)
    except OSError as error:
        raise CopilotError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return len(cells)


def _cell(turn: PastTurn, number: int, past: Past) -> Json:
    return {
        "cell_type": "code",
        "execution_count": number,
        "id": f"prompt-{number}",
        "metadata": {"copilot_kernel": {"prompted": turn.time}} if turn.time else {},
        "outputs": [*_outputs(turn, past)],
        "source": _lines(encodable(turn.prompt)),
    }


def _outputs(turn: PastTurn, past: Past) -> Iterator[Json]:
    """The same displays as those of a cell that runs."""
    slots = Slots()
    for entry in turn.conversation.entries:
        if not (isinstance(entry, Message) and entry.speaker == "user"):
            slots.put(entry)
    slots.end_streams()
    for slot in slots:
        yield _display(picture(slot.items.values(), past.cwd))
    calls = tuple(entry for entry in turn.conversation.entries if isinstance(entry, ToolCall))
    ended = TurnOutcome(
        number=turn.conversation.turn,
        stop_reason=turn.stop_reason,
        text="",
        tool_calls=calls,
        session_id=past.session,
        agent=past.agent,
        model=turn.state.model or "",
        mode=short_name(turn.state.mode or ""),
    )
    changes = changes_of(calls, past.cwd)
    for number, ending in enumerate(footer_bundles(ended, changes, timed=False)):
        yield _display(ending, {} if number else metadata_of(ended, changes, is_batch=False))


def _display(bundle: Json, metadata: Json | None = None) -> Json:
    data = {kind: _lines(value) if isinstance(value, str) else value for kind, value in encodable(bundle).items()}
    return {"data": data, "metadata": encodable(metadata or {}), "output_type": "display_data"}


def _lines(text: str) -> list[str]:
    """Text as notebooks store it, line by line."""
    return text.splitlines(keepends=True)


def _metadata(past: Past) -> Json:
    described = {"session_id": past.session, "agent": past.agent, "cwd": past.cwd, "title": past.title}
    return {
        "kernelspec": {"display_name": "Copilot", "language": LANGUAGE, "name": "copilot"},
        "language_info": CopilotKernel.language_info,
        METADATA_KEY: encodable({SCHEMA_MEMBER: SCHEMA_VERSION, **described, "source": past.source}),
    }
