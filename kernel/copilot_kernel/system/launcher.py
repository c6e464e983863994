"""The process that launched this kernel: what it has in its environment, too, is not this kernel's own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache

if sys.platform == "win32":
    import ctypes

_PARENT = "JPY_PARENT_PID"


def own_variable(name: str, environ: Mapping[str, str]) -> str:
    """The value of a variable that describes one kernel; empty if another kernel's code started this one.

    What a kernel starts, such as papermill, inherits its variables, and passes them on to the kernels that it launches.
    """
    value = environ.get(name, "")
    return "" if value and _is_inherited(name, value, environ.get(_PARENT, "")) else value


@cache  # the launcher may end before its kernel
def _is_inherited(name: str, value: str, parent: str) -> bool:
    """Return True if the launcher was itself started with this value, as far as is known."""
    import psutil

    with suppress(psutil.Error, OSError, ValueError):
        launcher = psutil.Process(_pid(parent)).environ()
        # A wrapper of this kernel, and in a container any process, has the kernel's own variables.
        return launcher.get(name) == value and launcher.get(_PARENT) != parent
    return False


def _pid(parent: str) -> int:
    """The id of the process; on Windows, `parent` is a handle of it. Raises ValueError."""
    if sys.platform == "win32":
        return int(ctypes.windll.kernel32.GetProcessId(ctypes.c_void_p(int(parent))))
    return int(parent)
