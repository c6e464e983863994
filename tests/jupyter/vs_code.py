"""A front end that behaves like VS Code's Jupyter extension, as far as a kernel can tell.

CI cannot have the real one. What it does and JupyterLab does not was seen in the extension 2026.6.1 in VS Code 1.139,
or in its source:

- A cell runs only if its language is registered and the kernel's; else ▷ does nothing: `supportedLanguages` in
  NotebookExecutionService of VS Code, `cellLanguageService.ts`.
- While the box for input is open, no other message is handled: `cellExecutionMessageHandler.ts` returns its promise,
  and @jupyterlab/services awaits it; ■ then said that the server hangs.
- An update that changes metadata restores all outputs of the cell from a stale copy. Updates and outputs of the last 10
  to 100 ms vanished; `cellExecutionMessageHandler.ts`, "very unsafe".
- The cell's last display id is forgotten when its outputs have been cleared, a while after it began:
  `cellDisplayIdTracker.ts`; the first status stayed for good.
- It opens no `jupyter.widget.control`, and refuses no comm whose target it does not know: `kernel.ts` registers
  `jupyter.widget` with a function that does nothing.
- ■ in a Python notebook is SIGINT to every descendant of the kernel by parent pid: `kernelProcess.node.ts`; the agent
  was restarted.
- `cellId` is a URI, whose fragment counts the cells as they were opened.
- Widgets are not drawn without the renderers extension, nor where their code cannot be loaded.
"""

import json
import signal
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import zmq

from ..limits import LIMIT
from ..processes import children, facts
from .asked import WIDGET_VIEW
from .front_end import FrontEnd, Message, models, parent

REGISTERED = ("python", "markdown", "plaintext", "javascript", "r", "julia")
"""Some of the languages that VS Code knows without extensions."""
CLEARED_SECONDS = 0.2
"""From the request to the event that the cell's outputs are cleared; in remote windows it was longer."""


