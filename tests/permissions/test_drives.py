"""The policy on Windows: how paths are spelled, and which lines are the same for every shell."""

import pytest
from copilot_kernel.permissions.shell import parse_command
from copilot_kernel.system import drives

from . import windows_corpus as corpus


def test_each_path_and_line_of_the_corpus_is_decided_as_it_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drives, "WINDOWS", True)
    assert list(corpus.wrong()) == []


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (r"C:\a\b", "/c:/a/b"),
        ("C:\\", "/c:/"),
        (r"D:\a b\é.py", "/d:/a b/é.py"),
        (r"\\server\share\a", "//server/share/a"),
        (r"a\b", "a/b"),
    ],
)
def test_a_path_is_translated_once_however_often(there: str, here: str) -> None:
    assert drives.inward(there) == drives.inward(here) == here
    if drives.has_drive(there):
        assert drives.outward(here) == drives.outward(there) == there


def test_elsewhere_backslashes_and_colons_are_characters_of_names() -> None:
    for path in (r"/proj/a\b", "/c:/a", "a:b", r"\\a"):
        assert (drives.policy_path(path), drives.disk_path(path), drives.spelling_problem(path)) == (path, path, None)
    assert parse_command(r"cat a\\b").commands == (("cat", r"a\b"),)
