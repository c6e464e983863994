"""Windows: Job Objects, which end a program with all that it has started."""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes

assert sys.platform == "win32"

_KILL_ON_CLOSE = 0x2000
_EXTENDED_LIMITS = 9


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", wintypes.DWORD),
        ("min_memory", ctypes.c_size_t),
        ("max_memory", ctypes.c_size_t),
        ("processes", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("priority", wintypes.DWORD),
        ("scheduling", wintypes.DWORD),
    )


class _Limits(ctypes.Structure):
    _fields_ = (
        ("basic", _BasicLimits),
        ("io", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.CreateJobObjectW.restype = wintypes.HANDLE
_kernel32.CreateJobObjectW.argtypes = (wintypes.LPVOID, wintypes.LPCWSTR)
_kernel32.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD)
_kernel32.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
_kernel32.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
_kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
_resume = ctypes.WinDLL("ntdll").NtResumeProcess
_resume.argtypes = (wintypes.HANDLE,)


class Job:
    """Job Object: what is in it ends when it is closed, and so with this process, however that ends."""

    def __init__(self) -> None:
        """Raises OSError."""
        self._handle: int | None = _checked(_kernel32.CreateJobObjectW(None, None))
        limits = _Limits()
        limits.basic.flags = _KILL_ON_CLOSE
        size = ctypes.sizeof(limits)
        _checked(_kernel32.SetInformationJobObject(self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), size))

    def adopt(self, process: int) -> None:
        """Take in a process that was started suspended, by its handle, and let it run. Raises OSError."""
        _checked(_kernel32.AssignProcessToJobObject(self._handle, process))
        if _resume(process):
            raise OSError("the process could not be resumed")

    def kill(self) -> None:
        """End all processes in it."""
        if self._handle:
            _kernel32.TerminateJobObject(self._handle, 1)

    def close(self) -> None:
        """End all processes in it, and the job; a second call does nothing."""
        handle, self._handle = self._handle, None
        if handle:
            _kernel32.CloseHandle(handle)


def _checked(result: int | None) -> int:
    if not result:
        raise ctypes.WinError(ctypes.get_last_error())
    return result
