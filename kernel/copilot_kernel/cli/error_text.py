"""Exit codes, and a failure as text for a terminal: what happened, and what to do next."""

from __future__ import annotations

import shlex

from ..acp.messages import AuthMethod
from ..errors import AuthRequired, CopilotError
from ..rendering.plain import one_line, prose
from ..rendering.report import Wording

FAILED, MISUSED, CANCELLED = 1, 2, 130
WORDING = Wording("try again")


def error_text(error: CopilotError) -> str:
    """Return the error, and below it what to do next."""
    return prose("\n".join(filter(None, [f"copilot-kernel: {error}", next_steps(error)])))


def next_steps(error: CopilotError) -> str:
    """The error's hint; for a sign-in, the agent's own ways to do it."""
    methods = [*map(_method, error.methods)] if isinstance(error, AuthRequired) else []
    heading = "Sign in, then try again:" if methods else ""
    return prose("\n".join(filter(None, [WORDING.adapt(error.hint), heading, *methods])))


def _method(method: AuthMethod) -> str:
    text = ": ".join(filter(None, [one_line(method.name or method.id), one_line(method.description)]))
    return "\n    ".join(filter(None, [text, shlex.join(method.command)]))
