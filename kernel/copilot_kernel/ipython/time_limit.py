"""Interrupts code of the user's that takes too long, on the main thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..system.processes import alarm

T = TypeVar("T")

AGAIN_SECONDS = 0.05
"""Between two interrupts: the first may come while code runs whose exceptions Python ignores, such as `__del__`."""


class TimeIsUp(BaseException):
    """Time limit reached. No Exception: the user's code must not handle it by chance."""


def limited(call: Callable[[], T], seconds: float) -> T:
    """The result of `call`, which is interrupted after so many seconds: TimeIsUp.

    On the main thread only, where Python handles signals. Code in C that does not return to Python cannot be
    interrupted.
    """
    armed = True

    def fire(*_: Any) -> None:
        if armed:
            raise TimeIsUp

    with alarm(seconds, AGAIN_SECONDS, fire):
        try:
            return call()
        finally:
            armed = False
