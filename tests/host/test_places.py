"""Which paths lead into the root, and which do not: each row with its reason."""

import unicodedata

import pytest
from copilot_kernel.errors import HostMissing, HostRefused
from copilot_kernel.host.files import MAX_PATH_BYTES, ProjectPath, locate, opened_folder, translating


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
    ("no/such/folder/new", ("no", "such", "folder", "new"), "nor need its folders"),
    ("./folder/../file", ("file",), "dots that stay inside"),
    ("../root/file", ("file",), "dots that come back"),
    ("link", ("file",), "a link at the end means what it leads to"),
    ("whole/inner", ("folder", "inner"), "an absolute link into the root"),
    ("chain/inner", ("folder", "inner"), "a link to a link"),
    ("folder/up/file", ("file",), "a link upwards that stays inside"),
    ("short/../file", ("file",), "the parent of where a link leads"),
    ("dangling", ("folder", "new"), "a link to what does not exist yet"),
    ("~", ("~",), "a tilde is a name like others"),
    ("$HOME/%s{a,b}*", ("$HOME", "%s{a,b}*"), "nothing is expanded"),
    (" spaced \t", (" spaced \t",), "nothing is stripped"),
    (unicodedata.normalize("NFD", "é"), ("e\u0301",), "two characters: another name, as the file system sees it"),
    ("x" * 255, ("x" * 255,), "the longest name"),
]


@pytest.mark.parametrize(("path", "parts", "reason"), INSIDE)
def test_a_path_inside_is_taken(root, path, parts, reason):
    assert locate(str(root), f"{root}/{path}") == ProjectPath(str(root), parts), reason


OUTSIDE = [
    ("{root}/../outside/file", "dots"),
    ("{root}/no/../../outside/file", "dots behind a folder that does not exist"),
    ("{root}-other/file", "the same beginning is not the same folder"),
    ("{root}/out/file", "a folder that is a link"),
    ("{root}/out-file", "a link at the end"),
    ("{root}/out-absolute", "an absolute link"),
    ("{root}/dangling-out", "a link to what does not exist yet"),
    ("{root}/folder/up/../outside/file", "the parent of where a link leads"),
    ("{root}/out/../root-other/file", "dots behind a link"),
    ("/proc/self/environ", "our own environment"),
    ("/proc/self/root/etc/passwd", "another name of the root of all"),
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
    ("~/file", "not absolute", "a tilde is not expanded"),
    ("file:///etc/passwd", "not absolute", "an address is no path"),
    ("{root}", "is a folder", "the root"),
    ("{root}/file/", "is a folder", "a slash at the end"),
    ("{root}/folder/..", "is a folder", "two dots at the end"),
    ("{root}/folder/up", "is a folder", "a link to the root"),
    ("{root}/a\0b", "null", "a null character"),
    ("{root}/\ud800", "not a valid file name", "half a character"),
    ("{root}/\udc80", "not a valid file name", "what Python makes of a byte that is no text"),
    ("{root}/" + "x/" * MAX_PATH_BYTES + "x", "too long", "a very long path"),
]


@pytest.mark.parametrize(("path", "words", "reason"), SENSELESS)
def test_what_makes_no_sense_is_refused(root, path, words, reason):
    with pytest.raises(HostRefused, match=words):
        locate(str(root), path.replace("{root}", str(root)))


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("loop/file", HostRefused, "link that cannot be followed"),
        ("folder/inner", HostRefused, "link that cannot be followed"),
        ("no/new", HostMissing, "does not exist"),
    ],
)
def test_a_folder_is_neither_created_nor_entered_through_a_loop_or_a_new_link(root, tmp_path, path, error, words):
    place = locate(str(root), f"{root}/{path}")
    (root / "folder").rename(tmp_path / "moved")
    (root / "folder").symlink_to(tmp_path / "moved")
    with pytest.raises(error, match=words), translating(place.path), opened_folder(place):
        pytest.fail("opened")
    assert not (root / "no").exists()
