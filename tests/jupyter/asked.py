"""A cell in which questions stand, as a front end with widgets sees it, and what goes over the wire to the agent."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..agent.command import COMMAND
from .front_end import LIMIT, FrontEnd, Message, Outcome, is_output, models, parent, until

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
ALLOW, DENY = "Allow once", "Deny"


class Asked:
    """`cell` runs, and so many `questions` stand in it; `cell` is executed by another front end if it is given.

    A question's number is its place among those that stood there first, from above.
    """

    def __init__(self, front_end: FrontEnd, code: str = "", questions: int = 1, cell: str = "") -> None:
        self.front_end, self._start = front_end, len(front_end.published)
        self.cell = cell or front_end.execute(code)
        self._start = 0 if cell else self._start
        self.views: list[str] = []
        self._known: set[str] = set()
        self._buttons: list[dict[str, str]] = []
        self.look(questions)

    def look(self, questions: int) -> None:
        """Wait until there are so many questions that were not seen before; all others are forgotten."""
        self._known.update(self.views)
        self.views, start = [], self._start
        while len(self.views) < questions:
            message = self.front_end.see(lambda m: is_output(m, self.cell), start=start)
            start = self.front_end.published.index(message, start) + 1
            view = message["content"].get("data", {}).get(WIDGET_VIEW, {}).get("model_id")
            if view and view not in (*self._known, *self.views):
                self.views.append(view)
        self._buttons = [self._named(view) for view in self.views]

    def models(self) -> dict[str, dict[str, Any]]:
        """The state of each open model, by its id."""
        return models(self.front_end.published[self._start :])

    def button(self, name: str, question: int = 0) -> str:
        """The model of a button that is or was there."""
        return self._buttons[question][name]

    def click(self, name: str, question: int = 0) -> str:
        """Click as soon as that can be done; at once if the button has gone."""
        return self.front_end.click(self.button(name, question))

    def standing(self) -> list[str]:
        """The views that the cell shows now."""
        shown = (bundle.get(WIDGET_VIEW, {}).get("model_id") for bundle in self.outputs())
        return [view for view in shown if view]

    def outputs(self) -> list[dict[str, Any]]:
        """What the notebook would keep of the cell now."""
        return kept(self.front_end.outputs(self.cell))

    def finish(self, limit: float = LIMIT) -> Outcome:
        """The cell's end, which leaves no widget: none in the outputs, none in the front end."""
        outcome = self.front_end.finish(self.cell, limit)
        left = [bundle for bundle in kept(outcome.outputs) if WIDGET_VIEW in bundle]
        assert (opened(self.front_end, self.cell), left) == (closed(self.front_end, self.cell), [])
        return outcome

    def _named(self, view: str) -> dict[str, str]:
        """The buttons in a view, by what they say."""
        states = self.models()
        todo, found = [view], {}
        while todo:
            model = todo.pop(0)
            state = states[model]
            if state["_model_name"] == "ButtonModel":
                found[state["description"]] = model
            todo = [child.removeprefix("IPY_MODEL_") for child in state.get("children", ())] + todo
        return found


class Picked(Asked):
    """A cell in which widgets stand that want an answer."""

    def enter(self, control: str, **state: Any) -> str:
        """Send a change; the message's id."""
        model = next(key for key, each in self.models().items() if each.get("description") == control)
        return self.front_end.comm(model, {"method": "update", "state": state, "buffer_paths": []})

    def press(self, button: str) -> Outcome:
        self.click(button)
        return self.finish()


def opened(front_end: FrontEnd, cell: str) -> set[str]:
    """The models of widgets that were opened for a cell."""
    made = (m["content"] for m in _comms(front_end, cell, "comm_open"))
    return {content["comm_id"] for content in made if content["target_name"] == "jupyter.widget"}


def closed(front_end: FrontEnd, cell: str) -> set[str]:
    """The models of widgets that were closed for a cell."""
    return {m["content"]["comm_id"] for m in _comms(front_end, cell, "comm_close")} & opened(front_end, cell)


def _comms(front_end: FrontEnd, cell: str, kind: str) -> Iterator[Message]:
    return (m for m in front_end.published if m["msg_type"] == kind and parent(m) == cell)


def kept(outputs: list[Message]) -> list[dict[str, Any]]:
    """The outputs as a notebook keeps them: an update replaces what has its display id."""
    kept: dict[Any, dict[str, Any]] = {}
    for message in outputs:
        if message["msg_type"] in ("display_data", "update_display_data"):
            content = message["content"]
            kept[content["transient"].get("display_id", object())] = content["data"]
    return list(kept.values())


class Wire:
    """What the kernel says to its agent, line by line, as a program between the two has written it down."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "to-the-agent.jsonl"
        self.path.touch()
        demo = f"tee -a {shlex.quote(str(self.path))} | exec {shlex.join(COMMAND)}"
        self.agent = shlex.join(["sh", "-c", demo])
        """For `COPILOT_KERNEL_AGENT`: the demo agent behind that program."""
        self._seen = 0

    def messages(self) -> list[Message]:
        """All that was said so far and is whole."""
        lines = self.path.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines]

    def mark(self) -> None:
        """Leave out of `answers` what was said before."""
        self._seen = len(self.messages())

    def answers(self, count: int = 0) -> list[Message]:
        """The answers to requests of the agent since the mark, when there are `count` of them."""

        def given() -> list[Message]:
            return [message for message in self.messages()[self._seen :] if "method" not in message]

        until(lambda: len(given()) >= count, f"{count} answers to the agent")
        return given()

    def outcomes(self, count: int = 0) -> list[str]:
        """What was chosen, by option or `cancelled`, or the code of an error; one word for each answer."""
        return [_outcome(message) for message in self.answers(count)]


def _outcome(message: Message) -> str:
    if "error" in message:
        return str(message["error"]["code"])
    outcome = message["result"]["outcome"]
    return str(outcome.get("optionId", outcome["outcome"]))
