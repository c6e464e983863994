"""The processes that tests look for. One that has ended, even while we look, or may not be read is none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import psutil

T = TypeVar("T")
Wanted = Callable[[psutil.Process], bool]


def any_process(process: psutil.Process) -> bool:
    """Want whatever runs."""
    return True


def has_argument(argument: str) -> Wanted:
    """Want the processes that have `argument` in their command line."""
    return lambda process: argument in process.cmdline()


def facts(fact: Callable[[psutil.Process], T], among: Iterable[psutil.Process] | None = None) -> list[T]:
    """Return a fact about each of these processes, or of all, that runs and tells it."""
    found = []
    for process in psutil.process_iter() if among is None else among:
        with suppress(psutil.Error):
            if not gone(process):
                found.append(fact(process))
    return found


def running(wanted: Wanted, among: Iterable[psutil.Process] | None = None) -> list[psutil.Process]:
    """Return what runs and is wanted, of these processes or of all."""
    return [process for process, is_wanted in facts(lambda each: (each, wanted(each)), among) if is_wanted]


def children(pid: int | None = None, wanted: Wanted = any_process, *, recursive: bool = True) -> list[psutil.Process]:
    """Return what a process, or this one, has started, and what that has started, as far as it runs and is wanted."""
    try:
        return running(wanted, psutil.Process(pid).children(recursive=recursive))
    except psutil.Error:
        return []


def gone(process: psutil.Process) -> bool:
    """Return True if a process has ended, even if nobody has waited for it."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def is_alive(pid: int) -> bool:
    """Return True if there is such a process, other than a zombie."""
    try:
        return not gone(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False
