"""A notebook whose Python kernel sends the page what a test says, over the comm of the front-end extension."""

import itertools
import json
import socket
from pathlib import Path
from types import TracebackType
from typing import Any

from playwright.sync_api import BrowserContext

from ..jupyter.front_end import until
from ..limits import LIMIT
from .lab import Lab, Notebook

CELLS = """() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells
  .map(cell => [cell.getId(), cell.getSource()])"""


class DrivenNotebook:
    """Cell 0 opens the comm and runs until the block ends; the cells of the test follow."""

    def __init__(
        self, context: BrowserContext, lab: Lab, name: str, *cells: str | dict[str, Any], classic: bool = False
    ) -> None:
        self._port_file = lab.root / f"{name}.port"
        folder = str(Path(__file__).parent)
        drive = f"import sys\nsys.path.append({folder!r})\nfrom comm_driver import drive\n"
        self.path = lab.write(
            f"{name}.ipynb", f"{drive}await drive({str(self._port_file)!r})", *cells, kernel="python3"
        )
        self.notebook = Notebook.open(context, lab, f"{name}.ipynb", classic=classic)
        self.page = self.notebook.page
        self._numbers = itertools.count(1)

    def __enter__(self) -> "DrivenNotebook":
        self.notebook.run(0, wait=False)
        self.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._port_file.is_file():
            self.finish()

    def connect(self) -> None:
        """Wait for the cell to listen, and for the page's hello."""
        until(lambda: self._port_file.is_file() and self._port_file.read_text(), "the cell listens")
        self._socket = socket.create_connection(("127.0.0.1", int(self._port_file.read_text())), LIMIT)
        self._lines = self._socket.makefile("r")
        until(self.heard, "the page says hello")
        self.id = self.page.evaluate(CELLS)[0][0]

    def finish(self) -> None:
        """End the cell."""
        self.send(finish=True)
        self.notebook.wait_status("idle")
        self.forget()

    def forget(self) -> None:
        """The kernel has gone, or the cell has ended."""
        self._port_file.unlink()
        self._lines.close()
        self._socket.close()

    def send(self, **data: Any) -> dict[str, Any]:
        """A message to the page, or an order to the driver."""
        self.post(**data)
        return dict(json.loads(self._lines.readline()))

    def post(self, **data: Any) -> None:
        """The same, where the kernel may end before it answers."""
        self._socket.sendall(json.dumps(data).encode() + b"\n")

    def heard(self) -> list[dict[str, Any]]:
        """All that the page has sent."""
        return list(self.send(heard=True)["heard"])

    def wait_heard(self, data: dict[str, Any]) -> None:
        """Until the page has sent `data`."""
        until(lambda: data in self.heard(), f"the page sends {data}")

    def event(self, event: str, **data: Any) -> None:
        """An event, which has no reply."""
        self.send(event=event, **data)

    def begin(self) -> None:
        """The turn of the driver's cell begins."""
        self.event("turn", state="working", agent="GitHub Copilot", cell=self.id)

    def call(self, op: str, **arguments: Any) -> dict[str, Any]:
        """One operation: its `result` or `error`."""
        return self.calls((op, arguments))[0]

    def calls(self, *operations: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Operations in one message."""
        calls = [{"call": next(self._numbers), "op": op, "args": arguments} for op, arguments in operations]
        replies = self.send(calls=calls)["replies"]
        assert [reply.pop("call") for reply in replies] == [call["call"] for call in calls]
        return list(replies)

    def cells(self) -> list[list[str]]:
        """Id and source of each cell after the driver's."""
        return list(self.page.evaluate(CELLS)[1:])

    def sources(self) -> list[str]:
        """Of the cells after the driver's."""
        return [source for _, source in self.cells()]

    def ids(self) -> list[str]:
        """Of the cells after the driver's."""
        return [id for id, _ in self.cells()]
