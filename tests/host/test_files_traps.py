"""Real files in bad company: what is no regular file, links and swaps that lead outside, and crowds."""

import os
import socket
import stat
import subprocess
import sys

import anyio
import pytest
from copilot_kernel.errors import HostMissing, HostRefused
from copilot_kernel.host import Files

from .files_by_name import read, write

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30), pytest.mark.usefixtures("nothing_is_left")]


# -- no regular file ------------------------------------------------------------------------------------------------


def pipe(path):
    os.mkfifo(path)


def listener(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


SPECIAL = [
    (pipe, "would wait for ever"),
    (listener, "is no file"),
    (device, "may do things"),
    (os.mkdir, "has no text"),
]


@pytest.mark.parametrize(("make", "reason"), SPECIAL)
async def test_only_regular_files_are_read_and_replaced(root, make, reason):
    make(root / "file")
    before = (root / "file").stat()
    for act in (read(root, "file"), write(root, "file", "text")):
        with pytest.raises(HostRefused, match="not a regular file"):
            await act
    assert (root / "file").stat() == before, reason


async def test_a_file_is_no_folder(root):
    (root / "file").write_text("text")
    for act in (read(root, "file/inner"), write(root, "file/inner", "text")):
        with pytest.raises(HostRefused, match="not a folder"):
            await act


async def test_a_link_that_came_after_the_question_is_neither_read_nor_written_through(root, tmp_path):
    (tmp_path / "outside").write_text("secret")
    own = Files(root)
    place = await own.locate(f"{root}/file")
    (root / "file").symlink_to(tmp_path / "outside")
    with pytest.raises(HostRefused):
        await own.read(place)
    with pytest.raises(HostRefused):
        await own.write(place, "text")
    assert (tmp_path / "outside").read_text() == "secret"


# -- races and crowds -----------------------------------------------------------------------------------------------


SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None)
def exchange(name, here=-100, flag=2):
    done = libc.renameat2(here, name.encode(), here, f"{name}-link".encode(), flag)
    assert done == 0, f"{name} was not exchanged"
exchange("file")
print("ready", flush=True)
while True:
    exchange("folder"); exchange("file")
"""
"""Swaps names at once, so that neither is ever missing."""


@pytest.fixture
def swapping(root, tmp_path):
    """Inside the root, `folder` and `file` are by turns themselves and links to the outside, as fast as can be."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux exchanges names")
    for place in (root / "folder", tmp_path / "outside"):
        place.mkdir()
        (place / "file").write_text(place.name)
    (root / "file").write_text("folder")
    (root / "folder-link").symlink_to(tmp_path / "outside")
    (root / "file-link").symlink_to(tmp_path / "outside" / "file")
    with subprocess.Popen([sys.executable, "-c", SWAP], cwd=root, stdout=subprocess.PIPE, text=True) as swapper:
        assert swapper.stdout.readline() == "ready\n"
        yield
        assert swapper.poll() is None
        swapper.kill()


@pytest.mark.parametrize("name", ["file", "folder/file"])
async def test_a_swap_of_files_and_links_never_leads_outside(root, tmp_path, swapping, name):
    own = Files(root)
    results = {"outside": 0, "folder": 0, HostRefused: 0, HostMissing: 0}
    before = (tmp_path / "outside").stat().st_mtime_ns
    with anyio.fail_after(20):
        for _ in range(200):
            try:
                results[await own.read(await own.locate(f"{root}/{name}"))] += 1
                await own.write(await own.locate(f"{root}/folder/new"), "written")
            except (HostRefused, HostMissing) as error:
                results[type(error)] += 1
    assert os.listdir(tmp_path / "outside") == ["file"]
    assert (tmp_path / "outside" / "file").read_text() == "outside"
    assert (tmp_path / "outside").stat().st_mtime_ns == before
    assert results["outside"] == 0
    assert results["folder"] > 0
    assert results[HostRefused] + results[HostMissing] > 0


async def test_many_at_once_all_come_through(root):
    own = Files(root)

    async def one(n):
        place = await own.locate(f"{root}/{n % 10}/file{n}")
        await own.write(place, str(n))
        assert await own.read(place) == str(n)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for n in range(200):
                tasks.start_soon(one, n)
    assert len(list(root.rglob("file*"))) == 200


async def test_a_cancelled_write_has_not_begun_or_is_done(root):
    own = Files(root)
    place = await own.locate(f"{root}/file")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await own.write(place, "text")
    assert list(root.iterdir()) == []
