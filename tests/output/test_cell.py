"""What a cell sends, and whose answers it takes; between two sockets in this process."""

import asyncio
import json
from collections.abc import Iterator
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import pytest
import zmq
from copilot_kernel.jupyter.comms import KernelComm
from copilot_kernel.output.cell import Cell, MessageChannel, Request
from copilot_kernel.rendering.plain import encodable
from jupyter_client.session import Session

from ..limits import LIMIT, settled, until


class Wire:
    """The kernel's sockets, and the front end's other end of them."""

    def __init__(self, context: zmq.Context[Any]) -> None:
        self.ours, self.theirs = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        self.theirs.identity = b"front end"
        self.ours.bind("inproc://stdin")
        self.theirs.connect("inproc://stdin")
        self.published: list[dict[str, Any]] = []
        self.session = Session(key=b"secret")
        self.front_end = Session(key=b"secret")

    def cell(self, *, live: bool = True, cell_id: str | None = None) -> Cell:
        shell_parent = ContextVar[Any]("parent")
        shell_parent.set({"header": {"msg_id": "another"}})
        kernel: Any = SimpleNamespace(
            session=SimpleNamespace(send=self.send, recv=self.session.recv),
            stdin_socket=self.ours,
            iopub_socket=None,
            _topic=str.encode,
            get_parent=lambda channel: shell_parent.get(),
            _shell_parent=shell_parent,
        )
        self.kernel = kernel
        return Cell(
            MessageChannel(kernel, SimpleNamespace(widgets_seen=False, undrawn=False)),
            Request([b"front end"], {"header": {"msg_id": "this cell", "session": "page"}}),
            live=live,
            cell_id=cell_id,
        )

    def send(self, socket: Any, msg_type: str, content: Any, parent: Any, **more: Any) -> Any:
        if socket is self.ours:
            return self.session.send(socket, msg_type, content, parent, ident=more["ident"])
        self.published.append({"type": msg_type, "content": content, "parent": parent["header"]["msg_id"]})
        return None

    async def question(self) -> dict[str, Any]:
        """The next input_request, as the front end has it."""
        await until(lambda: self.theirs.poll(0))
        _, message = self.front_end.recv(self.theirs)
        return dict(message)

    async def asked(self, cell: Cell, prompt: str) -> tuple[asyncio.Task[str], dict[str, Any]]:
        """A question that waits, and what the front end has of it."""
        asking = asyncio.create_task(cell.input(prompt))
        return asking, await self.question()

    async def withdrawn(self, cell: Cell, prompt: str) -> dict[str, Any]:
        """A question that nobody waits for any more, as the front end has it."""
        asking, question = await self.asked(cell, prompt)
        asking.cancel()
        return question

    def reply(self, value: Any, question: dict[str, Any] | None = None) -> None:
        self.front_end.send(self.theirs, "input_reply", {"value": value}, question)


@pytest.fixture
def wire() -> Iterator[Wire]:
    context: zmq.Context[Any] = zmq.Context()
    yield Wire(context)
    context.destroy(linger=0)


async def within(answer: Any) -> Any:
    return await asyncio.wait_for(answer, LIMIT)


async def test_an_answer_is_taken_whether_or_not_it_says_what_it_answers(wire: Wire) -> None:
    cell = wire.cell()
    first, question = await wire.asked(cell, "One? ")
    wire.reply("1", question)
    answers = [await within(first)]
    second, question = await wire.asked(cell, "Two? ")
    wire.reply("2")

    assert [*answers, await within(second)] == ["1", "2"]
    assert (question["content"], question["parent_header"]) == (
        {"prompt": "Two? ", "password": False},
        {"msg_id": "this cell", "session": "page"},
    )


async def test_an_answer_to_a_withdrawn_question_is_none(wire: Wire) -> None:
    cell = wire.cell()
    old = await wire.withdrawn(cell, "One? ")
    asking, new = await wire.asked(cell, "Two? ")
    wire.reply("late", old)
    wire.reply("right", new)
    assert await within(asking) == "right"


async def test_an_answer_that_was_typed_for_a_withdrawn_question_is_none_though_it_does_not_say_so(wire: Wire) -> None:
    """A console goes on showing the first prompt, takes a line for it, and only then shows the second one."""
    cell = wire.cell()
    await wire.withdrawn(cell, "Run ls? ")
    asking, _ = await wire.asked(cell, "Run rm? ")
    wire.reply("yes, run ls")
    wire.reply("no")
    assert await within(asking) == "no"
    again, _ = await wire.asked(cell, "Run pwd? ")
    wire.reply("yes")
    assert await within(again) == "yes"


