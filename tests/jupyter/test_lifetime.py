"""When the end of the process that started the kernel is the end of the kernel."""

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest
from copilot_kernel.jupyter import lifetime
from copilot_kernel.system import posix
from copilot_kernel.system.processes import parent

from ..limits import LIMIT
from .front_end import until


class Parent:
    """What `os.getppid` says: `pids` one after the other, then the last one for ever."""

    def __init__(self, *pids: int) -> None:
        self.pids, self.asked = iter(pids[:-1]), 0
        self.last = pids[-1]

    def __call__(self) -> int:
        self.asked += 1
        return next(self.pids, self.last)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(posix, "_PARENT_SECONDS", 0.001)
    yield
    until(lambda: all(thread.name != "Parent watch" for thread in threading.enumerate()), "the end of the threads")


@pytest.mark.parametrize("adopted_by", [1, 4000], ids=["init", "a subreaper"])
async def test_the_kernel_ends_when_its_parent_changes(monkeypatch: pytest.MonkeyPatch, adopted_by: int) -> None:
    monkeypatch.setattr(os, "getppid", asked := Parent(4711, 4711, adopted_by))
    ended = asyncio.Event()
    lifetime.watch_parent(4711, asyncio.get_running_loop(), ended.set)
    await asyncio.wait_for(ended.wait(), LIMIT)
    assert asked.asked == 3


async def test_a_child_of_process_1_has_no_parent_to_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The main process of a container, or what it started."""
    monkeypatch.setattr(os, "getppid", Parent(1))
    monkeypatch.setattr(threading, "Thread", None)
    lifetime.watch_parent(parent(), asyncio.get_running_loop(), pytest.fail)


@pytest.mark.parametrize(("pid", "watched"), [("4711", True), ("1", False), ("0", False), ("", False), ("x", False)])
def test_only_a_kernel_that_was_told_of_its_parent_watches_it(pid: str, watched: bool) -> None:
    """`JPY_PARENT_PID` may be of another machine: only whether it is there counts."""
    assert lifetime.has_parent({"JPY_PARENT_PID": pid}) is watched
    assert not lifetime.has_parent({})
