"""A failure in words for a terminal: what happened, and what to do next."""

from __future__ import annotations

import shlex

from ..acp.messages import AuthMethod
from ..errors import AuthRequired, CopilotError
from ..rendering.plain import clean, one_line


def complaint(error: CopilotError) -> str:
    """What happened, and below it what to do next."""
    return clean("\n".join(filter(None, [f"copilot-kernel: {error}", next_steps(error)])))


def next_steps(error: CopilotError) -> str:
    """The error's hint; for a sign-in, the agent's own ways to do it."""
    ways = [*map(_way, error.methods)] if isinstance(error, AuthRequired) else []
    first = "Sign in, then try again:" if ways else ""
    return clean("\n".join(filter(None, [error.hint, first, *ways])))


def _way(method: AuthMethod) -> str:
    words = ": ".join(filter(None, [one_line(method.name or method.id), one_line(method.description)]))
    return "\n    ".join(filter(None, [words, shlex.join(method.command)]))
