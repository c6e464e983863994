"""A turn in short: the footer beneath the answer, and the record that a saved notebook keeps of it.

The record is metadata of the footer's output; `turn_record.schema.json` is its JSON schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..conversation.model import ToolCall
from ..permissions import inputs
from ..rendering.changes import FileChange, TurnChanges, exit_code_of
from ..rendering.footer import Footer, render_footer, render_stopped
from ..rendering.markup import Bundle
from ..rendering.plain import visible_line
from .turn import FAILED, Turn

METADATA_KEY = "copilot_kernel"
SCHEMA_VERSION = 1
MAX_TITLE_CHARS = 500

Json = dict[str, Any]


def footer_of(
    turn: Turn,
    changes: TurnChanges,
    *,
    timed: bool,
    cells: Sequence[tuple[str, str, str]] = (),
    undone: Sequence[str] = (),
) -> Footer:
    """The footer of `turn`; `changes` are those of its calls. `cells` and `undone`: see `Footer`."""
    tokens = (turn.usage or {}).get("totalTokens")
    return Footer(
        agent=turn.agent,
        model=turn.model,
        mode=turn.mode,
        permission_mode=turn.permission_mode,
        standing=turn.standing,
        unasked=turn.unasked_calls,
        stop_reason=turn.stop_reason,
        used=turn.context.used if turn.context else None,
        size=turn.context.size if turn.context else None,
        tokens=tokens if isinstance(tokens, int) else None,
        cost=_cost(turn),
        seconds=turn.seconds if timed else None,
        cells=cells,
        changes=changes,
        undo=turn.undo if timed else "",
        undone=undone,
    )


def footer_bundles(
    turn: Turn,
    changes: TurnChanges,
    *,
    timed: bool,
    cells: Sequence[tuple[str, str, str]] = (),
    undone: Sequence[str] = (),
) -> tuple[Bundle, ...]:
    """Return the bundles beneath the answer: the footer, if there is anything to say.

    A turn that was stopped has a line that says so. After that, and where a turn has failed, there is a footer only for
    what one should know.
    """
    if turn.stop_reason not in ("cancelled", FAILED):
        return tuple(filter(None, [render_footer(footer_of(turn, changes, timed=timed, cells=cells, undone=undone))]))
    is_stopped = turn.stop_reason == "cancelled"
    line = render_stopped(turn.seconds if timed else None, by_user=turn.stopped_by_user) if is_stopped else None
    rest = replace(turn, agent="", model="", mode="", usage=None)
    footer = replace(footer_of(rest, changes, timed=timed, cells=cells, undone=undone), seconds=None)
    return tuple(filter(None, [line, render_footer(footer)]))


def metadata_of(turn: Turn, changes: TurnChanges, *, is_batch: bool, undone: Sequence[str] = ()) -> Json:
    """The metadata of the output that ends a turn: which agent did what, who allowed it, and what was `undone` since.

    No times, and in a batch run no session id: another run of the notebook gives the same.
    """
    record = {
        "schema": SCHEMA_VERSION,
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
            exit_code=exit_code_of(call),
            decision=visible_line(call.decision),
            unasked="" if covers else visible_line(unasked),
            covered_by=visible_line(unasked) if covers else "",
        ),
    }


def _change(file: FileChange) -> Json:
    return {"path": visible_line(file.path), "what": file.what, "added": file.added, "removed": file.removed}


def _known(**members: str | int | None) -> Json:
    return {name: value for name, value in members.items() if value not in ("", None)}


def _cost(turn: Turn) -> str:
    """Return the cost of the session, as the agent reports it; empty if it does not."""
    cost = (turn.context.cost if turn.context else None) or {}
    amount, currency = cost.get("amount"), cost.get("currency")
    is_amount = isinstance(amount, int | float) and not isinstance(amount, bool) and amount > 0
    return f"{amount:.4g} {visible_line(currency)}" if is_amount and isinstance(currency, str) else ""
