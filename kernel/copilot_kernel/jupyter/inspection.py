"""Inspection: what the command under the cursor is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_COMMAND = re.compile(r"^[ \t]*([%/]\S+)", re.MULTILINE)


def inspect(code: str, cursor: int, commands: Mapping[str, str]) -> dict[str, Any]:
    """The content of an `inspect_reply`; plain text, since some of it is the agent's."""
    about = commands.get(_command_at(code, cursor))
    if about is None:
        return {"status": "ok", "found": False, "data": {}, "metadata": {}}
    return {"status": "ok", "found": True, "data": {"text/plain": about}, "metadata": {}}


def _command_at(code: str, cursor: int) -> str:
    spans = (match for match in _COMMAND.finditer(code) if match.start(1) <= cursor <= match.end(1))
    return next((match[1] for match in spans), "")
