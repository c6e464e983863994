"""A past conversation as a notebook: each prompt a cell, and beneath it what a reader saw when it ran.

It is written cell by cell, since a conversation may be larger than memory, and appears under its name when it is whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from ..acp.options import short_name
from ..conversation.model import Message
from ..errors import CopilotError, UsageError
from ..frontend.clean import clean
from ..frontend.picture import picture
from ..frontend.slots import Slots
from ..jupyter.kernel import CopilotKernel
from ..rendering.footer import render_footer
from ..store.past import Past

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class About:
    """What the notebook says of its conversation, in its metadata; `source` is `replay` or `log`."""

    session: str
    agent: str
    source: str
    cwd: str = ""
    title: str = ""


def refuse_existing(path: Path, force: bool) -> None:
    """Raises UsageError if `path` may not be written."""
    if path.exists() and not force:
        raise UsageError(f"{path} exists.", "Choose another name, or --force to overwrite it.")
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: {path if path.is_dir() else path.parent} is not what it must be.")


def write(path: Path, turns: Iterable[Past], about: About, force: bool) -> int:
    """Write the notebook; how many prompts it holds, and nothing is written for none. Raises CopilotError."""
    refuse_existing(path, force)
    try:
        with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            part = Path(file.name)
            try:
                written = _write(file, turns, about)
                file.flush()
                if written:
                    _publish(part, path, force)
                return written
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise CopilotError(f"{path} cannot be written: {error.strerror or error}") from error


def _publish(part: Path, path: Path, force: bool) -> None:
    """Under its name at once, and never over a file that came meanwhile."""
    part.chmod(0o666 & ~_umask())
    if force:
        part.replace(path)
        return
    try:
        os.link(part, path)
    except FileExistsError:
        refuse_existing(path, force)
        raise
    except OSError:  # a file system without links
        refuse_existing(path, force)
        part.replace(path)


def _umask() -> int:
    """The only way to ask is to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _write(file: IO[str], turns: Iterable[Past], about: About) -> int:
    number = 0
    file.write('{\n"cells": [')
    for number, past in enumerate(turns, 1):
        file.write(",\n" if number > 1 else "\n")
        json.dump(_cell(past, number, about), file, ensure_ascii=False, indent=1)
    end = {"metadata": _metadata(about), "nbformat": 4, "nbformat_minor": 5}
    file.write("\n],\n" + json.dumps(end, ensure_ascii=False, indent=1)[2:] + "\n")
    return number


def _cell(past: Past, number: int, about: About) -> Json:
    return {
        "cell_type": "code",
        "execution_count": number,
        "id": f"prompt-{number}",
        "metadata": {"copilot_kernel": {"prompted": past.time}} if past.time else {},
        "outputs": [*_outputs(past, about)],
        "source": _lines(clean(past.prompt)),
    }


def _outputs(past: Past, about: About) -> Iterator[Json]:
    """In the displays that a cell which runs would have used."""
    slots = Slots()
    for entry in past.conversation.entries:
        if not (isinstance(entry, Message) and entry.speaker == "user"):
            slots.put(entry)
    slots.end_streams()
    for slot in slots:
        yield _display(picture(slot.items.values(), about.cwd))
    footer = render_footer(
        agent=about.agent,
        model=past.state.model or "",
        mode=short_name(past.state.mode or ""),
        stop_reason=past.stop_reason,
    )
    if footer is not None:
        yield _display(footer, {"part": "footer"})


def _display(bundle: Json, metadata: Json | None = None) -> Json:
    data = {kind: _lines(value) if isinstance(value, str) else value for kind, value in clean(bundle).items()}
    return {"data": data, "metadata": metadata or {}, "output_type": "display_data"}


def _lines(text: str) -> list[str]:
    """As notebooks keep text, so that a change of one line is a change of one line."""
    return text.splitlines(keepends=True)


def _metadata(about: About) -> Json:
    told = {"session_id": about.session, "agent": about.agent, "cwd": about.cwd, "title": about.title}
    return {
        "kernelspec": {"display_name": "Copilot", "language": "copilot", "name": "copilot"},
        "language_info": CopilotKernel.language_info,
        "copilot_kernel": clean({**told, "source": about.source}),
    }
