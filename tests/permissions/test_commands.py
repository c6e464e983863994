"""The verdict on a command line: deny before ask before allow, all or nothing, in a bounded time."""

from __future__ import annotations

import time

import pytest
from copilot_kernel.permissions.commands import Verdict, judge
from copilot_kernel.permissions.patterns import compile_pattern
from copilot_kernel.permissions.reach import Around, _reason


def verdict(
    line: str, *allow: str, ask: str = "", deny: str = "", trust_all: bool = False, folder: str = ""
) -> Verdict:
    rules, asks, denies = ([compile_pattern(text) for text in texts if text] for texts in (allow, [ask], [deny]))
    return judge(line, rules, asks, denies, trust_all=trust_all, around=Around(folder))


def test_a_verdict_names_the_rules_that_decided() -> None:
    assert verdict("ls && git log | head -3; ls -l", "git *", "ls *", "head *") == Verdict(
        "allow", "allowed by Bash(ls *), Bash(git *), Bash(head *)", ("ls *", "git *", "head *")
    )
    assert verdict("ls; x", "ls *") == Verdict("ask", "no rule allows x")
    assert verdict("x", "*", deny="x *") == Verdict("deny", "the rule Bash(x *) denies it", ("x *",))
    assert verdict("x", "*", ask="x *") == Verdict("ask", "the rule Bash(x *) asks", ("x *",))


def test_deny_is_before_ask_is_before_allow() -> None:
    assert verdict("git push", "git *", ask="git push *", deny="git *").outcome == "deny"
    assert verdict("git push", "git push", ask="git *").outcome == "ask"


def test_files_that_it_writes_are_named_for_whoever_judges_edits() -> None:
    assert verdict("ls > a.txt 2>> b.txt", "ls *").writes == ("a.txt", "b.txt")
    assert verdict("ls | tee a.txt", "ls *", "tee *").writes == ("a.txt",)
    assert verdict("ls | tee a.txt", "ls *", "tee a.txt").writes == ()
    assert verdict("nohup ls", "ls *").writes == ("nohup.out",)
    assert verdict("ls > a.txt", "cat *") == Verdict("ask", "no rule allows ls", (), ("a.txt",))


def test_to_go_where_it_already_is_needs_no_rule() -> None:
    assert verdict("cd /home/me/p && npm test", "npm test", folder="/home/me/p").outcome == "allow"
    assert verdict("cd /home/me/p", folder="/home/me/p") == Verdict(
        "allow", "allowed by no rule, since it does nothing"
    )
    for line in ("cd /home/me/p/sub", "cd sub", "cd", "cd -", "cd ..", "cd /home/me/p x", "cd /home/me"):
        assert verdict(f"{line} && npm test", "npm test", folder="/home/me/p").outcome == "ask"
    assert verdict("cd '' && npm test", "npm test").outcome == "ask"


def test_the_bare_rule_allows_every_line_whose_text_hides_nothing() -> None:
    assert verdict("X=1 a $(b) > c; for x in 1; do :; done", trust_all=True).outcome == "allow"
    for line in ("ls \u202e", "ls \u200b", "ls \x1b", "x" * 10_001):
        assert verdict(line, trust_all=True).outcome == "ask"


def test_with_limits_the_bare_rule_is_for_clear_lines_only() -> None:
    for line in (
        "echo $(x)",
        "$x",
        "bash -c 'ls'",
        "sudo bash x",
        "eval ls",
        "git -c a.b=c log",
        "find . -exec ls {} +",
    ):
        assert verdict(line, trust_all=True).outcome == "allow"
        assert verdict(line, trust_all=True, deny="rm *").outcome == "ask"
    for line in ("ls -l | cat", "cd sub && make", "git log"):
        assert verdict(line, trust_all=True, deny="rm *").outcome == "allow"


def test_a_limit_with_no_end_is_about_more_words_as_well() -> None:
    assert verdict("git push origin", "git *", deny="git push").outcome == "deny"
    assert verdict("git commit -m push", "git *", deny="git push").outcome == "allow"


WORST = [
    *(
        "sudo " + "rm " * 590,
        "a " * 590,
        "''" * 5000,
        "$ ; rm " * 1400,
        "git " + "-p " * 590,
        "sudo '" + "rm ;" * 2400 + "'",
    ),
    *(
        "x" * 1_000_000,
        "\u4e00" * 9_000,
        "sudo rm " + "-a " * 580,
        "rm -a " * 100 + ";",
        "git -c '" + "a b " * 2000 + "'",
    ),
    *(
        "sed '" + "p;" * 4000 + "'",
        "sed 's/" + "a" * 9000 + "'",
        "awk '" + "|" * 9000 + "'",
        "a;" * 50,
        "(" * 9000,
        "# " * 5000,
    ),
    *(
        "".join(map(chr, range(0x4E00, 0x4E00 + 9_000))),
        "sed '" + "/" * 9000 + "'",
        "\\ " * 5000,
        "a >b " * 290,
        "time " * 590,
    ),
    *(
        "a " + ":" * 9000,
        "a " + ":/" * 4500,
        "a " + " ".join(f"./{i}/a=b" for i in range(590)),
        "a " + "../" * 3000,
        "a /" + "*" * 9000,
        "ls ~/" + "*" * 9000,
    ),
    *(
        "a " + " ".join(":".join(f"./{i}{j}" for j in range(45)) for i in range(35)),
        "a " + " ".join(f"./{i}/a=b:./c{i}" for i in range(140)),
        "a " + "x/" * 4900,
    ),
    *("a " + " ".join(f"{i}.a:{i}" for i in range(590)), "xargs a " + "a/ " * 580, "ls " + "/proc/self " * 590),
    *("nice " * 590 + "a", "xargs " * 590, "sed " + "-e p " * 290, "git grep " + "-e " * 580),
]


@pytest.mark.parametrize("line", WORST, ids=range(len(WORST)))
def test_time_is_bounded(line: str) -> None:
    rules = [compile_pattern(text) for text in ("git *", "sudo *", "ls *", "a *", "sed *", "awk *", "xargs *", "*")]
    limits = [compile_pattern(text) for text in ("rm -rf x *", "git push --force *", "dd *", "curl -o *")]
    times = []
    for _ in range(5):
        _reason.cache_clear()
        start = time.thread_time()
        judge(line, rules, limits[2:], limits[:2])
        times.append(time.thread_time() - start)
    assert min(times) < 0.02  # the goal is 5 ms at the 99th percentile; a slow machine is allowed for
