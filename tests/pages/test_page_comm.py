"""The comm that connects a page with the kernel: whose messages count."""

import asyncio
from typing import Any

import comm
import pytest
from copilot_kernel.pages.page_comm import TARGET, PageComms

Message = dict[str, Any]
HELLO = {"hello": 1, "session": "first", "path": "book.ipynb"}


class Wire:
    """Comms with pages, and what came of what pages sent. Stands in for ipykernel's kernel."""

    iopub_socket = None

    def __init__(self, answers: Message | None = None) -> None:
        self.session, self._parent_ident = self, {"shell": b"ident"}
        self.sent: list[tuple[str, Message, Message]] = []
        self.received: list[Any] = []
        self._answers = answers
        self.comms = PageComms(self)
        self.comms.parent = {"header": {"msg_id": "the cell"}}

    def send(self, _: Any, kind: str, content: Message, parent: Message, ident: bytes) -> None:
        self.sent.append((kind, content, parent))
        if kind == "comm_open" and self._answers:
            self.says("first", self._answers)

    def says(self, session: str, data: Message, kind: str = "comm_msg") -> Message:
        """A message of the page `session` in the last comm that was opened."""
        found = [*comm.get_comm_manager().comms.values()][-1]
        message = {"header": {"session": session, "msg_type": kind}, "content": {"data": data}}
        (found.handle_close if kind == "comm_close" else found.handle_msg)(message)
        return message

    def listen(self, channel: Any) -> Any:
        channel.receive(
            lambda data, request: self.received.append((data, request.ident)), lambda: self.received.append("closed")
        )
        return channel


@pytest.fixture(autouse=True)
def manager(monkeypatch: pytest.MonkeyPatch) -> Any:
    manager = comm.base_comm.CommManager()
    monkeypatch.setattr(comm, "get_comm_manager", lambda: manager)
    monkeypatch.setattr(comm, "create_comm", comm.DummyComm)
    return manager


async def test_what_is_sent_belongs_to_the_cell_that_asked_last_and_the_end_is_an_event() -> None:
    wire = Wire()
    channel = wire.comms.open("first")
    wire.comms.parent = {"header": {"msg_id": "another"}}
    channel.send({"event": "turn"})
    channel.close()
    assert [(kind, content.get("target_name"), content["data"], parent) for kind, content, parent in wire.sent] == [
        ("comm_open", TARGET, {"version": 1}, {"header": {"msg_id": "the cell"}}),
        ("comm_msg", None, {"event": "turn"}, wire.comms.parent),
        ("comm_msg", None, {"event": "end"}, wire.comms.parent),
    ]


async def test_only_messages_of_the_page_that_was_asked_are_received() -> None:
    wire = Wire()
    wire.listen(wire.comms.open("first"))
    for session, data in (
        ("other", {"answer": "key"}),
        ("first", {"hello": 1, "session": "other"}),
        ("first", HELLO),
        ("other", HELLO),
        ("other", {"answer": "key"}),
        ("first", {"answer": "key"}),
    ):
        wire.says(session, data)
    wire.says("other", {}, "comm_close")
    await asyncio.sleep(0)
    assert wire.received == [(HELLO, b"ident"), ({"answer": "key"}, b"ident")]
    wire.says("first", {}, "comm_close")
    await asyncio.sleep(0)
    assert wire.received[2:] == ["closed"]


async def test_a_page_whose_comm_another_notebook_carries_may_answer_and_leave() -> None:
    wire = Wire()
    wire.listen(wire.comms.open("first"))
    for data in (HELLO, {"path": "other.ipynb"}):
        wire.says("carrier", data)
    wire.says("first", {"path": "forged.ipynb"})
    wire.says("carrier", {}, "comm_close")
    await asyncio.sleep(0)
    assert wire.received == [(HELLO, b"ident"), ({"path": "other.ipynb"}, b"ident"), "closed"]


async def test_an_answer_counts_however_soon_it_comes() -> None:
    """It may be handled in another thread before the kernel's message has been sent."""
    wire = Wire(HELLO)
    wire.listen(wire.comms.open("first"))
    await asyncio.sleep(0)
    assert wire.received == [(HELLO, b"ident")]


@pytest.mark.parametrize("asked", [True, False])
async def test_a_comm_that_a_page_opens_is_accepted_once_a_cell_has_asked(manager: Any, asked: bool) -> None:
    wire = Wire()
    connected = list[Any]()
    wire.comms.accept(lambda channel, hello: connected.append((wire.listen(channel), hello)))
    if asked:
        wire.comms.open("asks")
    else:
        wire.comms.parent = {}
    header = {"session": "carrier", "msg_type": "comm_open"}
    content = {"comm_id": "theirs", "target_name": TARGET, "data": HELLO}
    manager.comm_open(None, None, {"header": header, "content": content})
    await asyncio.sleep(0)
    assert [(channel.session, hello) for channel, hello in connected] == [("first", HELLO)] * asked
    if asked:
        wire.says("carrier", {"path": "other.ipynb"})
        await asyncio.sleep(0)
        assert wire.received == [({"path": "other.ipynb"}, b"ident")]
