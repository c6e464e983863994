"""The pieces of HTML."""

import pytest
from copilot_kernel.rendering.markup import file_link
from hypothesis import given
from hypothesis import strategies as st

from .allowed import FILE, problems, text_of
from .hostile import HOSTILE

CWD = "/project"


@pytest.mark.parametrize(("path", "href", "text"), [
    ("/project/src/a.py", "src/a.py", "src/a.py"),
    ("src/a.py", "src/a.py", "src/a.py"),
    ("/project/a b?c#d%e.py", "a%20b%3Fc%23d%25e.py", "a b?c#d%e.py"),
    ("é.py", "%C3%A9.py", "é.py"),
    ("javascript:alert(1)", "javascript%3Aalert%281%29", "javascript:alert(1)"),
])  # fmt: skip
def test_a_file_in_the_folder_is_a_relative_link(path, href, text):
    assert file_link(path, CWD).startswith(f'<a href="{href}" ')
    assert text_of(file_link(path, CWD)) == text


@pytest.mark.parametrize("path", [
    "/etc/passwd", "/project", "/project/", "/projects/a", "/project/../etc/passwd", "../a", "a/../../b", "./a", ".",
    "", ".git/config",
    "//evil.example/x", "/project//evil.example/x", "https://evil.example", "file:///etc/passwd", "~/a",
    "a//b", "\ud800", "\u202ea.py", "a\nb.py",
])  # fmt: skip
def test_any_other_path_is_only_text(path):
    assert "<a" not in file_link(path, CWD)


def test_without_a_folder_nothing_is_a_link():
    assert file_link("a.py", "") == "a.py"


@given(st.text(st.characters(codec=None)) | st.sampled_from(HOSTILE), st.sampled_from(["", "/project/"]))
def test_a_link_stays_below_the_folder(path, folder):
    html = file_link(f"{folder}{path}", CWD)
    assert problems(html) == []
    href = html.partition('href="')[2].partition('"')[0]
    assert not href or (FILE.fullmatch(href) and ".." not in href.split("/"))
