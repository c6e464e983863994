"""Real files: what is read and written, and what is not."""

import os
import stat
from unittest.mock import Mock

import pytest
from copilot_kernel.errors import HostError, HostMissing, HostRefused
from copilot_kernel.host import Files, ProjectPath, files
from copilot_kernel.host.files import MAX_TEXT_BYTES

from .files_by_name import read, write

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def mode(path):
    return oct(stat.S_IMODE(path.stat().st_mode))


# -- reading --------------------------------------------------------------------------------------------------------

TEXT = "one\ntwo\r\n\nvier \u00fc\nfive"
WINDOWS = [
    (None, None, TEXT, "all of it, as it is"),
    (0, None, TEXT, "some count from 0"),
    (2, None, "two\r\n\nvier \u00fc\nfive", "carriage returns are kept"),
    (2, 1, "two\r\n", "a line has its end"),
    (4, 1, "vier \u00fc\n", "characters of several bytes"),
    (5, 9, "five", "fewer than asked for"),
    (None, 2, "one\ntwo\r\n", "a limit alone"),
    (2, 0, "", "no lines"),
    (10**12, 10**12, "", "far past the end"),
]


@pytest.mark.parametrize(("line", "limit", "text", "reason"), WINDOWS)
async def test_lines_are_cut_out(root, line, limit, text, reason):
    (root / "file").write_bytes(TEXT.encode())
    assert await read(root, "file", line, limit) == text, reason


EXACT = [
    (b"", "", "an empty file"),
    (b"\xef\xbb\xbfa", "\ufeffa", "a mark at the beginning stays, so that it is written back"),
    (b"a\rb\x00c\x1b[0m", "a\rb\0c\x1b[0m", "control characters are text"),
]


@pytest.mark.parametrize(("data", "text", "reason"), EXACT)
async def test_a_text_is_read_and_written_as_it_is(root, data, text, reason):
    (root / "file").write_bytes(data)
    assert await read(root, "file") == text, reason
    await write(root, "file", text)
    assert (root / "file").read_bytes() == data, reason


async def test_what_is_missing_or_no_text_is_refused_but_the_lines_before_can_be_read(root):
    for name in ("no", "no/such/file"):
        with pytest.raises(HostMissing, match=f"{name} does not exist"):
            await read(root, name)
    (root / "file").write_bytes(b"good\nb\xffd\n")
    for line, limit in ((-1, None), (None, -1)):
        with pytest.raises(HostRefused, match="negative"):
            await read(root, "file", line, limit)
    with pytest.raises(HostRefused, match=r"file is not UTF-8 text \(byte 6 "):
        await read(root, "file")
    assert await read(root, "file", 1, 1) == "good\n"


async def test_the_largest_text_is_read_and_not_one_byte_more(root):
    (root / "file").write_bytes(b"x" * (MAX_TEXT_BYTES - 1) + b"\n")
    assert len(await read(root, "file")) == MAX_TEXT_BYTES
    with (root / "file").open("ab") as file:
        file.write(b"y")
    with pytest.raises(HostRefused, match="is larger than 10485760 bytes"):
        await read(root, "file", 1, 1)


async def test_a_file_that_is_mostly_hole_is_given_up(root):
    with (root / "file").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(HostRefused, match="is larger than 10485760 bytes"):
        await read(root, "file", 2)


# -- writing --------------------------------------------------------------------------------------------------------


async def test_a_new_file_has_its_folders_and_the_rights_that_the_user_gives_new_files(root):
    before = os.umask(0o027)
    try:
        await write(root, "a/b/file", "tëxt\r\n")
    finally:
        os.umask(before)
    assert mode(root / "a/b/file") == "0o640"
    assert (root / "a/b/file").read_bytes() == "tëxt\r\n".encode()
    assert sorted(path.name for path in root.rglob("*")) == ["a", "b", "file"]


@pytest.mark.parametrize(("before", "after"), [(0o600, "0o600"), (0o666, "0o666"), (0o6755, "0o755")])
async def test_a_replaced_file_keeps_its_rights_but_not_to_run_as_somebody_else(root, before, after):
    (root / "file").write_text("before")
    (root / "file").chmod(before)
    (root / "link").symlink_to("file")
    await write(root, "link", "after")
    assert (root / "link").is_symlink()
    assert ((root / "file").read_text(), mode(root / "file")) == ("after", after)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_a_replaced_file_keeps_its_owner_or_else_no_other_group_gets_a_right(root, monkeypatch):
    (root / "file").write_text("before")
    os.chown(root / "file", 12, 34)
    await write(root, "file", "after")
    found = (root / "file").stat()
    assert (found.st_uid, found.st_gid) == (12, 34)
    (root / "file").chmod(0o674)
    monkeypatch.setattr(files.os, "fchown", Mock(side_effect=PermissionError))
    await write(root, "file", "after")
    assert mode(root / "file") == "0o604"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_read_only_file_is_not_replaced(root):
    (root / "file").write_text("before")
    (root / "file").chmod(0o444)
    with pytest.raises(HostRefused, match="read-only"):
        await write(root, "file", "after")
    assert (root / "file").read_text() == "before"


async def test_the_other_names_of_a_file_keep_the_old_text(root, tmp_path):
    (tmp_path / "outside").write_text("before")
    (root / "file").hardlink_to(tmp_path / "outside")
    await write(root, "file", "after")
    assert ((tmp_path / "outside").read_text(), (root / "file").read_text()) == ("before", "after")


async def test_a_failed_write_leaves_the_old_text_and_nothing_beside(root, monkeypatch):
    (root / "file").write_text("before")
    monkeypatch.setattr(files.os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(HostError, match="file: No space left on device") as caught:
        await write(root, "file", "after")
    assert type(caught.value) is HostError
    assert {path.name: path.read_text() for path in root.iterdir()} == {"file": "before"}


CONTENTS = [
    ("\u00fc" * (MAX_TEXT_BYTES // 2 + 1), "more than 10485760 bytes", "bytes are counted, not characters"),
    ("\ud800", "UTF-8", "half a character"),
]


@pytest.mark.parametrize(("content", "words", "reason"), CONTENTS, ids=lambda value: value[:20])
async def test_a_content_is_refused_before_anything_is_created(root, content, words, reason):
    with pytest.raises(HostRefused, match=words):
        await write(root, "folder/file", content)
    assert list(root.iterdir()) == [], reason


async def test_git_and_our_own_settings_can_be_read_but_not_written(root):
    (root / ".git").mkdir()
    (root / ".git/config").write_text("[core]")
    own = Files(root)
    place = await own.locate(f"{root}/.git/config")
    assert (await own.read(place), place.sensitive) == ("[core]", "belongs to Git")
    for act in (own.write(place, "x"), own.locate(f"{root}/copilot_kernel.json", to_write=True)):
        with pytest.raises(HostRefused, match="may not write"):
            await act
    assert (root / ".git/config").read_text() == "[core]"


async def test_protected_folders_are_not_written_by_any_name(root):
    (root / "data").mkdir()
    (root / "link").symlink_to("data")
    own = Files(root, protected=[root / "link"])
    for name in ("data/state.json", "link/new/state.json"):
        with pytest.raises(HostRefused, match="may not write"):
            await own.locate(f"{root}/{name}", to_write=True)
    assert await own.locate(f"{root}/database", to_write=True) == ProjectPath(str(root), ("database",))
