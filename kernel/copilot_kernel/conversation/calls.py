"""Changes of a tool call by an update, a question, an answer and the end of the turn.

A status never goes backwards, and three things outrank what the agent reports: an open question, a "no", and a
cancel. A call that was closed only because the turn ended still takes the agent's late `completed` or `failed`: that
is a fact about the world.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal, cast

from msgspec.structs import replace

from ..acp.messages import Diff, Json, ToolCallUpdate
from .model import FINAL, CallOutcome, Status, ToolCall

MAX_TERMINAL_CHARS = 200_000
"""Limit of a terminal's output; the newest characters are kept."""

_ORDER = {"pending": 0, "in_progress": 1}
_LAST = len(_ORDER)
# Of an input, searched for what a title may name.
_MAX_TEXTS = 100
_COMMANDS = frozenset({"command", "cmd"})
# In paths and command lines, but not in a word that a title may hold by chance.
_SPECIFIC = re.compile(r"[/\\.\s]")
_WORD = re.compile(r"\w")
_PLAIN = ("title", "name", "kind", "content", "locations", "raw_input", "raw_output")
_VERDICTS: dict[bool | None, Any] = {True: "", False: "rejected", None: "cancelled"}


def merged(call: ToolCall, update: ToolCallUpdate) -> ToolCall:
    """`call` after `update`: None means unchanged, content replaces. The same object if nothing changed."""
    given = {name: value for name in _PLAIN if (value := getattr(update, name)) is not None}
    if update.meta is not None:
        given["meta"] = _merged_meta(call.meta, update.meta)
    outcome = call.outcome
    if update.status and _ORDER.get(update.status, _LAST) > _ORDER.get(outcome.reported, _LAST):
        outcome = replace(outcome, reported=update.status)
    after = _with_outcome(replace(call, **given), outcome)
    after = replace(after, fuller_title=fuller(call.best_title, after))
    return call if equal(call, after) else after


def with_question(call: ToolCall) -> ToolCall:
    """`call` with one more open question; an earlier answer no longer counts, and neither does `unasked`."""
    outcome = replace(call.outcome, questions=call.outcome.questions + 1, asked="open", verdict="")
    return _with_outcome(replace(call, unasked=None), outcome)


def with_answer(call: ToolCall, allowed: bool | None, words: str) -> ToolCall:
    """`call` with one question answered; None is cancelled. A final status stays."""
    verdict = call.outcome.verdict if call.status in FINAL else _VERDICTS[allowed]
    outcome = replace(
        call.outcome,
        questions=max(0, call.outcome.questions - 1),
        asked="allowed" if allowed else "refused",
        verdict=verdict,
    )
    decision = call.decision if words in call.decision else "; ".join(filter(None, (call.decision, words)))
    return _with_outcome(replace(call, decision=decision), outcome)


def at_turn_end(call: ToolCall, stop_reason: str) -> ToolCall:
    """`call` at the end of a turn: many agents send no final status after a rejection or cancellation."""
    if call.status in FINAL:
        return call
    if not call.call_id and call.outcome.asked == "allowed" and stop_reason != "cancelled":
        return _with_outcome(call, replace(call.outcome, reported="completed"))  # only a question, and it was answered
    verdict = "cancelled" if stop_reason == "cancelled" or call.outcome.questions else "closed"
    return _with_outcome(call, replace(call.outcome, questions=0, verdict=cast(Any, verdict)))


def is_of_sub_agent(call: ToolCall) -> bool:
    """Return True if GitHub Copilot marks the call as an action of an agent that it started for a task."""
    theirs = call.meta.get("github.com/copilot")
    return isinstance(theirs, dict) and bool(theirs.get("agentId"))


def runs_task(call: ToolCall) -> bool:
    """Return True if a sub-agent works for an unfinished call while the agent that started it waits in silence.

    That of GitHub Copilot is `task`, of Claude `Task`.
    """
    given = call.raw_input if isinstance(call.raw_input, dict) else {}
    return not {"agent_type", "subagent_type"}.isdisjoint(given) and given.get("mode") != "background"


