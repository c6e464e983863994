"""What stands inside `Bash(…)` is matched word by word."""

import pytest
from copilot_kernel.permissions.command_rules import CommandPattern, compile_command

from .making import split


def matches(pattern: str, *words: str, globs: frozenset[str] = frozenset()) -> bool:
    return compile_command(pattern).spelled(words, globs) is not None


@pytest.mark.parametrize(
    ("text", "words", "is_open"),
    [
        ("git *", ("git",), True),
        ("git:*", ("git",), True),
        ("npm run test:*", ("npm", "run", "test"), True),
        ("npm test", ("npm", "test"), False),
        ("  npm   test ", ("npm", "test"), False),
        ("git commit -m 'a b'", ("git", "commit", "-m", "a b"), False),
        ("cp * backup", ("cp", None, "backup"), False),
        ("cp * *", ("cp", None), True),
        ("./run.sh *", ("./run.sh",), True),
        ("*", (), True),
    ],
)
def test_a_pattern_is_words(text: str, words: tuple[str | None, ...], is_open: bool) -> None:
    assert compile_command(text) == CommandPattern(text, words, is_open)


NO_PATTERNS = {
    "empty": ("", "  "),
    "whole words": ("npm test*", "cat src/*.py", "a '*' *", "a ~/b", "a ?"),
    "not written out": ("src/*.py", "* --help"),
    "several commands": ("a && b",),
    "several": ("a | b", "# a"),
    "redirection": ("a > b",),
    "variable": ("a $x",),
    "sets a variable": ("X=1 a",),
    "not closed": ("a 'b",),
    "invisible": ("a\u200b *",),
    "longer than": ("a " * 6000,),
}


@pytest.mark.parametrize(("why", "text"), [(why, text) for why, texts in NO_PATTERNS.items() for text in texts])
def test_what_is_no_pattern_says_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="rule") as error:
        compile_command(text)
    assert why in str(error.value).lower()


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("git *", "git ¦ git a ¦ git a b", "gitk ¦ ./git ¦ /bin/git a ¦ GIT"),
        ("npm test", "npm test", "npm ¦ npm testevil ¦ npm test x"),
        ("cp * backup", "cp a backup", "cp backup ¦ cp a b backup"),
    ],
)
def test_a_star_is_one_word_or_at_the_end_any_words(pattern: str, matching: str, others: str) -> None:
    assert [line for line in split(matching) if not matches(pattern, *line.split())] == []
    assert [line for line in split(others) if matches(pattern, *line.split())] == []
    assert not matches("npm test", "npm test")


def test_what_may_become_several_words_fits_an_open_end_only() -> None:
    globs = frozenset({"src/*.py"})
    assert matches("cp *", "cp", "src/*.py", "backup", globs=globs)
    assert not matches("cp * backup", "cp", "src/*.py", "backup", globs=globs)


def test_it_knows_which_words_it_spells_out() -> None:
    pattern = compile_command("git -C * status *")
    assert pattern.spelled(("git", "-C", "x", "status", "-s")) == frozenset({0, 1, 3})
