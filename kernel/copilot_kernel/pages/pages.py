"""The pages of one kernel: which one writes the output of a turn, and how it gets the output that it has missed.

A page opens a comm when it connects: after a reload, as a second page, or after sleep. The page that ran the cell
writes as long as it answers; then the page of the notebook that has been connected longest. It gets the turns that no
page has saved completely, and takes each one over with a message, which becomes the parent of the output: the kernel
sends what the cell has shown again, and then what follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ..output.cell import Cell, Message, Request
from ..places import notebook_at_start
from .page import HELLO_SECONDS, Page, PageChannel
from .page_comm import PageComms

MAX_ENDED = 20
"""Limit of ended turns that are kept until they are saved; the oldest are forgotten first."""


@dataclass(eq=False, slots=True)
class ShownTurn:
    """Outputs of one run of a cell, until a page has saved them. A Python cell may have several prompts."""

    page: Page
    """The page that writes the outputs."""
    cells: list[Cell] = field(default_factory=list)
    count: int | None = None
    """The cell's prompt number; None until it has ended."""
    is_cleared: bool = False
    """The user has cleared the cell."""
    is_live: bool = False
    """The page has received all of it, though its comm came late."""

    @property
    def described(self) -> Message:
        """Description for the page, which compares it with its cell."""
        cell = self.cells[0]
        return {
            "turn": cell.request_id,
            "cell": cell.saved_id,
            "source": cell.source,
            "cleared": self.is_cleared,
        }

    def move(self, request: Request) -> None:
        """Send all outputs again, to the sender of `request`."""
        for cell in self.cells:
            cell.move(request)


