"""Commands in cells, as tests type them and read what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .front_end import FrontEnd, Message, Outcome, is_output

WIDGET = "application/vnd.jupyter.widget-view+json"


def own(folder: Path, **more: str) -> dict[str, str]:
    """A demo agent that remembers nothing of other tests."""
    return {"COPILOT_KERNEL_DEMO_HOME": str(folder / "demo"), "COPILOT_KERNEL_STATE": str(folder / "state"), **more}


def status(front_end: FrontEnd, name: str) -> str:
    """What `%status` says of `name`."""
    lines = [line for line in front_end.run("%status").text.splitlines() if line.startswith(f"{name}  ")]
    return lines[0].removeprefix(name).strip() if lines else ""


def model(front_end: FrontEnd, description: str, since: int) -> str:
    """The id of the control that says `description`."""

    def wanted(message: Message) -> bool:
        state = message["content"].get("data", {}).get("state", {}) if message["msg_type"] == "comm_open" else {}
        return bool(state.get("description") == description)

    return str(front_end.see(wanted, start=since)["content"]["comm_id"])


class Picked:
    """A cell in which widgets stand that want an answer."""

    def __init__(self, front_end: FrontEnd, code: str) -> None:
        self.front_end, self.since = front_end, len(front_end.published)
        self.cell = front_end.execute(code)
        self.shown = front_end.see(lambda m: is_output(m, self.cell) and WIDGET in str(m["content"]))

    def enter(self, control: str, **state: Any) -> None:
        data = {"method": "update", "state": state, "buffer_paths": []}
        self.front_end.comm(model(self.front_end, control, self.since), data)

    def click(self, button: str) -> None:
        self.front_end.click(model(self.front_end, button, self.since))

    def press(self, button: str) -> Outcome:
        self.click(button)
        return self.finish()

    def finish(self) -> Outcome:
        """The cell's end, which leaves no widget in the front end."""
        outcome = self.front_end.finish(self.cell)
        seen = self.front_end.published[self.since :]
        opened = {m["content"]["comm_id"] for m in seen if m["msg_type"] == "comm_open"}
        assert opened == {m["content"]["comm_id"] for m in seen if m["msg_type"] == "comm_close"}
        return outcome
