"""How a magic ends when it does not end well: one line, without a traceback."""

from __future__ import annotations

from ..errors import CopilotError

REPORT = "This is a bug of Copilot Kernel. Please report it, with the lines above."


class Cancelled(KeyboardInterrupt):
    """The turn was cancelled. Like every interrupt, it ends the cell, and the cells that wait do not run."""

    def __init__(self) -> None:
        super().__init__("The turn was cancelled.")

    def _render_traceback_(self) -> list[str]:
        """What IPython shows."""
        return [f"Cancelled: {self}"]


def brief(error: CopilotError) -> CopilotError:
    """`error`, of which IPython shows the name alone: a card above it says the rest."""
    error._render_traceback_ = lambda: [type(error).__name__]  # type: ignore[attr-defined]
    return error.with_traceback(None)
