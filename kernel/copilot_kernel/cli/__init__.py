"""The command line `copilot-kernel`.

Each command is a module of this package with the command's name and a function `run(arguments) -> exit code`.
Exit codes: 0 success, 1 failure, 2 usage error, 130 cancelled.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from ..errors import CopilotError, UsageError
from .error_text import CANCELLED, FAILED, MISUSED, error_text
from .parser import parse

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # on Windows, the encoding of a file has not all characters
    arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        code = int(importlib.import_module(f"{__name__}.{arguments.command}").run(arguments))
        sys.stdout.flush()
        return code
    except CopilotError as error:
        print(error_text(error), file=sys.stderr)
        return MISUSED if isinstance(error, UsageError) else FAILED
    except BrokenPipeError:  # the reader has left, as after `| head -1`; Python would write the rest at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return CANCELLED
