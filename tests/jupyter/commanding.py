"""Commands in cells, as tests type them and read what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .asked import Asked
from .front_end import Outcome


def own(folder: Path, **more: str) -> dict[str, str]:
    """A demo agent that remembers nothing of other tests."""
    return {"COPILOT_KERNEL_DEMO_HOME": str(folder / "demo"), "COPILOT_KERNEL_STATE": str(folder / "state"), **more}


class Picked(Asked):
    """A cell in which widgets stand that want an answer."""

    def enter(self, control: str, **state: Any) -> str:
        """Send a change; the message's id."""
        model = next(key for key, each in self.models().items() if each.get("description") == control)
        return self.front_end.comm(model, {"method": "update", "state": state, "buffer_paths": []})

    def press(self, button: str) -> Outcome:
        self.click(button)
        return self.finish()
