"""Programs with all that they start, pipes, signals, the parent process."""

import sys

if sys.platform == "win32":
    from .windows import (
        DETACHED,
        ENDING_SIGNALS,
        PIECE_BYTES,
        SHELL,
        PipeReader,
        PipeWriter,
        ProcessTree,
        add_signal_handler,
        alarm,
        has_all_rights,
        interrupt,
        keep_apart,
        parent,
        start,
        wait_for_parent,
    )
else:
    from .posix import (
        DETACHED,
        ENDING_SIGNALS,
        PIECE_BYTES,
        SHELL,
        PipeReader,
        PipeWriter,
        ProcessTree,
        add_signal_handler,
        alarm,
        has_all_rights,
        interrupt,
        keep_apart,
        parent,
        start,
        wait_for_parent,
    )

__all__ = [
    "DETACHED",
    "ENDING_SIGNALS",
    "PIECE_BYTES",
    "SHELL",
    "PipeReader",
    "PipeWriter",
    "ProcessTree",
    "add_signal_handler",
    "alarm",
    "has_all_rights",
    "interrupt",
    "keep_apart",
    "parent",
    "start",
    "wait_for_parent",
]
