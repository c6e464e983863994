"""When the end of the process that started the kernel is the end of the kernel."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from copilot_kernel.jupyter import lifetime
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from .front_end import ARGV, gone, no_settings, until


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
    monkeypatch.setattr(lifetime, "_WATCH_SECONDS", 0.001)
    yield
    until(lambda: all(thread.name != "Parent watch" for thread in threading.enumerate()), "the end of the threads")


@pytest.mark.parametrize("adopted_by", [1, 4000], ids=["init", "a subreaper"])
@pytest.mark.anyio
async def test_the_kernel_ends_when_its_parent_changes(monkeypatch: pytest.MonkeyPatch, adopted_by: int) -> None:
    monkeypatch.setattr(os, "getppid", parent := Parent(4711, 4711, adopted_by))
    ended = asyncio.Event()
    lifetime.watch_parent(4711, asyncio.get_running_loop(), ended.set)
    await asyncio.wait_for(ended.wait(), 5)
    assert parent.asked == 3


@pytest.mark.anyio
async def test_a_child_of_process_1_has_no_parent_to_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The main process of a container, or what it started."""
    monkeypatch.setattr(os, "getppid", Parent(1))
    monkeypatch.setattr(threading, "Thread", None)
    lifetime.watch_parent(1, asyncio.get_running_loop(), pytest.fail)


@pytest.mark.parametrize(("told", "watched"), [("4711", True), ("1", False), ("0", False), ("", False), ("x", False)])
def test_only_a_kernel_that_was_told_of_its_parent_watches_it(told: str, watched: bool) -> None:
    """`JPY_PARENT_PID` may be of another machine: only whether it is there counts."""
    assert lifetime.has_parent({"JPY_PARENT_PID": told}) is watched
    assert not lifetime.has_parent({})


ORPHAN = """
import os, subprocess, sys
argv, told = ["sh", "-c", "read go; exec " + sys.argv[1]], {"JPY_PARENT_PID": "99999"}
print(subprocess.Popen(argv, env={**os.environ, **told}, stdout=subprocess.DEVNULL).pid)
"""


def test_a_kernel_that_is_nobodys_child_and_was_told_of_a_foreign_parent_works(tmp_path: Path) -> None:
    file, _ = write_connection_file(str(tmp_path / "connection.json"))
    kernel = shlex.join(word.format(connection_file=file) for word in ARGV)
    client = BlockingKernelClient(connection_file=file)
    client.load_connection_file()
    client.hb_channel.time_to_dead = 30
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN, kernel],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **no_settings(tmp_path), "COPILOT_KERNEL_AGENT": "demo"},
        cwd=tmp_path,
    ) as starter:
        assert starter.wait(10) == 0
        assert starter.stdin is not None
        assert starter.stdout is not None
        process = psutil.Process(int(starter.stdout.read()))
        starter.stdin.write(b"go\n")
        starter.stdin.close()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        replies = [client.execute_interactive(f"demo: say {n}", timeout=30, output_hook=id) for n in range(3)]
        assert [reply["content"]["status"] for reply in replies] == ["ok"] * 3
    finally:
        client.shutdown()
        until(lambda: gone(process), "the end of the kernel")
        client.stop_channels()
