"""Which page writes what a cell shows, and what one receives that has connected late."""

import asyncio
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from copilot_kernel.output.cell import Cell, MessageChannel, Request
from copilot_kernel.pages.page_reporter import PageReporter
from copilot_kernel.pages.pages import MAX_ENDED, Pages
from copilot_kernel.permissions.question import PermissionAnswer
from copilot_kernel.views.permission_question import PermissionQuestion

from ..limits import LIMIT
from ..output.recording import ALLOW, call, question
from .channels import Channel, Message

PATH = "folder/book.ipynb"


class Kernel:
    """A kernel and its connections to pages, by their sessions. Stands in for ipykernel's, and for `PageComms`."""

    stdin_socket = iopub_socket = None

    def __init__(self) -> None:
        self.session = self
        self.answering: set[str] = set()
        # Ids of the cells that pages have run, by session and source.
        self.runs: dict[tuple[str, str], str] = {}
        self.channels: list[Channel] = []
        self.sent: list[tuple[str, Message, Message]] = []
        self.pages = Pages(self)
        self._numbers = count(1)

    def accept(self, connected: Callable[[Channel, Message], None]) -> None:
        self.connected = connected

    def open(self, session: str) -> Channel:
        self.channels.append(self._channel(session))
        self.channels[-1].says(hello=1, session=session, path=PATH)
        return self.channels[-1]

    def _channel(self, session: str) -> Channel:
        def claim(args: Message) -> Message:
            return {"cell": self.runs.pop((session, args["source"]), "")}

        return Channel(session, self.answering, claim=claim)

    def server_cell(self, source: str = "Do it") -> Cell:
        """A cell that a server runs."""
        channel = MessageChannel(self, SimpleNamespace(widgets_seen=True, undrawn=False))
        return Cell(channel, self.request("server", code=source), live=False, cell_id=None)

    def calls(self, session: str) -> list[str]:
        """What a page was called to do."""
        sent = [data for each in self.channels if each.session == session for data in each.sent]
        return [call["op"] for data in sent for call in data.get("calls", ())]

    def _topic(self, topic: str) -> bytes:
        return topic.encode()

    def send(self, _: Any, kind: str, content: Message, parent: Message, ident: Any = None) -> None:
        self.sent.append((kind, content, parent))

    def request(self, session: str, kind: str = "execute_request", **content: Any) -> Request:
        header = {"msg_id": f"{kind} {next(self._numbers)}", "msg_type": kind, "session": session}
        return Request(b"", {"header": header, "content": content})

    def cell(self, session: str, cell_id: str = "c1", source: str = "Do it") -> Cell:
        channel = MessageChannel(self, SimpleNamespace(widgets_seen=True, undrawn=False))
        return Cell(channel, self.request(session, code=source), live=True, cell_id=cell_id)

    def channel(self, session: str) -> Channel:
        return next(each for each in reversed(self.channels) if each.session == session)

    def says(self, session: str, /, **data: Any) -> Request:
        """A message of a page, if it is there."""
        request = self.request(session, "comm_msg", data=data)
        self.channel(session).says(request, **data)
        return request

    async def run(self, session: str, **options: str) -> Cell:
        """A cell that a page runs, and that has shown something."""
        self.answering.add(session)
        cell = self.cell(session, **options)
        page = self.pages.of(cell)
        assert await page.known()
        cell.display({"text/plain": "shown"}, display_id="first")
        return cell

    async def connect(self, session: str, **more: Any) -> Message:
        """A page connects; what it has missed."""
        self.answering.add(session)
        self.channels.append(self._channel(session))
        self.connected(self.channels[-1], {"hello": 1, "session": session, "path": PATH, **more})
        return await self.heard(session, "missed")

    async def leave(self, session: str) -> None:
        self.channel(session).closed()
        self.answering.discard(session)

    def events(self, session: str) -> list[Message]:
        """What a page was told."""
        return [data for each in self.channels if each.session == session for data in each.sent if "event" in data]

    async def heard(self, session: str, event: str) -> Message:
        async with asyncio.timeout(LIMIT):
            while not (found := [each for each in self.events(session) if each["event"] == event]):
                await asyncio.sleep(0)
        return found[-1]

    def shown(self, request: Request) -> list[str]:
        """The texts of displays whose parent is `request`."""
        displays = ("display_data", "update_display_data", "error")
        return [
            content.get("ename") or content["data"]["text/plain"]
            for kind, content, parent in self.sent
            if kind in displays and parent is request.parent
        ]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Pages that are gone are so at once."""
    monkeypatch.setattr("copilot_kernel.pages.page.HELLO_SECONDS", 0.05)
    return Kernel()


def told(cell: Cell, *, cleared: bool = False) -> Message:
    return {"turn": cell.request_id, "cell": cell.cell_id, "source": cell.source, "cleared": cleared}


async def test_the_next_page_gets_the_turn_of_one_that_is_gone_and_all_that_it_shows(kernel: Kernel) -> None:
    cell = await kernel.run("first")
    kernel.answering.clear()
    assert await kernel.connect("second") == {
        "event": "missed",
        "turns": [told(cell)],
        "known": ["c1"],
        "elsewhere": [],
    }
    taking = kernel.says("second", take=cell.request_id)
    await settled(lambda: kernel.shown(taking) == ["shown"])
    cell.update({"text/plain": "more"}, display_id="first")
    cell.error("Failed", "so", [])
    assert kernel.shown(taking) == ["shown", "more", "Failed"]


async def test_a_page_that_answers_after_the_limit_gets_all_that_follows(kernel: Kernel) -> None:
    cell = kernel.cell("slow")
    page = kernel.pages.of(cell)
    assert not await page.known()
    page.post("turn", state="working")
    kernel.answering.add("slow")
    kernel.says("slow", hello=1, session="slow", path=PATH)
    await kernel.heard("slow", "turn")
    page.post("questions", waiting=[{"key": "1"}])
    assert [each["event"] for each in kernel.events("slow")] == ["turn", "questions"]
    assert await page.known()


async def test_while_the_page_that_asked_answers_another_gets_nothing_until_it_leaves(kernel: Kernel) -> None:
    cell = await kernel.run("first")
    assert await kernel.connect("second") == {"event": "missed", "turns": [], "known": ["c1"], "elsewhere": ["c1"]}
    await kernel.connect("third")
    before = len(kernel.events("second"))
    await kernel.leave("first")
    await settled(lambda: len(kernel.events("second")) > before)
    assert kernel.events("second")[-1] == {"event": "missed", "turns": [told(cell)], "known": ["c1"], "elsewhere": []}
    assert kernel.events("third") == [{"event": "missed", "turns": [], "known": ["c1"], "elsewhere": ["c1"]}]


async def test_a_page_that_somebody_looks_at_writes_if_the_one_that_asked_has_gone_without_a_word(
    kernel: Kernel,
) -> None:
    cell = await kernel.run("first")
    await kernel.connect("second")
    kernel.answering.discard("first")
    kernel.says("second", look=True)
    await settled(lambda: len(kernel.events("second")) == 2)
    assert kernel.events("second")[-1]["turns"] == [told(cell)]


async def test_a_turn_that_has_ended_is_told_until_a_page_has_saved_it(kernel: Kernel) -> None:
    cell = await kernel.run("first")
    kernel.pages.ended(cell, 3)
    assert kernel.events("first")[-1] == {"event": "ended", "turn": cell.request_id, "count": 3}
    kernel.answering.clear()
    assert (await kernel.connect("second"))["turns"] == [told(cell)]
    kernel.says("second", saved=[cell.request_id, "forged"])
    assert (await kernel.connect("second"))["turns"] == [told(cell)]
    await asyncio.sleep(0)
    kernel.answering.clear()
    assert (await kernel.connect("third"))["turns"] == []


async def test_what_was_cleared_is_told_and_what_was_run_again_is_not(kernel: Kernel) -> None:
    await kernel.run("first", source="before")
    again = await kernel.run("first")
    kernel.says("first", cleared=again.request_id)
    await asyncio.sleep(0)
    kernel.answering.clear()
    assert (await kernel.connect("second"))["turns"] == [told(again, cleared=True)]


async def test_the_state_and_the_questions_are_told_again(kernel: Kernel) -> None:
    cell = await kernel.run("first")
    turn = PageReporter(kernel.pages.of(cell), "c1")
    turn.begin(lambda: "Agent")
    turn.report(["allows everything"])
    kernel.answering.clear()
    await kernel.connect("second")
    assert [each["event"] for each in kernel.events("second")] == ["turn", "standing", "missed"]
    turn.end(["c1"])
    assert kernel.events("second")[-1]["state"] == "idle"


async def test_the_state_is_told_to_every_page_of_the_notebook_and_to_one_that_connects(kernel: Kernel) -> None:
    await kernel.run("first", cell_id="c0")
    await kernel.connect("second")
    cell = await kernel.run("third")
    turn = PageReporter(kernel.pages.of(cell), "c1")
    turn.begin(lambda: "Agent")
    told = {"event": "turn", "state": "working", "agent": "Agent", "cell": "c1"}
    assert kernel.events("third")[-1] == told
    for session in ("first", "second"):
        assert kernel.events(session)[-1] == {**told, "elsewhere": True}
    await kernel.connect("fourth")
    await settled(lambda: kernel.events("fourth")[-1] == {**told, "elsewhere": True})


async def test_what_a_page_ran_before_is_not_the_state_of_another_that_works_now(kernel: Kernel) -> None:
    PageReporter(kernel.pages.of(await kernel.run("first", cell_id="c0")), "c0").begin(lambda: "Before")
    turn = PageReporter(kernel.pages.of(await kernel.run("second")), "c1")
    turn.begin(lambda: "Agent")
    before = len(kernel.events("second"))
    await kernel.connect("first")
    await settled(lambda: kernel.events("first")[-1].get("elsewhere") is True)
    assert kernel.events("first")[-1]["agent"] == "Agent"
    assert kernel.events("second")[before:] == []


async def test_a_page_whose_connection_was_lost_gets_its_own_turns_again(kernel: Kernel) -> None:
    cell = await kernel.run("first")
    await kernel.connect("second")
    assert (await kernel.connect("first"))["turns"] == [told(cell)]
    assert kernel.events("second") == [{"event": "missed", "turns": [], "known": ["c1"], "elsewhere": ["c1"]}]


async def test_the_turn_of_a_page_that_never_answered_goes_to_the_next(kernel: Kernel) -> None:
    cell = kernel.cell("first")
    page = kernel.pages.of(cell)
    assert (await kernel.connect("second"))["turns"] == [told(cell)]
    assert page.is_there


async def test_a_page_that_was_asked_answers_that_question_alone(kernel: Kernel) -> None:
    cell = await kernel.run("first")
    asked = PermissionQuestion(question(call(1)))
    asking = asyncio.create_task(kernel.pages.of(cell).ask(asked))
    key = (await kernel.heard("first", "ask"))["key"]
    for answered, option in (("1", 0), (key, 99), (key, 0)):
        assert not asked.answer.done()
        kernel.says("first", answer=answered, option=option)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert asked.answer.result() == PermissionAnswer(ALLOW, "you")
    asking.cancel()


async def test_a_page_that_opens_a_comm_while_the_kernel_does_is_there_with_its_own(kernel: Kernel) -> None:
    cell = kernel.cell("first")
    waiting = asyncio.create_task(kernel.pages.of(cell).known())
    await asyncio.sleep(0)
    assert (await kernel.connect("first"))["turns"] == [told(cell)]
    assert await waiting


async def test_a_fresh_page_has_missed_nothing_of_a_cell_that_runs_when_it_connects(kernel: Kernel) -> None:
    cell = kernel.cell("first")
    kernel.pages.of(cell)
    assert (await kernel.connect("first", fresh=True))["turns"] == []
    kernel.channels[-1].sent.clear()
    assert (await kernel.connect("first"))["turns"] == [told(cell)]  # its connection was lost


async def test_a_page_that_connects_before_it_runs_a_cell_misses_nothing(kernel: Kernel) -> None:
    assert (await kernel.connect("early"))["turns"] == []
    cell = await kernel.run("early")
    kernel.pages.ended(cell, 1)
    await asyncio.sleep(0)
    assert [each["turns"] for each in kernel.events("early") if each["event"] == "missed"] == [[]]


async def test_a_page_that_comes_back_takes_nothing_from_the_one_that_writes_now(kernel: Kernel) -> None:
    cell = await kernel.run("first")
    kernel.answering.clear()
    assert (await kernel.connect("second"))["turns"] == [told(cell)]
    assert (await kernel.connect("first"))["turns"] == []
    other = await kernel.run("second", cell_id="c2")
    assert kernel.pages.of(other).session == "second"


async def test_a_cell_that_was_queued_on_a_page_that_is_gone_is_told_when_it_runs(kernel: Kernel) -> None:
    await kernel.run("first")
    kernel.answering.clear()
    await kernel.connect("second")
    queued = kernel.cell("first", "c2")
    kernel.pages.of(queued)
    assert kernel.events("second")[-1] == {
        "event": "missed",
        "turns": [told(queued)],
        "known": ["c1", "c2"],
        "elsewhere": [],
    }


async def test_of_turns_that_nobody_saves_the_last_are_kept(kernel: Kernel) -> None:
    for number in range(MAX_ENDED + 5):
        kernel.pages.ended(await kernel.run("first", cell_id=f"c{number}"), number)
    kernel.answering.clear()
    turns = (await kernel.connect("second"))["turns"]
    assert [turn["cell"] for turn in turns] == [f"c{number}" for number in range(5, MAX_ENDED + 5)]


# -- cells that a server runs ---------------------------------------------------------------------------------------


def watched(cell: Cell) -> tuple[bool, bool, str | None, str, bool]:
    return cell.live, cell.server_run, cell.cell_id, cell.saved_id, cell.widgets


async def test_a_cell_that_a_server_runs_belongs_to_the_page_that_has_run_it_which_alone_is_asked(
    kernel: Kernel,
) -> None:
    for session in ("first", "second", "third"):
        await kernel.connect(session)
    kernel.runs["second", "Do it"] = "c5"
    cell = kernel.server_cell()
    page = await kernel.pages.claim(cell)
    assert page is not None
    assert (page.session, watched(cell)) == ("second", (True, True, "c5", "c5", False))
    assert [kernel.calls(session).count("claim") for session in ("third", "second", "first")] == [1, 1, 0]
    asking = asyncio.create_task(page.ask(PermissionQuestion(question(call(1)))))
    await kernel.heard("second", "ask")
    assert [each for session in ("first", "third") for each in kernel.events(session) if each["event"] == "ask"] == []
    asking.cancel()
    assert (await kernel.connect("fourth"))["turns"] == []


async def test_a_cell_of_a_server_that_no_page_claims_stays_as_it_is(kernel: Kernel) -> None:
    await kernel.connect("first")
    cell = kernel.server_cell()
    assert await kernel.pages.claim(cell) is None
    assert watched(cell) == (False, False, None, "", False)


async def test_a_request_without_a_cell_of_a_page_that_has_run_others_is_one_of_a_console(kernel: Kernel) -> None:
    await kernel.run("server")
    cell = kernel.server_cell()
    assert await kernel.pages.claim(cell) is None
    assert watched(cell) == (False, False, None, "", False)


async def test_where_there_is_neither_page_nor_server_nothing_is_sent_or_awaited(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    with pytest.raises(StopIteration) as ended:
        kernel.pages.claim(kernel.server_cell()).send(None)
    assert (ended.value.value, kernel.channels, kernel.sent) == (None, [], [])


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter Server has started the kernel for a notebook."""
    monkeypatch.setenv("JPY_SESSION_NAME", "/project/book.ipynb")
    monkeypatch.setattr("copilot_kernel.places.own_variable", lambda name, environ: environ.get(name, ""))


