"""A page that shows the notebook, as far as the kernel can tell: it speaks the comm over the test's client."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from copilot_kernel.pages.page_comm import TARGET

from ..jupyter.front_end import FrontEnd, Message, is_status, parent

Reply = dict[str, Any]


@dataclass
class FakePage:
    """Cells by id. `subshell`: where its messages are handled, as JupyterLab has it."""

    front_end: FrontEnd
    cells: dict[str, str]
    subshell: str | None = None
    comm: str = ""
    sent: list[Message] = field(default_factory=list)
    calls: list[Message] = field(default_factory=list)
    events: list[Message] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    """The ids of its requests to run a cell."""
    on_run: Callable[[], None] = lambda: None
    """Called between the kernel's call and the request."""
    answers: dict[str, list[Message]] = field(default_factory=dict)
    """What the user answers, by the keys of the questions: the next one when one was refused."""
    chooses: str = ""
    """The button that the user chooses in every other question."""
    outputs: dict[str, list[Message]] = field(default_factory=dict)
    """Of cells."""
    _seen: int = 0

    def __post_init__(self) -> None:
        self.front_end.has_extension = True

    def send(self, data: Message) -> str:
        self.sent.append(data)
        session = self.front_end.client.session
        message = session.msg("comm_msg", {"comm_id": self.comm, "data": data})
        message["header"]["subshell_id"] = self.subshell
        self.front_end.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def connect(self) -> None:
        """Open a comm, as a page does that hears of the kernel's."""
        self.comm, self._seen = uuid4().hex, len(self.front_end.published)
        hello = {"hello": 1, "session": "page", "path": "a/book.ipynb", "app": "JupyterLab", "version": "4"}
        self.front_end.send("comm_open", {"comm_id": self.comm, "target_name": TARGET, "data": hello})

    def play(self, request: str) -> None:
        """Answer the kernel until the cell is idle."""
        self.until(lambda m: is_status(m, "idle") and parent(m) == request)

    def until(self, wanted: Callable[[Message], bool]) -> None:
        """Answer the kernel until it has sent that."""
        message = None
        while message is None or not wanted(message):
            message = self.front_end.see(lambda m: True, start=self._seen)
            self._seen += 1
            self._handle(message)

    def _handle(self, message: Message) -> None:
        content = message["content"]
        if message["msg_type"] == "comm_open" and content["target_name"] == TARGET:
            self.comm = content["comm_id"]
            session = self.front_end.client.session.session
            self.send({"hello": 1, "session": session, "path": "a/book.ipynb", "app": "JupyterLab", "version": "4"})
        elif message["msg_type"] == "comm_msg" and content["comm_id"] == self.comm:
            data = content["data"]
            if "event" in data:
                if data["event"] not in ("standing", "ended"):  # whenever something changes; after the turn
                    self.events.append(data)
                if data["event"] in ("ask", "refused"):
                    self._answer(data)
            if calls := data.get("calls"):
                self.calls += calls
                self.send({"replies": [self._reply(call) for call in calls]})

    def _answer(self, asked: Message) -> None:
        choices = {each["label"]: each for each in asked.get("answers", {}).get("choices", ())}
        answers = self.answers.setdefault(asked["key"], [choices[self.chooses]] if self.chooses in choices else [])
        for option in ("forged", -1, 99):
            self.send({"answer": asked["key"], "option": option})
        if answers:
            self.send({"answer": asked["key"], **answers.pop(0)})

    def _reply(self, call: Message) -> Message:
        args = call["args"]
        id, expected = args.get("id"), args.get("expected")
        if id is not None and id not in self.cells:
            return {"call": call["call"], "error": {"kind": "missing", "message": f"No cell {id}."}}
        if expected is not None and self.cells[id] != expected:
            return {"call": call["call"], "error": {"kind": "changed", "message": "Changed."}}
        return {"call": call["call"], "result": self._do(call["op"], args)}

    def _do(self, op: str, args: Message) -> Reply:
        match op:
            case "read":
                ids = args.get("ids", list(self.cells))
                code = {"type": "code", "execution_count": None}
                cells = [{**code, "id": id, "source": self.cells[id], "outputs": self.outputs.get(id)} for id in ids]
                return {"cells": cells}
            case "claim":
                return {"cell": next((id for id, source in self.cells.items() if source == args["source"]), "")}
            case "documents":
                return {"paths": ["a/beside.txt"]}
            case "insert":
                id = f"new{len(self.cells)}"
                self.cells[id] = args["source"]
                return {"id": id}
            case "edit":
                self.cells[args["id"]] = args["source"]
            case "delete":
                del self.cells[args["id"]]
            case "run":
                self.on_run()
                self.runs.append(self.send({"run": args["run"], "id": args["id"], "code": self.cells[args["id"]]}))
        return {}


def subshell(front_end: FrontEnd) -> str:
    return str(front_end.control("create_subshell_request")["subshell_id"])
