"""One tool call: how an update, a question, an answer and the turn's end change it.

A status never goes backwards, and three things outrank what the agent reports: an open question, a "no", and a
cancel. A call that was closed only because the turn ended still takes the agent's late `completed` or `failed`: that
is a fact about the world.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, cast

from ..acp.messages import Json, ToolCallUpdate
from .model import FINAL, Standing, Status, ToolCall
from .titles import fuller

TERMINAL_LIMIT = 200_000
"""Characters of a terminal's output that are kept, the newest ones."""

_ORDER = {"pending": 0, "in_progress": 1}
_LAST = len(_ORDER)


def merged(call: ToolCall, update: ToolCallUpdate) -> ToolCall:
    """`call` with what `update` says; None means unchanged, content replaces. The same object if nothing changed."""
    given = {name: value for name in _PLAIN if (value := getattr(update, name)) is not None}
    if update.meta is not None:
        given["meta"] = _meta(call.meta, update.meta)
    standing = replace(call.standing, reported=_further(call.standing.reported, update.status))
    after = _standing(replace(call, **given), standing)
    after = replace(after, fuller_title=fuller(call.best_title, after))
    return call if _equal(call, after) else after


def asked(call: ToolCall) -> ToolCall:
    """`call` with one more open question; what an earlier answer said is over, and so is a reproach."""
    standing = replace(call.standing, questions=call.standing.questions + 1, asked="open", verdict="")
    return _standing(replace(call, unasked=None), standing)


def decided(call: ToolCall, allowed: bool | None, words: str) -> ToolCall:
    """`call` with one question answered; None is cancelled. What is over stays as it ended."""
    verdict = call.standing.verdict if call.status in FINAL else _VERDICTS[allowed]
    answer: Any = "allowed" if allowed else "refused"
    standing = replace(call.standing, questions=max(0, call.standing.questions - 1), asked=answer, verdict=verdict)
    decision = call.decision if words in call.decision else "; ".join(filter(None, (call.decision, words)))
    return _standing(replace(call, decision=decision), standing)


def closed(call: ToolCall, stop_reason: str) -> ToolCall:
    """`call` at the end of a turn: many agents send no final status after a rejection or a cancel."""
    if call.status in FINAL:
        return call
    if not call.call_id and call.standing.asked == "allowed" and stop_reason != "cancelled":
        return _standing(call, replace(call.standing, reported="completed"))  # only a question, and it was answered
    verdict = "cancelled" if stop_reason == "cancelled" or call.standing.questions else "closed"
    return _standing(call, replace(call.standing, questions=0, verdict=cast(Any, verdict)))


def ran_anyway(before: ToolCall, after: ToolCall) -> bool:
    """The agent reports, just now, to have completed what was refused."""
    refused = after.standing.verdict in ("rejected", "cancelled")
    return refused and after.standing.reported == "completed" != before.standing.reported


def went_on(call: ToolCall) -> Literal["no", "perhaps", "unasked", "refused"]:
    """Whether it was done without a question, or although it was refused.

    Some agents say that a call is in progress just before they ask about it: `perhaps`. One that the agent reports as
    failed may be one that the agent itself did not permit.
    """
    standing = call.standing
    completed = standing.reported == "completed"
    if standing.questions and completed and not call.decision:
        return "unasked"
    if standing.questions or standing.asked == "allowed":
        return "no"
    if standing.asked:
        return "refused" if completed else "no"
    if completed:
        return "unasked"
    return "perhaps" if standing.reported == "in_progress" else "no"


_PLAIN = ("title", "name", "kind", "content", "locations", "raw_input", "raw_output")
_VERDICTS: dict[bool | None, Any] = {True: "", False: "rejected", None: "cancelled"}


def _standing(call: ToolCall, standing: Standing) -> ToolCall:
    return replace(call, standing=standing, status=_status(standing))


def _status(standing: Standing) -> Status:
    if standing.verdict in ("rejected", "cancelled") and not standing.questions:
        return standing.verdict
    if standing.reported not in FINAL and standing.questions:
        return "waiting"
    if standing.reported not in FINAL and standing.verdict == "closed":
        return "cancelled"
    return cast(Status, standing.reported)


def _further(reported: str, status: str | None) -> str:
    return status if status and _ORDER.get(status, _LAST) > _ORDER.get(reported, _LAST) else reported


def _equal(one: ToolCall, other: ToolCall) -> bool:
    """JSON may be nested as deep as the stack allows to read it, and deeper than it allows to compare it."""
    try:
        return one == other
    except RecursionError:
        return False


def _meta(old: Json, new: Json) -> Json:
    meta = {**old, **new}
    delta = _output(meta.pop("terminal_output_delta", None))
    if delta:
        output = meta.get("terminal_output")
        whole = (_output(output) + delta)[-TERMINAL_LIMIT:]
        meta["terminal_output"] = {**(output if isinstance(output, dict) else {}), "data": whole}
    return meta


def _output(raw: Any) -> str:
    data = raw.get("data") if isinstance(raw, dict) else raw
    return data if isinstance(data, str) else ""
