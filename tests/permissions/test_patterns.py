"""What stands inside `Bash(…)` is matched word by word."""

from __future__ import annotations

import pytest
from copilot_kernel.permissions.commands import CommandPattern, compile_command


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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *(
            ("", "empty"),
            ("  ", "empty"),
            ("npm test*", "whole words"),
            ("src/*.py", "not written out"),
            ("cat src/*.py", "whole words"),
        ),
        *(
            ("a && b", "several commands"),
            ("a | b", "several"),
            ("a > b", "redirection"),
            ("a $x", "variable"),
            ("X=1 a", "sets a variable"),
        ),
        *(
            ("a 'b", "not closed"),
            ("a '*' *", "whole words"),
            ("a ~/b", "whole words"),
            ("a ?", "whole words"),
            ("a\u200b *", "invisible"),
        ),
        *(("* --help", "not written out"), ("# a", "several"), ("a " * 6000, "longer than")),
    ],
)
def test_what_is_no_pattern_says_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="rule") as error:
        compile_command(text)
    assert why in str(error.value).lower()


def test_a_star_at_the_end_is_any_words_or_none() -> None:
    assert [matches("git *", *words) for words in (("git",), ("git", "a"), ("git", "a", "b"))] == [True] * 3
    assert [matches("git *", *words) for words in (("gitk",), ("./git",), ("/bin/git", "a"), ("GIT",))] == [False] * 4


def test_an_exact_pattern_is_these_words_only() -> None:
    assert matches("npm test", "npm", "test")
    assert not any(
        matches("npm test", *words) for words in (("npm",), ("npm", "testevil"), ("npm", "test", "x"), ("npm test",))
    )


def test_a_star_between_words_is_exactly_one() -> None:
    assert matches("cp * backup", "cp", "a", "backup")
    assert not any(matches("cp * backup", *words) for words in (("cp", "backup"), ("cp", "a", "b", "backup")))


def test_what_may_become_several_words_fits_an_open_end_only() -> None:
    globs = frozenset({"src/*.py"})
    assert matches("cp *", "cp", "src/*.py", "backup", globs=globs)
    assert not matches("cp * backup", "cp", "src/*.py", "backup", globs=globs)


def test_it_knows_which_words_it_spells_out() -> None:
    pattern = compile_command("git -C * status *")
    assert pattern.spelled(("git", "-C", "x", "status", "-s")) == frozenset({0, 1, 3})
    assert not pattern.is_exact
    assert compile_command("git status").is_exact


EVERYTHING = """
* ¦ python * ¦ python3 * ¦ python3.12 * ¦ /usr/bin/python * ¦ python ¦ python -c * ¦ python -m * ¦ bash *
sh -c * ¦ node * ¦ npx * ¦ uvx *
env * ¦ xargs * ¦ sudo * ¦ sudo -u * ¦ make * ¦ npm * ¦ npm exec * ¦ uv * ¦ uv run * ¦ conda run * ¦ docker *
docker run * ¦ ssh * ¦ perl -e *
R * ¦ Rscript * ¦ git bisect run * ¦ git -c * ¦ timeout * ¦ vim * ¦ eval * ¦ source * ¦ cd * ¦ jupyter *
"""
NOT_EVERYTHING = """
git * ¦ npm test ¦ npm run build ¦ npm run * ¦ npx prettier * ¦ python train.py * ¦ python -m pytest *
uv run pytest * ¦ make test
sudo apt update ¦ docker compose up ¦ ls * ¦ find * ¦ source .venv/bin/activate ¦ cd frontend ¦ Rscript fit.R *
pytest *
"""


def listed(text: str) -> list[str]:
    return [item for row in text.strip().splitlines() for item in row.split(" ¦ ")]


@pytest.mark.parametrize("text", listed(EVERYTHING))
def test_a_rule_that_means_more_than_it_says_is_warned_about(text: str) -> None:
    assert compile_command(text).warning


@pytest.mark.parametrize("text", listed(NOT_EVERYTHING))
def test_other_rules_are_not(text: str) -> None:
    assert compile_command(text).warning is None
