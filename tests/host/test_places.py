"""Which paths lead into the root, and which do not: each row with its reason."""

import os
import unicodedata

import pytest
from copilot_kernel.errors import HostMissing, HostRefused
from copilot_kernel.host.places import MAX_PATH, Place, locate, opened_folder, translating


@pytest.fixture
def root(tmp_path):
    """A root with a file, a folder and links, beside a folder of which the name begins like the root's."""
    for folder in ("root/folder", "root-other", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("root/file", "root/folder/inner", "root-other/file", "outside/file"):
        (tmp_path / file).write_text(file)
    links = {
        "link": "file",
        "folder/up": "..",
        "short": "folder",
        "whole": str(tmp_path / "root" / "folder"),
        "out": "../outside",
        "out-file": "../outside/file",
        "out-absolute": "/etc/passwd",
        "dangling": "folder/new",
        "dangling-out": "../outside/new",
        "chain": "short",
        "loop": "loop",
        "home": "/proc/self/cwd",
    }
    for name, target in links.items():
        (tmp_path / "root" / name).symlink_to(target)
    return tmp_path / "root"


INSIDE = [
    ("file", ("file",), "a file"),
    ("folder/inner", ("folder", "inner"), "a file in a folder"),
    ("new", ("new",), "what is to be created need not exist"),
    ("no/such/folder/new", ("no", "such", "folder", "new"), "nor need its folders"),
    ("./folder/../file", ("file",), "dots that stay inside"),
    ("../root/file", ("file",), "dots that come back"),
    ("folder//inner", ("folder", "inner"), "slashes count once"),
    ("link", ("file",), "a link at the end means what it leads to"),
    ("short/inner", ("folder", "inner"), "a folder that is a link"),
    ("whole/inner", ("folder", "inner"), "an absolute link into the root"),
    ("chain/inner", ("folder", "inner"), "a link to a link"),
    ("folder/up/file", ("file",), "a link upwards that stays inside"),
    ("short/../file", ("file",), "the parent of where a link leads"),
    ("dangling", ("folder", "new"), "a link to what does not exist yet"),
    ("~", ("~",), "a tilde is a name like others"),
    ("$HOME/%s{a,b}*", ("$HOME", "%s{a,b}*"), "nothing is expanded"),
    (" spaced \t", (" spaced \t",), "nothing is stripped"),
    ("a\nb", ("a\nb",), "a line feed is a character"),
    ("...", ("...",), "three dots are a name"),
    ("C:\\windows", ("C:\\windows",), "a backslash is a character"),
    (unicodedata.normalize("NFC", "é"), ("\xe9",), "one character"),
    (unicodedata.normalize("NFD", "é"), ("e\u0301",), "two characters: another name, as the file system sees it"),
    ("x" * 255, ("x" * 255,), "the longest name"),
]


@pytest.mark.parametrize(("path", "parts", "reason"), INSIDE)
def test_a_path_inside_is_taken(root, path, parts, reason):
    assert locate(str(root), f"{root}/{path}") == Place(str(root), parts), reason


OUTSIDE = [
    ("{root}/../outside/file", "dots"),
    ("{root}/folder/../../outside/file", "dots behind a folder"),
    ("{root}/no/../../outside/file", "dots behind a folder that does not exist"),
    ("{root}-other/file", "the same beginning is not the same folder"),
    ("{root}/out/file", "a folder that is a link"),
    ("{root}/out/new", "a new file in it"),
    ("{root}/out-file", "a link at the end"),
    ("{root}/out-absolute", "an absolute link"),
    ("{root}/dangling-out", "a link to what does not exist yet"),
    ("{root}/folder/up/../outside/file", "the parent of where a link leads"),
    ("{root}/out/../root-other/file", "dots behind a link"),
    ("/etc/passwd", "another place"),
    ("/proc/self/environ", "our own environment"),
    ("/proc/self/root/etc/passwd", "another name of the root of all"),
    ("/dev/null", "a device"),
    ("/", "everything"),
    ("{root}/..", "the folder above"),
    ("//{root}-other/file", "two slashes at the start"),
]


@pytest.mark.parametrize(("path", "reason"), OUTSIDE)
def test_a_path_outside_is_refused(root, path, reason):
    path = path.format(root=root)
    with pytest.raises(HostRefused, match=r"outside|is a folder"):
        locate(str(root), path)


SENSELESS = [
    ("", "not absolute", "nothing"),
    ("file", "not absolute", "relative"),
    ("./file", "not absolute", "relative"),
    ("~/file", "not absolute", "a tilde is nobody's home here"),
    ("file:///etc/passwd", "not absolute", "an address is no path"),
    ("{root}", "is a folder", "the root"),
    ("{root}/", "is a folder", "the root"),
    ("{root}/file/", "is a folder", "a slash at the end"),
    ("{root}/.", "is a folder", "a dot at the end"),
    ("{root}/folder/..", "is a folder", "two dots at the end"),
    ("{root}/folder/up", "is a folder", "a link to the root"),
    ("{root}/a\0b", "null", "a null character"),
    ("{root}/\ud800", "no text", "half a character"),
    ("{root}/\udc80", "no text", "what Python makes of a byte that is no text"),
    ("{root}/" + "x/" * MAX_PATH + "x", "too long", "a very long path"),
]


@pytest.mark.parametrize(("path", "words", "reason"), SENSELESS)
def test_what_makes_no_sense_is_refused(root, path, words, reason):
    with pytest.raises(HostRefused, match=words):
        locate(str(root), path.replace("{root}", str(root)))


def test_our_own_folder_under_another_name_is_known(root, monkeypatch):
    monkeypatch.chdir(root)
    assert locate(str(root), "/proc/self/cwd/file") == Place(str(root), ("file",))


def test_a_loop_of_links_leads_nowhere(root):
    place = locate(str(root), f"{root}/loop/file")
    with pytest.raises(HostRefused, match="link that leads nowhere"), translating(place.path), opened_folder(place):
        pytest.fail("opened")


def test_a_very_long_chain_of_links_is_refused(root):
    for n in range(3000):
        (root / f"l{n}").symlink_to(f"l{n + 1}")
    with pytest.raises(HostRefused, match="too many links"):
        locate(str(root), f"{root}/l0")


def test_a_folder_that_became_a_link_is_not_entered(root, tmp_path):
    place = locate(str(root), f"{root}/folder/inner")
    (root / "folder").rename(tmp_path / "moved")
    (root / "folder").symlink_to(tmp_path / "moved")
    with pytest.raises(HostRefused, match="link that leads nowhere"), translating(place.path), opened_folder(place):
        pytest.fail("opened")


def test_a_folder_is_not_created_by_looking(root):
    place = locate(str(root), f"{root}/no/new")
    with pytest.raises(HostMissing), translating(place.path), opened_folder(place):
        pytest.fail("opened")
    assert not (root / "no").exists()


def test_every_descriptor_on_the_way_is_closed(root):
    before = len(os.listdir("/dev/fd"))
    with opened_folder(locate(str(root), f"{root}/folder/inner")) as folder:
        assert sorted(os.listdir(folder)) == ["inner", "up"]
    assert len(os.listdir("/dev/fd")) == before
