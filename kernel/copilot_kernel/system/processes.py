"""Programs with all that they start, pipes, signals, the parent process."""

# ruff: noqa: F403, F405
import sys

if sys.platform == "win32":
    from .windows import *
else:
    from .posix import *

__all__ = [
    "ALARM",
    "DETACHED",
    "ENDING_SIGNALS",
    "PIECE_BYTES",
    "SHELL",
    "PipeReader",
    "PipeWriter",
    "ProcessTree",
    "add_signal_handler",
    "interrupt",
    "keep_apart",
    "parent",
    "start",
    "wait_for_parent",
]
