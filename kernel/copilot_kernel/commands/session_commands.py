"""Commands about the agent's sessions: list, resume, begin, close and delete them. Ids may be abbreviated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from copilot_widgets.field import PickerField

from ..acp.messages import SessionInfo
from ..chat.choices import Choice
from ..errors import UsageError
from ..rendering.plain import visible_line, visible_text
from ..rendering.report import Report
from .command_context import CommandContext, CommandState, Completions
from .command_output import CommandOutput, Menu, doing, show_done

MIN_ID_CHARS = 8
"""Characters of an id that are shown, if they suffice to tell it from the others."""
ALL, LAST = "all", "last"
MAX_SESSION_BUTTONS = 50
"""Sessions with a button; the others are resumed by their ID."""

_LISTS = "%sessions lists the conversations of this folder, %sessions all lists every conversation."


async def sessions(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%sessions [all]`."""
    if rest not in ("", ALL):
        raise UsageError(f'Unknown argument "{rest}".')
    await context.list_sessions(here=rest != ALL)
    await _choose(context, output, "sessions")


async def resume(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%resume [ID | last]`."""
    if rest:
        if done := await _resume(context, output, await find_by_id(context, rest)):
            show_done(output, done)
    else:
        await context.list_sessions(here=True)
        await _choose(context, output, "resume")


new = doing(lambda chat, _: chat.new(), "The next prompt begins a new conversation.")
close = doing(lambda chat, _: chat.close_session(), "The conversation is closed; the next prompt begins a new one.")


async def delete(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%delete ID`; not `%delete last`, with which it is too easy to delete the wrong one."""
    if rest in ("", LAST):
        raise UsageError("Which conversation?")
    session = await find_by_id(context, rest)
    await context.chat_runner.do(lambda chat: chat.delete(session.id))
    show_done(output, f"Deleted: {_name(session)}")


def session_ids(now: CommandState, typed: str) -> Completions:
    """Completions of an id."""
    shorts = short_ids(now.sessions)
    return 0, [Choice(each.id, shorts[each.id], each.title, each.updated_at) for each in now.sessions]


def resumable(now: CommandState, typed: str) -> Completions:
    """Completions after `%resume`."""
    return 0, [Choice(LAST, LAST, about="the one used last"), *session_ids(now, typed)[1]]


async def find_by_id(context: CommandContext, typed: str) -> SessionInfo:
    """The session that `typed` names; an agent that lists none may know it by its whole id. Raises UsageError."""
    try:
        found = await context.list_sessions(here=typed == LAST)
    except UsageError:
        if typed == LAST:
            raise
        return SessionInfo(typed)
    state = context.conversation.state
    return find_session(found, typed, state.id if state else "")


def find_session(sessions: Sequence[SessionInfo], typed: str, current: str = "") -> SessionInfo:
    """The session whose id begins as typed; `last` is the newest but `current`. Raises UsageError.

    `sessions` come newest first.
    """
    if typed == LAST:
        earlier = [session for session in sessions if session.id != current]
        if not earlier:
            raise UsageError("No earlier session in this folder.", _LISTS)
        return earlier[0]
    found = [session for session in sessions if session.id == typed]
    found = found or [session for session in sessions if session.id.startswith(typed)]
    if len(found) > 1:
        raise UsageError(f"{len(found)} sessions begin with {typed}.", f"Type more of the ID. {_LISTS}")
    if not found:
        raise UsageError(f"Unknown session {typed}.", _LISTS)
    return found[0]


def short_ids(sessions: Iterable[SessionInfo]) -> dict[str, str]:
    """The beginning of each id, long enough to tell them apart."""
    ids = {session.id for session in sessions}
    length = MIN_ID_CHARS
    while len({id[:length] for id in ids}) < len(ids):
        length += 1
    return {id: id[:length] for id in ids}


def listed(now: CommandState) -> Report:
    """The sessions; ids and times not in a batch run."""
    shorts, here = short_ids(now.sessions), now.state.id if now.state else ""
    if not now.sessions:
        return Report("Sessions", note="The agent lists none.")
    if not now.live:
        return Report("Sessions", ("Title",), tuple((_title(each),) for each in now.sessions))
    rows = [
        (shorts[each.id], _title(each), each.cwd, _when(each), "open" if each.id == here else "")
        for each in now.sessions
    ]
    return Report("Sessions", ("ID", "Title", "Folder", "Last used", ""), tuple(rows), "%resume ID resumes one.")


def ago(session: SessionInfo, now: datetime) -> str:
    """Say how long ago it was used; the date if that is more than a month, or the agent's form of it is unknown."""
    try:
        then = datetime.fromisoformat(session.updated_at)
    except ValueError:
        return _when(session)
    minutes = int((now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds() // 60)
    if minutes >= 30 * 24 * 60:
        return _when(session)
    for unit, length in (("d", 24 * 60), ("h", 60), ("min", 1)):
        if minutes >= length:
            return f"{minutes // length} {unit} ago"
    return "just now"


async def _choose(context: CommandContext, output: CommandOutput, command: str) -> None:
    now = context.situation(output.live)

    async def apply(_: int, index: int) -> str:
        return await _resume(context, output, now.sessions[index])

    if now.sessions:
        await output.choose(Menu(command, (_field(now),), listed(now), lambda: context.chat_runner.chat), apply)
    else:
        output.show(listed(now))


def _field(now: CommandState) -> PickerField:
    here, shown = now.state.id if now.state else "", now.sessions[:MAX_SESSION_BUTTONS]
    moment = datetime.now(UTC)
    names = (
        " · ".join(filter(None, (_title(each), ago(each, moment), "open" if each.id == here else ""))) for each in shown
    )
    more = len(now.sessions) - len(shown)
    label = f"The last {MAX_SESSION_BUTTONS} sessions; %resume ID resumes {more} more" if more else "Sessions"
    return PickerField(label, tuple(map(visible_text, names)), action="Resume")


async def _resume(context: CommandContext, output: CommandOutput, session: SessionInfo) -> str:
    """Show what was said. What was done; empty if the agent could not resume it."""
    turn = await output.replay(
        context.settings.folder, lambda view: context.chat_runner.do(lambda chat: chat.resume(session.id, view))
    )
    return f"Resumed: {_name(session)}" if turn.session_id == session.id else ""


def _name(session: SessionInfo) -> str:
    return visible_line(session.title) or session.id


def _title(session: SessionInfo) -> str:
    return session.title or "(no title)"


def _when(session: SessionInfo) -> str:
    """Return the time to the minute."""
    return session.updated_at[:16].replace("T", " ")