async def test_a_late_answer_that_came_before_the_next_question_is_not_waited_for_again(wire: Wire) -> None:
    cell = wire.cell()
    await wire.withdrawn(cell, "Run ls? ")
    await asyncio.sleep(0)
    wire.reply("yes, run ls")
    wire.ours.poll(1000 * LIMIT)
    asking, _ = await wire.asked(cell, "Run rm? ")
    wire.reply("no")
    assert await within(asking) == "no"


async def test_an_answer_that_cannot_be_read_is_none(wire: Wire) -> None:
    asking, _ = await wire.asked(wire.cell(), "? ")
    wire.reply(None)
    Session(key=b"forged").send(wire.theirs, "input_reply", {"value": "forged"})
    wire.reply("readable")
    assert await within(asking) == "readable"


async def test_questions_are_asked_one_after_the_other(wire: Wire) -> None:
    cell = wire.cell()
    tasks = [asyncio.create_task(cell.input(f"{number}? ")) for number in (1, 2)]
    first = await wire.question()
    await settled()
    assert wire.theirs.poll(0) == 0
    wire.reply("a", first)
    wire.reply("b", await wire.question())
    assert await within(asyncio.gather(*tasks)) == ["a", "b"]


@pytest.mark.parametrize("live", [True, False])
async def test_the_end_of_input_and_an_empty_room_are_the_same_error(wire: Wire, live: bool) -> None:
    asking = asyncio.create_task(wire.cell(live=live).input("? "))
    if live:
        await wire.question()
        wire.reply("\x04")
    with pytest.raises(EOFError):
        await within(asking)


@pytest.mark.parametrize(("live", "cell_id", "widgets"), [(True, "c", True), (True, None, False), (False, "c", False)])
async def test_widgets_need_a_notebook_and_somebody_who_looks_at_it(
    wire: Wire, live: bool, cell_id: str | None, widgets: bool
) -> None:
    assert wire.cell(live=live, cell_id=cell_id).widgets is widgets


async def test_every_message_has_the_cell_as_its_parent_and_is_valid_json(wire: Wire) -> None:
    cell = wire.cell()
    cell.display({"text/plain": "half a pair \ud83d"}, metadata={"seconds": float("nan")})
    cell.update({"text/plain": "b"}, display_id="d")
    cell.stream("c")
    cell.error("E", "e", ["E"])
    cell.busy()
    plain = {"data": {"text/plain": "half a pair \ufffd"}, "metadata": {"seconds": None}, "transient": {}}
    update = {"data": {"text/plain": "b"}, "metadata": {}, "transient": {"display_id": "d"}}

    assert wire.published == [
        {"type": "display_data", "content": plain, "parent": "this cell"},
        {"type": "update_display_data", "content": update, "parent": "this cell"},
        {"type": "stream", "content": {"name": "stdout", "text": "c"}, "parent": "this cell"},
        {"type": "error", "content": {"ename": "E", "evalue": "e", "traceback": ["E"]}, "parent": "this cell"},
        {"type": "status", "content": {"execution_state": "busy"}, "parent": "this cell"},
    ]


async def test_a_comm_belongs_to_the_cell_that_owns_it_else_to_the_message_being_handled(wire: Wire) -> None:
    cell = wire.cell()
    comm = KernelComm(wire.kernel, comm_id="c", primary=False)
    with cell.owning():
        comm.send({"a": 1})
    comm.send({"a": 2})
    comm._closed = True  # nothing more to say when it is collected

    assert [(sent["parent"], sent["content"]["data"]) for sent in wire.published] == [
        ("this cell", {"a": 1}),
        ("another", {"a": 2}),
    ]


# -- what an agent sent may hold anything; a Jupyter message is JSON in UTF-8 ---------------------------------------


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ({"a": [1, True, None, 2.5, "ä 😀"]}, {"a": [1, True, None, 2.5, "ä 😀"]}),
        ([float("nan"), -float("inf")], [None, None]),
        ("half a pair: \ud83d", "half a pair: \ufffd"),
        ({"\udc80": (1, 2)}, {"\ufffd": [1, 2]}),
        ({3: object}, {"3": str(object)}),
    ],
)
def test_any_value_becomes_json(value: Any, cleaned: Any) -> None:
    assert encodable(value) == cleaned
    json.dumps(encodable(value), allow_nan=False, ensure_ascii=False).encode()


def test_what_is_nested_too_deep_is_cut() -> None:
    value: Any = "core"
    for depth in range(900):
        value = [value]
        assert depth >= 64 or "core" in json.dumps(encodable(value))
    assert json.dumps(encodable(value)).count("[") == 64
