"""Interrupts code of the user's that takes too long, on the main thread."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN_SECONDS = 0.05
"""Between two interrupts: the first may come while code runs whose exceptions Python ignores, such as `__del__`."""


class TimeIsUp(BaseException):
    """Time limit reached. No Exception: the user's code must not handle it by chance."""


def limited(call: Callable[[], T], seconds: float) -> T:
    """The result of `call`, which is interrupted after so many seconds: TimeIsUp.

    On the main thread only, where Python handles signals. Code in C that does not return to Python cannot be
    interrupted. A timer of the user's goes off afterwards.
    """
    armed = True

    def fire(*_: Any) -> None:
        if armed:
            raise TimeIsUp

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, fire)
    users, interval = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
    try:
        try:
            return call()
        finally:
            armed = False
    finally:
        left = max(users - (time.monotonic() - began), AGAIN_SECONDS) if users else 0.0
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
        signal.setitimer(signal.ITIMER_REAL, left, interval)
