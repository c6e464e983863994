"""How a front end names its own actions, chosen before anything is rendered."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RETRY = "run this cell again"


@dataclass(frozen=True, slots=True)
class Wording:
    """Hints and reports are written for notebook cells; `adapt` puts them into the words of another front end."""

    retry: str = _RETRY
    """How the user retries, in the imperative."""
    prefix: str = "%"
    """What commands begin with."""
    commands: frozenset[str] = frozenset()
    """Names of the commands that `prefix` is for."""

    def adapt(self, text: str) -> str:
        """Plain `text` with this front end's commands and way to retry."""
        text = text.replace(_RETRY, self.retry)
        if not self.commands:
            return text
        return re.sub(rf"%(?=(?:{'|'.join(map(re.escape, self.commands))})\b)", self.prefix, text)


CELL = Wording()
"""Notebook cells, where `%name` is a command."""
