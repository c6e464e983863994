"""Processes of Windows: commands of `copilot-kernel`, what a process has started, and whether it has ended."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from ctypes import wintypes
from io import StringIO

from ..limits import LIMIT

COMMAND = (sys.executable, "-c", "import sys; from copilot_kernel.cli import main; sys.exit(main())")
STILL_ACTIVE, QUERY, ALL_PROCESSES = 259, 0x1000, 0x0002

ctypes.WinDLL("user32").GetDesktopWindow()  # wine starts its desktop here, not below a process whose end is awaited
_kernel32 = ctypes.WinDLL("kernel32")
_kernel32.OpenProcess.restype = _kernel32.CreateToolhelp32Snapshot.restype = wintypes.HANDLE
_kernel32.GetExitCodeProcess.argtypes = (wintypes.HANDLE, wintypes.LPDWORD)
_kernel32.Process32FirstW.argtypes = _kernel32.Process32NextW.argtypes = (wintypes.HANDLE, wintypes.LPVOID)
_kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)


class _Entry(ctypes.Structure):
    _fields_ = (
        ("size", wintypes.DWORD),
        ("usage", wintypes.DWORD),
        ("pid", wintypes.DWORD),
        ("heap", ctypes.c_size_t),
        ("module", wintypes.DWORD),
        ("threads", wintypes.DWORD),
        ("parent", wintypes.DWORD),
        ("priority", wintypes.LONG),
        ("flags", wintypes.DWORD),
        ("name", wintypes.WCHAR * 260),
    )


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, f"{what}: waited for {LIMIT} s"
        time.sleep(0.05)


def descendants(pid: int) -> set[int]:
    """The process and all its descendants."""
    parents: dict[int, int] = {}
    snapshot, entry = _kernel32.CreateToolhelp32Snapshot(ALL_PROCESSES, 0), _Entry(size=ctypes.sizeof(_Entry))
    is_entry = _kernel32.Process32FirstW(snapshot, ctypes.byref(entry))
    while is_entry:
        parents[entry.pid] = entry.parent
        is_entry = _kernel32.Process32NextW(snapshot, ctypes.byref(entry))
    _kernel32.CloseHandle(snapshot)
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def all_end(pids: set[int]) -> None:
    """Wait for the end of processes."""
    until(lambda: all(map(_has_ended, pids)), f"the end of {len(pids)} processes")


def _has_ended(pid: int) -> bool:
    if not (handle := _kernel32.OpenProcess(QUERY, False, pid)):
        return True
    code = wintypes.DWORD()
    _kernel32.GetExitCodeProcess(handle, ctypes.byref(code))
    _kernel32.CloseHandle(handle)
    return code.value != STILL_ACTIVE


def printed(*words: str) -> str:
    """What a command of `copilot-kernel` prints, run in this process: another one would import everything anew."""
    from copilot_kernel.cli import main

    with redirect_stdout(StringIO()) as text:
        assert main(words) == 0, text.getvalue()
    return text.getvalue()


def command_line(*words: str, code: int = 0, **environ: str) -> str:
    """The same in a process of its own, which ends with `code`."""
    done = subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, encoding="utf-8", timeout=LIMIT, stdin=subprocess.DEVNULL,
        env={**os.environ, **environ}, errors="replace",
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout
