"""Our rules that deny, as `--deny-tool` flags of GitHub Copilot CLI."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.locate import deny_patterns

EXPRESSED = [
    ("Bash", ("shell",)),
    ("Bash(*)", ("shell",)),
    ("Bash(rm *)", ("shell(rm:*)",)),
    ("Bash(git push:*)", ("shell(git push:*)",)),
    ("Bash(npm test)", ("shell(npm test)",)),
    ("Edit", ("write",)),
    ("Edit(src/**)", ("write(/p/src/**)",)),
    ("Edit(src/a.py)", ("write(/p/src/a.py)",)),
    ("Edit(./a.py)", ("write(/p/a.py)",)),
    ("Edit(.env)", ("write(.env)",)),
    ("Edit(*.lock)", ("write(*.lock)",)),
    ("Edit(/etc/**)", ("write(/etc/**)",)),
    ("Read", ("read",)),
    ("Read(~/.ssh/**)", ("read(/h/.ssh/**)",)),
    ("WebFetch", ("url",)),
    ("WebFetch(domain:example.com)", ("url(https://example.com)", "url(http://example.com)")),
    ("WebFetch(domain:*.example.com)", ("url(https://*.example.com)", "url(http://*.example.com)")),
    ("mcp__files", ("files",)),
    ("mcp__files__delete", ("files(delete)",)),
]


@pytest.mark.parametrize(("rule", "patterns"), EXPRESSED)
def test_a_rule_in_the_words_of_copilot(rule: str, patterns: tuple[str, ...]) -> None:
    assert deny_patterns([rule], "/p", "/h") == patterns


@pytest.mark.parametrize(
    "rule",
    [
        "Grep",  # it has no word for searching
        "Bash(git * main)",  # a * in the middle
        "Bash(git commit -m 'a b')",  # blanks inside of a word
        "Bash(echo 'a)b')",  # brackets would end the pattern
        "Bash(echo 'a:*')",
        "Edit(a(b).py)",
        "Edit(file?.py)",  # what ? means to it is not known
        "mcp__shell__x",  # a server that is called as one of its own words
        "mcp__write",
    ],
)
def test_what_cannot_be_said_for_certain_is_not_said(rule: str) -> None:
    assert deny_patterns([rule], "/p", "/h") == ()


def test_each_pattern_is_told_once() -> None:
    assert deny_patterns(["Bash", "Bash(*)"], "/p", "/h") == ("shell",)