class Pages:
    """The pages that have connected. Runs on the agent's loop."""

    def __init__(self, comms: PageComms) -> None:
        self._comms = comms
        # By the session of their messages, in the order of connection. A page that replaced another one also has the
        # session of that one, whose queued cells still run.
        self._pages: dict[str, Page] = {}
        self._last: Page | None = None
        """The page that ran a cell last."""
        self._turns: dict[str, ShownTurn] = {}
        # Sessions of servers that run cells for pages.
        self._servers: set[str] = set()
        # All pages know that the kernel has comms.
        self._is_announced = False
        # Set when a page connects.
        self._arrival = asyncio.Event()
        self._choosing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        # Called with a page that has connected.
        self.on_connect: Callable[[Page], None] | None = None
        # Called with what a page chooses in the menu of the agent.
        self.on_choice: Callable[[Page, str], None] | None = None
        comms.accept(self._connected)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Accept pages from now on, also before the first cell."""
        self._comms.loop = loop

    def post(self, event: str, **more: object) -> None:
        """Tell all pages of an event."""
        for page in dict.fromkeys(self._pages.values()):
            page.post(event, **more)

    async def claim(self, cell: Cell) -> Page | None:
        """Return the page of the user who watches `cell`, whose turn begins; None in a console or a batch run.

        Where a server runs cells, its requests say neither which cell that is nor who has pressed Run: that page knows.
        If none does, the cell belongs to the page that has claimed one of the same session, however long that is gone.
        """
        if cell.cell_id or not cell.session:
            return self.of(cell) if cell.cell_id and cell.live else None
        page, id = await self._claimed(cell)
        if page is not None:
            self._comms.parent = cell.request.parent
            self._servers.add(cell.session)
            self._pages[cell.session] = self._last = page
            cell.watch(id)
        return page

    async def _claimed(self, cell: Cell) -> tuple[Page | None, str]:
        """Return the page that claims `cell`, and the cell's id; without a claim, the page of the session.

        If none is connected to a kernel of Jupyter Server, all pages are told once that they can be: one that hears of
        a comm opens its own.
        """
        asked = set[Page]()
        page, id = await self._ask_pages(cell.source, asked)
        if not (asked or self._is_announced) and notebook_at_start():
            self._is_announced, self._comms.parent = True, cell.request.parent
            self._comms.open("")
            with suppress(TimeoutError):
                async with asyncio.timeout(HELLO_SECONDS):
                    while page is None:
                        await self._arrival.wait()
                        self._arrival.clear()
                        page, id = await self._ask_pages(cell.source, asked)
        known = self._pages.get(cell.session) if cell.session in self._servers else None
        return page or known, id

    async def _ask_pages(self, source: str, asked: set[Page]) -> tuple[Page | None, str]:
        """Return who claims a cell with this source, and its id. The page that has connected last is asked first."""
        for page in dict.fromkeys(reversed(self._pages.values())):
            if page.is_there and page not in asked:
                asked.add(page)
                if id := await page.claim(source):
                    return page, id
        return None, ""

    def of(self, cell: Cell) -> Page:
        """Return the page that runs `cell`, whose turn begins.

        A page that did not answer for an earlier cell is asked again.
        """
        self._comms.parent = cell.request.parent
        page = self._pages.get(cell.session)
        if page is not None and page.is_gone and cell.request_id not in self._turns:
            page.close()
            page = None
        if page is None:
            page = Page(self._comms.open(cell.session), self._heard, self._share, self._left)
        self._pages[cell.session] = self._last = page
        self._begin(cell, page)
        return page

    def ended(self, cell: Cell, count: int) -> None:
        """Note that nothing more is shown in `cell`, whose prompt number is `count`."""
        turn = self._turns.get(cell.request_id)
        if turn is None:
            return
        turn.count = count
        turn.page.post("ended", turn=cell.request_id, count=count)
        ended = [id for id, each in self._turns.items() if each.count is not None]
        for id in ended[:-MAX_ENDED]:
            del self._turns[id]

    def close(self) -> None:
        """End all comms."""
        self._comms.close()
        for page in {*self._pages.values()}:
            page.close()
        self._pages.clear()

    # -- what a page says ---------------------------------------------------------------------------------------------

    def _heard(self, page: Page, data: Message, request: Request | None) -> None:
        """Apply what `page` says of turns; ignore what is unknown, late or forged."""
        match data:
            case {"menu": str(chosen)} if self.on_choice:
                self.on_choice(page, chosen)
            case {"take": str(id)} if (turn := self._turns.get(id)) and request:
                turn.move(request)
                if turn.count is not None:
                    turn.page.post("ended", turn=id, count=turn.count)
            case {"look": _}:  # the user looks at a page that does not write: the one that does may have disappeared
                self._choose_soon(page.path)
            case {"saved": list(ids)}:
                for id in map(str, ids):
                    if (turn := self._turns.get(id)) and turn.count is not None:
                        del self._turns[id]
            case {"cleared": str(id)} if turn := self._turns.get(id):
                turn.is_cleared = True

    def _share(self, page: Page, message: Message) -> None:
        """Show to the other pages of the notebook what the page that ran a cell last is told of the state."""
        for other in dict.fromkeys(self._pages.values()) if page is self._last else ():
            if other is not page and other.path == page.path:
                other.show_elsewhere([message])

    def _left(self, page: Page) -> None:
        """Let another page continue for `page`, which was closed or does not answer, also with what a server runs."""
        sessions = [session for session, each in self._pages.items() if each is page]
        if len(sessions) > 1 or any(turn.page is page for turn in self._turns.values()):
            self._choose_soon(page.path)

    # -- choosing -----------------------------------------------------------------------------------------------------

    def _begin(self, cell: Cell, page: Page) -> None:
        self._turns = {
            id: turn
            for id, turn in self._turns.items()
            if turn.cells[0].cell_id != cell.cell_id or id == cell.request_id  # else the cell was run again
        }
        turn = self._turns.get(cell.request_id)
        if turn is None:
            turn = self._turns[cell.request_id] = ShownTurn(page, [cell])
            if page.session != cell.session:
                self._tell(page, turn)
        else:
            cell.request = turn.cells[0].request
            turn.cells.append(cell)
            turn.count = None

    def _connected(self, channel: PageChannel, hello: Message) -> None:
        page = Page(channel, self._heard, self._share, self._left, hello)
        before = self._pages.get(page.session)
        if before is not None and before.session == page.session:
            before.become(page)  # unless it is fresh, its connection was lost; what was sent meanwhile may be, too
            page = before
            for turn in self._turns.values():
                if turn.page is page:
                    turn.is_live = hello.get("fresh") is True
        else:
            self._pages[page.session] = page
        self._arrival.set()
        if self.on_connect:
            self.on_connect(page)
        if self._last is None:
            self._tell(page)  # at once: it may run a cell now, and has missed nothing of that
        else:
            self._choose_soon(page.path, page)

    def _choose_soon(self, path: str, connected: Page | None = None) -> None:
        task = asyncio.create_task(self._choose(path, connected))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _choose(self, path: str, connected: Page | None) -> None:
        """Let the page that has been connected longest write for pages that are gone.

        `connected` has just connected, and also gets the turns that it writes itself.
        """
        async with self._choosing:
            known = dict.fromkeys((*self._pages.values(), *(turn.page for turn in self._turns.values())))
            is_only = all(page.path in (path, "") for page in known)  # a page that never answered has not said which
            shown = [page for page in known if page.path == path or (is_only and not page.path)]
            for page in shown:
                if page is not connected:
                    await page.check()
            there = [page for page in shown if page.is_there and page.path == path]
            gone = [page for page in shown if page.is_gone]
            if not there:
                return
            heir = self._inherit(there[0], gone)
            if connected in there[1:]:
                self._tell(connected)
            if gone or connected is there[0]:
                self._tell(heir)
            newcomer, last = heir if connected is there[0] else connected, self._last
            if newcomer and last and newcomer is not last and last.path == path:
                newcomer.show_elsewhere(last.state)

    def _inherit(self, heir: Page, gone: Sequence[Page]) -> Page:
        """Let `heir` write for the pages in `gone`; return the page that writes.

        The running turn holds a reference to its page, so if that is gone, its object takes over the connection of
        `heir` and is returned.
        """
        lasting = self._last if self._last in gone and self._last is not None else heir
        replaced = {heir, *gone}
        self._pages = {session: lasting if page in replaced else page for session, page in self._pages.items()}
        for turn in self._turns.values():
            if turn.page in replaced:
                turn.page, turn.is_live = lasting, turn.is_live and turn.page is heir
        if lasting is not heir:
            lasting.become(heir)
        return lasting

    def _tell(self, page: Page, *turns: ShownTurn) -> None:
        """Send `page` these turns, or all that it writes, and the ids of the cells of all known turns."""
        others = [turn for turn in self._turns.values() if turn.page is not page and turn.page.path == page.path]
        told = turns or [turn for turn in self._turns.values() if turn.page is page and not turn.is_live]
        known = [turn.cells[0].saved_id for turn in self._turns.values()]
        elsewhere = [turn.cells[0].saved_id for turn in others]
        page.post("missed", turns=[turn.described for turn in told], known=known, elsewhere=elsewhere)
