"""An answer that the running cell has shown is not shown again as the cell's value."""

from __future__ import annotations

import sys
from traceback import walk_stack
from typing import TYPE_CHECKING, Any

from IPython.core.displaypub import CapturingDisplayPublisher

if TYPE_CHECKING:
    from .turn import Turn

_TURN = f"{__package__}.turn.Turn"


class Shown:
    """The turns that the cell that runs in `shell` has shown."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._turns: list[Turn] = []

    def watch(self) -> None:
        """From now on IPython asks `display` how a turn is shown; by name, so that nothing is loaded for it."""
        self._formatter.for_type_by_name(*_TURN.rsplit(".", 1), self.display)

    def leave(self) -> None:
        """No longer."""
        self._formatter.pop(_TURN, None)

    def clear(self) -> None:
        """Another cell begins."""
        self._turns.clear()

    def add(self, turn: Turn) -> None:
        """The cell has shown it, unless somebody captures what cells show."""
        if not isinstance(self._shell.display_pub, CapturingDisplayPublisher):
            self._turns.append(turn)

    def display(self, turn: Turn) -> None:
        """Nothing, or in a terminal, where `Out[1]:` is there already, a line. Else IPython shows it as usual."""
        if not (any(turn is each for each in self._turns) and self._is_value()):
            raise NotImplementedError
        if not hasattr(self._shell, "kernel"):
            print(repr(turn))

    def _is_value(self) -> bool:
        """It is shown as the value of a cell; `display(turn)` is a wish."""
        hook = type(self._shell.displayhook).__call__.__code__
        return any(frame.f_code is hook for frame, _ in walk_stack(sys._getframe()))

    @property
    def _formatter(self) -> Any:
        return self._shell.display_formatter.ipython_display_formatter
