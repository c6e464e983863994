"""`$name` and `{name}` in the line of `%copilot`: values of the user's variables that go along with the prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(r"\$([^\W\d]\w*)|\{([^\W\d]\w*)\}")


def values_of(line: str, names: Mapping[str, Any]) -> dict[str, str]:
    """The values in `names` that `line` asks for, as text, by their names. The line itself stays as it was written."""
    asked = (match[1] or match[2] for match in _NAME.finditer(line))
    return {name: str(names[name]) for name in asked if name in names}
