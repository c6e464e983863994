"""Commands about the agent's sessions: list them, go on with one, begin a new one."""

from __future__ import annotations

from ..acp.messages import SessionInfo
from ..errors import UsageError
from ..rendering.plain import visible_line, visible_text
from . import report
from .cell import Cell
from .context import CommandContext, drawn, show, tell
from .sessions import LAST, find_session, short_ids
from .table import TABLE

ALL = "all"


async def sessions(command_context: CommandContext, cell: Cell, rest: str) -> None:
    """`%sessions [all]`."""
    if rest not in ("", ALL):
        raise UsageError(f"%sessions {rest} means nothing.", f"Type {TABLE['sessions'].usage}.")
    await command_context.list_sessions(here=rest != ALL)
    await _offer(command_context, cell, cell.widgets)


async def resume(command_context: CommandContext, cell: Cell, rest: str) -> None:
    """`%resume [ID | last]`."""
    if rest:
        await _go_on(command_context, cell, await _find(command_context, rest))
    else:
        await command_context.list_sessions(here=True)
        await _offer(command_context, cell, cell.live)


async def new(command_context: CommandContext, cell: Cell, rest: str) -> None:
    """`%new`."""
    await command_context.do(lambda chat: chat.new())
    tell(cell, "The next prompt begins a new conversation.")


async def close(command_context: CommandContext, cell: Cell, rest: str) -> None:
    """`%close`."""
    await command_context.do(lambda chat: chat.close_session())
    tell(cell, "The conversation is closed; the next prompt begins a new one.")


async def delete(command_context: CommandContext, cell: Cell, rest: str) -> None:
    """`%delete ID`: `last` would be too easy to be wrong about."""
    if rest in ("", LAST):
        raise UsageError("Say which conversation is to be deleted.", f"Type {TABLE['delete'].usage}.")
    session = await _find(command_context, rest)
    await command_context.do(lambda chat: chat.delete(session.id))
    tell(cell, f"Deleted: {_name(session)}")


async def _find(command_context: CommandContext, typed: str) -> SessionInfo:
    """An agent that does not list its sessions may still know one by its whole id."""
    try:
        found = await command_context.list_sessions(here=typed == LAST)
    except UsageError:
        if typed == LAST:
            raise
        return SessionInfo(typed)
    return find_session(found, typed, command_context.state.id if command_context.state else "")


async def _offer(command_context: CommandContext, cell: Cell, can_choose: bool) -> None:
    if not (can_choose and command_context.sessions):
        show(cell, report.sessions(command_context.situation(cell.live)))
    elif (session := await _choose(command_context, cell)) is not None:
        await _go_on(command_context, cell, session)


async def _choose(command_context: CommandContext, cell: Cell) -> SessionInfo | None:
    from copilot_widgets.field import Field

    from .choosing import Menu, choose

    found, shorts, chosen = command_context.sessions, short_ids(command_context.sessions), list[SessionInfo]()
    here = command_context.state.id if command_context.state else ""
    told = [(_name(each), report.when(each.updated_at), shorts[each.id], "open" * (each.id == here)) for each in found]
    names = [visible_text(" · ".join(filter(None, parts))) for parts in told]

    async def apply(picks: tuple[int | None, ...]) -> str:
        chosen.extend(found[number] for number in picks if number is not None)
        return f"Going on with: {_name(chosen[0])}" if chosen else ""

    field = Field("Session", tuple(names), words=tuple(shorts[each.id] for each in found), tall=True)
    await choose(cell, Menu((field,), "Resume", drawn(report.sessions(command_context.situation()))), apply)
    return chosen[0] if chosen else None


async def _go_on(command_context: CommandContext, cell: Cell, session: SessionInfo) -> None:
    from .asking import Asking
    from .display import Display

    folder = command_context.settings.folder
    display = Display(cell, Asking(cell, folder), cwd=folder, replays=True)
    try:
        turn = await command_context.do(lambda chat: chat.resume(session.id, display))
        display.finish(turn)
    finally:
        display.close()
    if turn.session_id == session.id:
        tell(cell, f"Resumed: {_name(session)}")


def _name(session: SessionInfo) -> str:
    return visible_line(session.title) or session.id