@pytest.mark.usefixtures("serving")
async def test_pages_that_have_not_connected_hear_of_the_kernel_once_and_the_right_one_claims(kernel: Kernel) -> None:
    claiming = asyncio.create_task(kernel.pages.claim(cell := kernel.server_cell()))
    await settled(lambda: [each.session for each in kernel.channels] == [""])
    kernel.runs["second", "Do it"] = "c5"
    await kernel.connect("first")
    assert not claiming.done()
    await kernel.connect("second")
    page = await claiming
    assert page is not None
    assert (page.session, cell.cell_id) == ("second", "c5")
    for session in ("first", "second"):
        await kernel.leave(session)
    await kernel.pages.claim(kernel.server_cell("Next"))
    assert [each.session for each in kernel.channels] == ["", "first", "second"]


async def test_a_later_cell_of_a_session_that_was_claimed_waits_for_a_page(kernel: Kernel) -> None:
    await kernel.connect("first")
    kernel.runs["first", "Do it"] = "c5"
    page = await kernel.pages.claim(kernel.server_cell())
    await kernel.leave("first")
    assert await kernel.pages.claim(cell := kernel.server_cell("Next")) is page
    assert watched(cell) == (True, True, None, "", False)
    assert page is not None
    asking = asyncio.create_task(page.ask(PermissionQuestion(question(call(1)))))
    await kernel.connect("second")
    await kernel.heard("second", "ask")
    asking.cancel()


async def test_another_page_asks_for_one_that_has_left_while_a_server_runs_its_cell(kernel: Kernel) -> None:
    await kernel.connect("first")
    await kernel.connect("second")
    kernel.runs["first", "Do it"] = "c5"
    page = await kernel.pages.claim(kernel.server_cell())
    assert page is not None
    asking = asyncio.create_task(page.ask(PermissionQuestion(question(call(1)))))
    await kernel.heard("first", "ask")
    await kernel.leave("first")
    await kernel.heard("second", "ask")
    asking.cancel()


async def test_a_request_that_names_its_cell_is_not_claimed(kernel: Kernel) -> None:
    await kernel.connect("first")
    kernel.runs["first", "Do it"] = "c5"
    page = await kernel.pages.claim(kernel.cell("first"))
    assert page is not None
    assert (page.session, kernel.runs) == ("first", {("first", "Do it"): "c5"})


async def settled(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not is_so():
            await asyncio.sleep(0)