def completed_anyway(before: ToolCall, after: ToolCall) -> bool:
    """The agent has just reported as completed what was refused."""
    refused = after.outcome.verdict in ("rejected", "cancelled")
    return refused and after.outcome.reported == "completed" != before.outcome.reported


def went_on(call: ToolCall) -> Literal["no", "perhaps", "unasked", "refused"]:
    """Return True if a call ran without a question, or although it was refused.

    `perhaps`: in progress, since some agents report that just before they ask. A failed call may be one that the agent
    itself did not permit: `no`.
    """
    outcome = call.outcome
    completed = outcome.reported == "completed"
    if outcome.questions and completed and not call.decision:
        return "unasked"
    if outcome.questions or outcome.asked == "allowed":
        return "no"
    if outcome.asked:
        return "refused" if completed else "no"
    if completed:
        return "unasked"
    return "perhaps" if outcome.reported == "in_progress" else "no"


def _with_outcome(call: ToolCall, outcome: CallOutcome) -> ToolCall:
    return replace(call, outcome=outcome, status=_status(outcome))


def _status(outcome: CallOutcome) -> Status:
    if outcome.verdict in ("rejected", "cancelled") and not outcome.questions:
        return outcome.verdict
    if outcome.reported not in FINAL and outcome.questions:
        return "waiting"
    if outcome.reported not in FINAL and outcome.verdict == "closed":
        return "cancelled"
    return cast(Status, outcome.reported)


def equal(one: object, other: object) -> bool:
    """Compare values with JSON in them; what is nested too deep to be compared counts as different."""
    try:
        return bool(one == other)
    except RecursionError:
        return False


def _merged_meta(old: Json, new: Json) -> Json:
    meta = {**old, **new}
    delta = _output(meta.pop("terminal_output_delta", None))
    if delta:
        output = meta.get("terminal_output")
        whole = (_output(output) + delta)[-MAX_TERMINAL_CHARS:]
        meta["terminal_output"] = {**(output if isinstance(output, dict) else {}), "data": whole}
    return meta


def _output(raw: Any) -> str:
    data = raw.get("data") if isinstance(raw, dict) else raw
    return data if isinstance(data, str) else ""


# -- titles ----------------------------------------------------------------------------------------------------------


def fuller(earlier: str, call: ToolCall) -> str:
    """`earlier` if it names the file, command or server of `call` and `call.title` does not; otherwise empty.

    Agents title one call several times: Copilot's permission request says "Create file" or "echo" of what it announced
    as "Creating /project/new.py" or "lab-echo" (tool `echo` of the MCP server `lab`).
    """
    title = call.title
    if not title or earlier == title:
        return ""
    if earlier.endswith(title) and earlier[: -len(title)].endswith(("-", "_", ".", ":", "/")):
        return earlier  # SERVER-TOOL, and then TOOL
    subjects = list(islice(_subjects(call), _MAX_TEXTS))
    named_then, named_now = (any(each in words for each in subjects) for words in (earlier, title))
    return earlier if named_then and not named_now else ""


def _subjects(call: ToolCall) -> Iterator[str]:
    """Paths, with their last part alone too, and commands."""
    paths = (*(place.path for place in call.locations), *(part.path for part in call.content if isinstance(part, Diff)))
    for text in (*paths, *_texts(call.raw_input)):
        yield from filter(_WORD.search, (text, posixpath.basename(text)))


def _texts(raw: Any) -> Iterator[str]:
    members = raw.items() if isinstance(raw, Mapping) else ()
    for name, value in islice(members, _MAX_TEXTS):
        for text in islice(value, _MAX_TEXTS) if isinstance(value, list) else (value,):
            if isinstance(text, str) and text and (name in _COMMANDS or _SPECIFIC.search(text)):
                yield text
