"""Write a past conversation as a notebook: each prompt is a cell with the outputs that it would have had.

It is written cell by cell, since a conversation may be larger than memory, and gets its name when it is complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..acp.results import short_name
from ..conversation.model import Message
from ..errors import CopilotError, UsageError
from ..frontend.cell import clean
from ..frontend.slot_items import picture
from ..frontend.slots import Slots
from ..jupyter.kernel import CopilotKernel
from ..rendering.report import Footer, render_footer
from ..store.turns import PastTurn

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class About:
    """The conversation, for the notebook's metadata; `source` is `replay` or `log`."""

    session: str
    agent: str
    source: str
    cwd: str = ""
    title: str = ""


def refuse_existing(path: Path, force: bool) -> None:
    """Raises UsageError if `path` may not be written."""
    if path.exists() and not force:
        raise UsageError(f"{path} already exists.", "Choose another name, or --force to overwrite it.")
    if path.is_dir():
        raise UsageError(f"{path} cannot be written: it is a folder.")
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no folder {path.parent}.")


def write(path: Path, turns: Iterable[PastTurn], about: About, force: bool) -> int:
    """Write the notebook; how many prompts it holds, and nothing is written for none. Raises CopilotError."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with part.open("x", encoding="utf-8") as file:
                written = _write(file, turns, about)
            if written:
                _publish(part, path, force)
            return written
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise CopilotError(f"{path} cannot be written: {error.strerror or error}") from error


def _publish(part: Path, path: Path, force: bool) -> None:
    """Give it its name, atomically, and never over a file that was created meanwhile."""
    refuse_existing(path, force)
    if not force:
        with suppress(OSError):  # a file system without links, or a file of that name
            return os.link(part, path)
        refuse_existing(path, force)
    part.replace(path)


def _write(file: IO[str], turns: Iterable[PastTurn], about: About) -> int:
    number = 0
    file.write('{\n"cells": [')
    for number, past in enumerate(turns, 1):
        file.write(",\n" if number > 1 else "\n")
        json.dump(_cell(past, number, about), file, ensure_ascii=False, indent=1)
    end = {"metadata": _metadata(about), "nbformat": 4, "nbformat_minor": 5}
    file.write("\n],\n" + json.dumps(end, ensure_ascii=False, indent=1)[2:] + "\n")
    return number


def _cell(past: PastTurn, number: int, about: About) -> Json:
    return {
        "cell_type": "code",
        "execution_count": number,
        "id": f"prompt-{number}",
        "metadata": {"copilot_kernel": {"prompted": past.time}} if past.time else {},
        "outputs": [*_outputs(past, about)],
        "source": _lines(clean(past.prompt)),
    }


def _outputs(past: PastTurn, about: About) -> Iterator[Json]:
    """The same displays as those of a cell that runs."""
    slots = Slots()
    for entry in past.conversation.entries:
        if not (isinstance(entry, Message) and entry.speaker == "user"):
            slots.put(entry)
    slots.end_streams()
    for slot in slots:
        yield _display(picture(slot.items.values(), about.cwd))
    footer = render_footer(
        Footer(
            agent=about.agent,
            model=past.state.model or "",
            mode=short_name(past.state.mode or ""),
            stop_reason=past.stop_reason,
        )
    )
    if footer is not None:
        yield _display(footer, {"part": "footer"})


def _display(bundle: Json, metadata: Json | None = None) -> Json:
    data = {kind: _lines(value) if isinstance(value, str) else value for kind, value in clean(bundle).items()}
    return {"data": data, "metadata": metadata or {}, "output_type": "display_data"}


def _lines(text: str) -> list[str]:
    """Text as notebooks store it, line by line."""
    return text.splitlines(keepends=True)


def _metadata(about: About) -> Json:
    described = {"session_id": about.session, "agent": about.agent, "cwd": about.cwd, "title": about.title}
    return {
        "kernelspec": {"display_name": "Copilot", "language": "copilot", "name": "copilot"},
        "language_info": CopilotKernel.language_info,
        "copilot_kernel": clean({**described, "source": about.source}),
    }
