"""The command line `copilot-kernel`: what may be typed, and how a failure ends it.

Each command is a module of this package with the command's name and one function, `run(arguments) -> exit code`.
Exit codes: 0 all right, 1 something failed, 2 a mistake in what was typed or set, 130 cancelled.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import CopilotError, UsageError
from .advice import complaint
from .exits import CANCELLED, FAILED, MISUSED
from .parser import build
from .settings import split

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    arguments = _parsed(argv)
    try:
        return _run(arguments)
    except CopilotError as error:
        print(complaint(error), file=sys.stderr)
        return MISUSED if isinstance(error, UsageError) else FAILED
    except KeyboardInterrupt:
        return CANCELLED


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """A server takes whatever `jupyter copilot` does, as `more`, and says itself what is wrong with it."""
    parser, words = build(__version__), list(sys.argv[1:] if argv is None else argv)
    ours, more = split(words[1:]) if words[:1] == ["serve"] else (words[1:], [])
    arguments = parser.parse_args([*words[:1], *ours])
    if more and arguments.action not in (None, "start"):
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    arguments.more = more
    return arguments


def _run(arguments: argparse.Namespace) -> int:
    module = importlib.import_module(f"{__name__}.{arguments.command}")
    return int(module.run(arguments))
