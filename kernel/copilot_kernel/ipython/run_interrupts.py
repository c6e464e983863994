"""■ while the agent's code runs: it ends the code, and cancels the turn."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


class RunInterrupts:
    """Handles SIGINT during runs on the main thread. `code` is on the stack while the user's code executes."""

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._signalling = threading.Lock()
        self._thread: int | None = None
        """Thread that may be signalled."""
        self._run = self._stopped = ""
        self._is_stop = False
        self.interrupted = False
        """Since the run began."""

    @contextmanager
    def handled(self, run: str, cancel: Callable[[], object]) -> Iterator[None]:
        """Inside, SIGINT raises KeyboardInterrupt in the run if that executes, and calls `cancel` if it waits."""
        self._run, self.interrupted, self._is_stop = run, False, False
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_sigint(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            if not self._is_stop and callable(before):
                before(number, frame)
            self._is_stop = False
            if self._executes(frame):
                raise KeyboardInterrupt
            cancel()

        before: Any = signal.signal(signal.SIGINT, on_sigint)
        self._thread = threading.get_ident()
        try:
            yield
        finally:
            with self._signalling:
                self._thread = None
            signal.signal(signal.SIGINT, before)  # handles first what is pending

    def check(self, run: str) -> None:
        """Called by the run, inside `handled`: raises KeyboardInterrupt if it has been stopped already."""
        if self._stopped == run:
            raise KeyboardInterrupt

    def stop(self, run: str) -> None:
        """End the run like ■, but not the turn; if it has not begun, it does not begin. Called from another thread."""
        self._stopped = run
        with self._signalling:
            if self._thread is not None and self._run == run and not self.interrupted:
                self._is_stop = True
                signal.pthread_kill(self._thread, signal.SIGINT)

    def _executes(self, frame: FrameType | None) -> bool:
        """Raising anywhere else, as in the event loop itself, would end the kernel."""
        while frame is not None:
            if frame.f_code is self._code:
                return True
            frame = frame.f_back
        return False
