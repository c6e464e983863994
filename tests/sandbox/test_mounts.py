"""Which paths exist inside, as arguments of bubblewrap."""

import posixpath

from copilot_kernel.sandbox.mounts import EMPTY_FILE, Access, Mount, arguments, parents, placed
from hypothesis import given
from hypothesis import strategies as st

READ, WRITE, HIDDEN = Access.READ, Access.WRITE, Access.HIDDEN


def made(*mounts, **links):
    words, found = list(arguments(placed(mounts), links)), []
    while words:
        count = 2 if words[0] == "--tmpfs" else 3
        found.append(tuple(words[:count]))
        del words[:count]
    return found


def test_what_is_deeper_comes_later_and_what_is_read_only_already_is_left_out():
    mounts = (Mount("/h/p", WRITE), Mount("/usr/bin/x", READ), Mount("/h", HIDDEN), Mount("/h/env", READ))
    assert made(*mounts) == [("--tmpfs", "/h"), ("--ro-bind", "/h/env", "/h/env"), ("--bind", "/h/p", "/h/p")]


def test_each_parent_of_a_protected_path_in_the_project_is_a_mount_point():
    assert made(Mount("/p", WRITE), Mount("/p/a/.git/hooks", READ)) == [
        ("--bind", "/p", "/p"),
        ("--bind", "/p/a", "/p/a"),
        ("--bind", "/p/a/.git", "/p/a/.git"),
        ("--ro-bind", "/p/a/.git/hooks", "/p/a/.git/hooks"),
    ]


def test_of_two_entries_for_one_path_the_stricter_counts():
    assert made(Mount("/p", WRITE), Mount("/p/x", HIDDEN, EMPTY_FILE), Mount("/p/x", READ)) == [
        ("--bind", "/p", "/p"),
        ("--ro-bind", EMPTY_FILE, "/p/x"),
    ]


def test_each_parent_in_a_private_folder_that_stands_in_the_place_of_another_is_a_mount_point():
    mounts = (Mount("/h/.c", WRITE, "/state/1"), Mount("/h/.c/a/b", READ, "/h/.c/a/b"), Mount("/h/.c/d/e", WRITE))
    assert made(*mounts) == [
        ("--bind", "/state/1", "/h/.c"),
        ("--bind", "/state/1/a", "/h/.c/a"),
        ("--ro-bind", "/h/.c/a/b", "/h/.c/a/b"),
        ("--bind", "/state/1/d", "/h/.c/d"),
        ("--bind", "/h/.c/d/e", "/h/.c/d/e"),
    ]


def test_a_symbolic_link_is_made_anew_only_where_a_folder_is_hidden():
    links = {"/h/bin/x": "../lib/x", "/usr/bin/y": "z"}
    assert list(arguments(placed([Mount("/h", HIDDEN)]), links)) == [
        "--tmpfs",
        "/h",
        "--symlink",
        "../lib/x",
        "/h/bin/x",
    ]


names = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))


@given(st.lists(st.builds(Mount, names, st.sampled_from(Access)), max_size=8))
def test_no_parent_of_what_is_not_writable_can_be_renamed(mounts):
    placed = {words[-1]: words[0] for words in made(*mounts)}
    order = list(placed)
    stricter = {mount.path for mount in mounts if mount.access is not WRITE} & placed.keys()
    for path in stricter:
        assert placed[path] != "--bind"
        above = [folder for folder in parents(path) if folder != "/"]
        around = next((folder for folder in above if folder in placed), None)
        if around and placed[around] == "--bind":
            assert around == posixpath.dirname(path)
    assert all(
        order.index(folder) < order.index(path) for path in order for folder in parents(path) if folder in placed
    )
