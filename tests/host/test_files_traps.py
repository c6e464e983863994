"""Real files in bad company: what is no regular file, links and swaps that lead outside, and crowds."""

import os
import socket
import stat

import anyio
import pytest
from copilot_kernel.errors import HostRefused
from copilot_kernel.host import Files

from .files_by_name import read, write

pytestmark = pytest.mark.usefixtures("nothing_is_left")


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


# -- cancelling -----------------------------------------------------------------------------------------------


async def test_a_cancelled_write_has_not_begun_or_is_done(root):
    own = Files(root)
    place = await own.locate(f"{root}/file")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await own.write(place, "text")
    assert list(root.iterdir()) == []
