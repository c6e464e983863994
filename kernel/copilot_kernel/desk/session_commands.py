"""Commands about the agent's sessions: list them, go on with one, begin a new one."""

from __future__ import annotations

from ..acp.messages import SessionInfo
from ..cells.cell import Cell
from ..commands import report
from ..commands.sessions import LAST, find_session, short_ids
from ..commands.table import TABLE
from ..errors import UsageError
from ..rendering.plain import visible_line, visible_text
from .desk import Desk, drawn, show, tell

ALL = "all"


async def sessions(desk: Desk, cell: Cell, rest: str) -> None:
    """`%sessions [all]`."""
    if rest not in ("", ALL):
        raise UsageError(f"%sessions {rest} means nothing.", f"Type {TABLE['sessions'].usage}.")
    await desk.list_sessions(here=rest != ALL)
    await _offer(desk, cell, cell.widgets)


async def resume(desk: Desk, cell: Cell, rest: str) -> None:
    """`%resume [ID | last]`."""
    if rest:
        await _go_on(desk, cell, await _find(desk, rest))
    else:
        await desk.list_sessions(here=True)
        await _offer(desk, cell, cell.live)


async def new(desk: Desk, cell: Cell, rest: str) -> None:
    """`%new`."""
    await desk.do(lambda chat: chat.new())
    tell(cell, "The next prompt begins a new conversation.")


async def close(desk: Desk, cell: Cell, rest: str) -> None:
    """`%close`."""
    await desk.do(lambda chat: chat.close_session())
    tell(cell, "The conversation is closed; the next prompt begins a new one.")


async def delete(desk: Desk, cell: Cell, rest: str) -> None:
    """`%delete ID`: `last` would be too easy to be wrong about."""
    if rest in ("", LAST):
        raise UsageError("Say which conversation is to be deleted.", f"Type {TABLE['delete'].usage}.")
    session = await _find(desk, rest)
    await desk.do(lambda chat: chat.delete(session.id))
    tell(cell, f"Deleted: {_name(session)}")


async def _find(desk: Desk, typed: str) -> SessionInfo:
    """An agent that does not list its sessions may still know one by its whole id."""
    try:
        found = await desk.list_sessions(here=typed == LAST)
    except UsageError:
        if typed == LAST:
            raise
        return SessionInfo(typed)
    return find_session(found, typed, desk.state.id if desk.state else "")


async def _offer(desk: Desk, cell: Cell, can_choose: bool) -> None:
    if not (can_choose and desk.sessions):
        show(cell, report.sessions(desk.situation(cell.live)))
    elif (session := await _choose(desk, cell)) is not None:
        await _go_on(desk, cell, session)


async def _choose(desk: Desk, cell: Cell) -> SessionInfo | None:
    from copilot_widgets.field import Field

    from ..cells.choosing import Menu, choose

    found, shorts, chosen = desk.sessions, short_ids(desk.sessions), list[SessionInfo]()
    here = desk.state.id if desk.state else ""
    told = [(_name(each), report.when(each.updated_at), shorts[each.id], "open" * (each.id == here)) for each in found]
    names = [visible_text(" · ".join(filter(None, parts))) for parts in told]

    async def apply(picks: tuple[int | None, ...]) -> str:
        chosen.extend(found[number] for number in picks if number is not None)
        return f"Going on with: {_name(chosen[0])}" if chosen else ""

    field = Field("Session", tuple(names), words=tuple(shorts[each.id] for each in found), tall=True)
    await choose(cell, Menu((field,), "Resume", drawn(report.sessions(desk.situation()))), apply)
    return chosen[0] if chosen else None


async def _go_on(desk: Desk, cell: Cell, session: SessionInfo) -> None:
    from ..cells.asking import Asking
    from ..cells.display import Display

    folder = desk.settings.folder
    display = Display(cell, Asking(cell, folder), cwd=folder, replays=True)
    try:
        turn = await desk.do(lambda chat: chat.resume(session.id, display))
        display.finish(turn)
    finally:
        display.close()
    if turn.session_id == session.id:
        tell(cell, f"Resumed: {_name(session)}")


def _name(session: SessionInfo) -> str:
    return visible_line(session.title) or session.id
