"""The record of a turn that a saved notebook keeps, as metadata of the footer's output.

`turn_record.schema.json` is its JSON schema.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from ..acp.messages import Json
from ..conversation import inputs, raw
from ..conversation.changes import FileChange, TurnChanges
from ..conversation.model import ToolCall
from ..conversation.outcome import TurnOutcome
from ..rendering.plain import visible_line
from ..undo.cells import CellChange

METADATA_KEY = "copilot_kernel"
SCHEMA_MEMBER, SCHEMA_VERSION = "schema", 1
MAX_TITLE_CHARS = 500


def metadata_of(
    turn: TurnOutcome,
    changes: TurnChanges,
    *,
    is_batch: bool,
    cells: Sequence[CellChange] = (),
    undone: Sequence[str] = (),
) -> Json:
    """The metadata of the output that ends a turn: which agent did what, who allowed it, and what was `undone` since.

    `cells` are those of the notebook that it changed. No times, and in a batch run no session id: another run of the
    notebook gives the same.
    """
    record = {
        SCHEMA_MEMBER: SCHEMA_VERSION,
        **_known(
            agent=turn.agent,
            agent_version=turn.agent_version,
            model=turn.model,
            mode=turn.mode,
            session_id="" if is_batch else turn.session_id,
        ),
        "permission_mode": turn.permission_mode,
        "stop_reason": turn.stop_reason,
        "calls": [_call(call) for call in turn.tool_calls],
        "changes": [_change(file) for file in changes.files],
        **({"also_changed": [_change(file) for file in changes.also]} if changes.also else {}),
        **({"cells": found} if (found := [_cell(cell) for cell in cells if cell.after is not None]) else {}),
        **({"undone": [*map(visible_line, undone)]} if undone else {}),
    }
    return {METADATA_KEY: record}


def _call(call: ToolCall) -> Json:
    unasked, covers = (call.unasked.words, call.unasked.covered) if call.unasked else ("", False)
    title = visible_line(inputs.title(call))
    return {
        "title": title if len(title) <= MAX_TITLE_CHARS else f"{title[: MAX_TITLE_CHARS - 1]}…",
        "kind": call.kind,
        "status": call.status,
        **_known(
            exit_code=raw.exit_code(call, raw.output_of(call)),
            decision=visible_line(call.decision),
            unasked="" if covers else visible_line(unasked),
            covered_by=visible_line(unasked) if covers else "",
        ),
    }


def _change(file: FileChange) -> Json:
    return {
        "path": visible_line(file.path),
        "what": file.what,
        "added": file.added,
        "removed": file.removed,
        **_known(digest=file.digest),
    }


def _cell(cell: CellChange) -> Json:
    """As the agent left it. The checksum is one that a page can compute itself, on http too."""
    source = (cell.after or "").encode(errors="replace")
    return {"id": cell.id, "what": "new" if cell.before is None else "changed", "crc32": zlib.crc32(source)}


def _known(**members: str | int | None) -> Json:
    return {name: value for name, value in members.items() if value not in ("", None)}