@dataclass(eq=False)
class Cell:
    """A cell of the notebook that is open. `uri` names it as long as it is open, `id` in the file."""

    id: str
    source: str
    language: str
    uri: str
    kind: str = "code"
    outputs: list[Message] = field(default_factory=list)
    request: str = ""
    state: str = ""
    """`ok`, `error` or `aborted`, once it has run."""
    display_ids: list[str] = field(default_factory=list)
    cleared_at: float = 0.0
    stale: list[Message] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What its outputs say as plain text."""
        return "\n".join(str(each.get("text") or each.get("data", {}).get("text/plain", "")) for each in self.outputs)

    @property
    def views(self) -> list[str]:
        """The widgets that are shown, by their models."""
        shown = (each.get("data", {}).get(WIDGET_VIEW) for each in self.outputs)
        return [view["model_id"] for view in shown if view]


class VSCode:
    """The window of one notebook, whose kernel `front_end` has; `language` is that of its kernelspec."""

    def __init__(self, front_end: FrontEnd, path: Path, language: str, *, draws: bool = True) -> None:
        self.front_end, self.path, self.language = front_end, path, language
        self.draws = draws
        self.box: str | None = None
        """The prompt of the box for input at the top of the window, if one is open."""
        self.boxes: list[str] = []
        """The prompts of all boxes so far."""
        self.lost: list[str] = []
        """Display ids that were updated but are not known, or whose update made it rewrite the cell."""
        self.published: list[Message] = []
        self._replies: set[str] = set()
        self._viewed: set[str] = set()
        self._handles = count()
        self._poller = zmq.Poller()
        client = front_end.client
        for channel in (client.iopub_channel, client.shell_channel, client.stdin_channel, client.control_channel):
            self._poller.register(channel.socket, zmq.POLLIN)
        self.cells = [self._cell(each) for each in self._saved()["cells"]]

    # -- the notebook -------------------------------------------------------------------------------------------------

    def _saved(self) -> Message:
        return json.loads(self.path.read_text()) if self.path.exists() else {"cells": []}

    def _cell(self, saved: Message) -> Cell:
        """When the kernel is chosen, cells get its language if it is registered."""
        language = saved["metadata"].get("vscode", {}).get("languageId", "copilot")
        if self.language in REGISTERED:
            language = self.language
        return Cell(saved["id"], "".join(saved["source"]), language, self._uri(), saved["cell_type"])

    def _uri(self) -> str:
        return f"vscode-notebook-cell:{quote(str(self.path))}#W{next(self._handles)}s{b64encode(b'file').decode()}"

    def insert(self, source: str) -> Cell:
        """A new cell at the end."""
        kept = self.language if self.language in REGISTERED else "copilot"
        cell = Cell(f"saved-{len(self.cells)}", source, kept, self._uri())
        self.cells.append(cell)
        return cell

    def save(self) -> None:
        """Write the file. Outputs keep no display ids."""
        cells = [
            {
                "cell_type": cell.kind,
                "id": cell.id,
                "metadata": {} if cell.language == self.language else {"vscode": {"languageId": cell.language}},
                "source": cell.source,
                **({"outputs": list(map(_kept, cell.outputs)), "execution_count": None} if cell.kind == "code" else {}),
            }
            for cell in self.cells
        ]
        metadata = {"language_info": {"name": self.language}}
        self.path.write_text(json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))

    # -- a cell -------------------------------------------------------------------------------------------------------

    def start(self, cell: Cell | str) -> Cell:
        """▷ on a cell, or on a new one."""
        cell = self.insert(cell) if isinstance(cell, str) else cell
        supported = (self.language,) if self.language in REGISTERED else REGISTERED
        if cell.language not in supported:
            return cell
        cell.outputs, cell.stale, cell.state, cell.display_ids = [], [], "", []
        cell.cleared_at = time.monotonic() + CLEARED_SECONDS
        content = {"code": cell.source, "silent": False, "store_history": True, "user_expressions": {}}
        content |= {"allow_stdin": True, "stop_on_error": False}
        cell.request = self.front_end.send("execute_request", content, {"cellId": cell.uri})
        return cell

    def run(self, cell: Cell | str) -> Cell:
        """▷, and wait for its end."""
        return self.finish(self.start(cell))

    def finish(self, cell: Cell) -> Cell:
        """Wait for its end."""
        self.until(lambda: cell.state, "the end of the cell")
        return cell

    def until(self, condition: Callable[[], Any], what: str, limit: float = LIMIT) -> Any:
        """Handle messages until then."""
        end = time.monotonic() + limit
        while not (value := condition()):
            assert time.monotonic() < end, f"not within {limit} s: {what}\n{[cell.text for cell in self.cells[-2:]]}"
            self.handle_messages()
        return value

    def shows(self, cell: Cell, text: str) -> None:
        """Handle messages until the cell says `text`."""
        self.until(lambda: text in cell.text, text)

    def buttons(self, cell: Cell) -> dict[str, str]:
        """The models of the buttons that are shown in a cell, by what they say."""
        states = models(self.published)
        shown = _tree(states, cell.views if self.draws else [])
        return {states[each]["description"]: each for each in shown if states[each]["_model_name"] == "ButtonModel"}

    def states(self, view: str) -> list[Message]:
        """Of all models of a widget that is shown."""
        known = models(self.published)
        return [known[model] for model in _tree(known, [view])]

    def click(self, cell: Cell, name: str) -> None:
        """Click on a button, as soon as a click counts."""
        model = self.until(lambda: self._enabled(cell, name), f"the button {name}")
        self.front_end.press(model)

    def _enabled(self, cell: Cell, name: str) -> str | None:
        model = self.buttons(cell).get(name)
        return model if model and not models(self.published)[model].get("disabled") else None

    def type(self, text: str) -> None:
        """Type a line into the box, as soon as there is one, and close it."""
        self.until(lambda: self.box is not None, "a box for input")
        self.box = None
        self.front_end.client.input(text)

    def escape(self) -> None:
        """Close the box: the kernel gets an empty line."""
        self.type("")

    def interrupt(self, cell: Cell) -> None:
        """■, and wait for the end of the cell."""
        if self.language == "python":
            kernel = self.front_end.process
            facts(lambda process: process.send_signal(signal.SIGINT), (*children(kernel.pid), kernel))
        else:
            client = self.front_end.client
            client.control_channel.send(client.session.msg("interrupt_request", {}))
        self.finish(cell)

    # -- messages -----------------------------------------------------------------------------------------------------

    def handle_messages(self) -> None:
        """Those that have come, one after the other, unless a box is open."""
        if self.box is not None:
            time.sleep(0.01)
            return
        for socket, _ in self._poller.poll(50):
            _, message = self.front_end.client.session.recv(socket, zmq.NOBLOCK)
            if message is not None:
                self._handle(message)
                if self.box is not None:
                    return

    def _handle(self, message: Message) -> None:
        self.published.append(message)
        cell = next((each for each in self.cells if each.request and each.request == parent(message)), None)
        content, kind = message["content"], message["msg_type"]
        if cell and cell.cleared_at and time.monotonic() >= cell.cleared_at:
            cell.cleared_at = 0.0
            del cell.display_ids[-1:]
        if kind == "input_request":
            self.box = content["prompt"]
            self.boxes.append(content["prompt"])
        elif cell and kind in ("display_data", "update_display_data", "stream", "error"):
            before = deepcopy(cell.outputs)
            self._output(cell, kind, content)
            cell.stale = before
        elif cell and (kind == "execute_reply" or (kind == "status" and content["execution_state"] == "idle")):
            self._ended(cell, kind, content)
        self._draw()

    def _output(self, cell: Cell, kind: str, content: Message) -> None:
        display_id = content.get("transient", {}).get("display_id")
        if kind == "update_display_data":
            self._update(display_id, content)
        elif kind == "display_data":
            shown = {"output_type": kind, "data": content["data"], "metadata": content["metadata"]}
            cell.outputs.append(shown | ({"id": display_id} if display_id else {}))
            cell.display_ids += [display_id] if display_id else []
        else:
            cell.outputs.append({"output_type": kind, **content})

    def _update(self, display_id: str, content: Message) -> None:
        owner = next((each for each in self.cells if display_id in each.display_ids), None)
        if owner is None:
            self.lost.append(display_id)
            return
        output = next((each for each in owner.outputs if each.get("id") == display_id), None)
        if output is None:
            return  # it was rewritten away
        if output["metadata"] != content["metadata"]:
            self.lost.append(display_id)
            owner.outputs = [output if each.get("id") == display_id else each for each in owner.stale]
        output |= {"data": content["data"], "metadata": content["metadata"]}

    def _ended(self, cell: Cell, kind: str, content: Message) -> None:
        if kind == "execute_reply":
            cell.state = ""
            self._status = content["status"]
        self._replies.add(f"{cell.request} {kind}")
        if {f"{cell.request} execute_reply", f"{cell.request} status"} <= self._replies:
            cell.state = self._status

    def _draw(self) -> None:
        """The page reports each view of a widget that counts them."""
        if not self.draws:
            return
        states = models(self.published)
        for model in _tree(states, [view for cell in self.cells for view in cell.views]):
            if states[model].get("_view_count") == 0 and model not in self._viewed:
                self._viewed.add(model)
                self.front_end.comm(model, {"method": "update", "state": {"_view_count": 1}, "buffer_paths": []})


def _tree(states: dict[str, Message], views: list[str]) -> Iterator[str]:
    """The models of these views that are open."""
    todo = list(views)
    while todo:
        if (model := todo.pop()) in states:
            yield model
            todo += [child.removeprefix("IPY_MODEL_") for child in states[model].get("children", ())]


def _kept(output: Message) -> Message:
    return {name: value for name, value in output.items() if name != "id"}
