"""Ask Git whether it tracks a file. No filter, hook or monitor of the repository runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from ..environment import environment_of
from ..programs import find_outside

SECONDS = 0.5


def is_tracked(root: str, path: str) -> bool | None:
    """Return True if the repository of `path` tracks it; None if that is not known. The agent cannot choose `git`.

    Blocks, for SECONDS at most.
    """
    environ = environment_of(root).variables()
    program = find_outside("git", (Path(root),), environ)
    if program is None:
        return None
    folder, name = os.path.split(path)
    options = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--literal-pathspecs")
    command = (program, "-C", folder, *options, "ls-files", "--error-unmatch", "--", name)
    how: dict[str, Any] = {"env": environ, "capture_output": True, "stdin": subprocess.DEVNULL, "timeout": SECONDS}
    try:
        return subprocess.run(command, **how).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return None
