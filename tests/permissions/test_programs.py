"""Why a command may run or write more than its first word says, and what wrappers hide."""

from __future__ import annotations

import pytest
from copilot_kernel.permissions.accepted import accepted
from copilot_kernel.permissions.commands import judge
from copilot_kernel.permissions.patterns import compile_pattern
from copilot_kernel.permissions.programs import hidden, unwrap, written
from copilot_kernel.permissions.scripts import awk_hides, sed_hides


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def by_rule(rule: str, text: str) -> str:
    spelled = compile_pattern(rule).spelled(words(text))
    assert spelled is not None
    return hidden(words(text), spelled)


BUILTINS = """
. source eval exec command builtin trap bind fc export declare typeset local readonly read mapfile readarray
unset let getopts
alias unalias set shopt enable hash umask ulimit shift history complete compgen compopt cd pushd popd
"""


@pytest.mark.parametrize("builtin", BUILTINS.split())
def test_builtins_that_run_or_poison_are_held_back(builtin: str) -> None:
    assert builtin in hidden((builtin, "x"))
    assert hidden((builtin, "x"), {0, 1}) == "", "unless the rule spells out every word"


@pytest.mark.parametrize(
    "text", ["echo a", "true", "pwd", "printf %s a", "test -f a", "[ -d a ]", "type ls", "command -v ls", "wait"]
)
def test_other_builtins_are_not(text: str) -> None:
    assert hidden(words(text)) == ""


@pytest.mark.parametrize(
    "text",
    ["test -v a[x]", "[ -v a[x] ]", "[ -R a ]", "printf -v PATH .", "printf -vPATH .", "wait -p a[x]", "jobs -x evil"],
)
def test_nor_are_they_with_options_that_evaluate_or_set(text: str) -> None:
    assert hidden(words(text))


def test_what_the_rule_spells_out_is_not_questioned() -> None:
    assert by_rule("git *", "git -c a.b=c log")
    assert by_rule("git -c a.b=c *", "git -c a.b=c log") == ""
    assert by_rule("git -c a.b=c *", "git -c a.b=c -c core.pager=evil log")
    assert by_rule("git -C sub *", "git -C sub diff --output=x")
    assert by_rule("git bisect run *", "git bisect run pytest -q") == ""
    assert by_rule("git lfs *", "git lfs pull --all") == ""
    assert by_rule("find . -name * -delete", "find . -name x -delete") == ""
    assert by_rule("find . -name * -delete", "find . -name -exec -delete")
    assert by_rule("sed -i *", "sed -i s/a/b/ x") == ""
    assert by_rule("sed -i *", "sed -i s/a/b/e x")


def test_names_of_files_that_read_like_options_are_held_back_where_options_matter() -> None:
    assert hidden(("sort", "*.csv"), {0}, frozenset({"*.csv"}))
    assert hidden(("sort", "./*.csv"), {0}, frozenset({"./*.csv"})) == ""
    assert hidden(("sort", "*.csv")) == "", "in quotes it is a name like others"
    assert hidden(("ls", "*.csv"), {0}, frozenset({"*.csv"})) == ""
    assert hidden(("git", "add", "*.py"), {0}, frozenset({"*.py"})) == ""
    assert hidden(("git", "add", "*"), {0}, frozenset({"*"}))


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("timeout 5 a b", "a b"),
        ("timeout 1.5m a", "a"),
        ("timeout -s KILL 5 a", "a"),
        ("timeout -k 5s 1h a", "a"),
        ("time a", "a"),
        ("time -p a", "a"),
        ("nice a", "a"),
        ("nice -n 5 a", "a"),
        ("nohup a", "a"),
        ("stdbuf -oL a", "a"),
        ("stdbuf -i0 -o0 -e4K a", "a"),
        ("nice timeout 5 nohup a -b", "a -b"),
    ],
)
def test_wrappers_in_their_plain_forms_are_looked_through(text: str, inner: str) -> None:
    assert unwrap(words(text)) == words(inner)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "timeout a",
            "timeout 5",
            "timeout --foreground 5 a",
            "timeout 5 -k a",
            "timeout -k a",
            "time -o x a",
            "nice -5 a",
            "nice -n x a",
        ),
        *(
            "nice --adjustment=5 a",
            "nohup",
            "nohup --help",
            "stdbuf a",
            "stdbuf --output=L a",
            "stdbuf -oX a",
            "env a",
            "xargs a",
            "sudo a",
        ),
        *(
            "watch a",
            "setsid a",
            "flock x a",
            "parallel a",
            "command a",
            "exec a",
            "./timeout 5 a",
            "busybox a",
            "npx a",
        ),
    ],
)
def test_others_are_not(text: str) -> None:
    assert unwrap(words(text)) == words(text)


def test_what_is_held_back_is_held_back_behind_a_wrapper_too() -> None:
    assert by_rule("sudo *", "sudo -u x git -c core.pager=evil log")
    assert by_rule("xargs *", "xargs find . -delete")
    assert by_rule("env *", "env A=1 sed -i s/a/b/ x")
    assert by_rule("sudo *", "sudo apt update") == ""


def test_the_files_of_tee_are_writes() -> None:
    assert written(("tee", "-a", "b", "c")) == ("b", "c")
    assert written(("tee", "b"), {0, 1}) == ()
    assert written(("cat", "b")) == ()


@pytest.mark.parametrize("rule", ["timeout 60 tee *", "tee *", "timeout 60 *", "sudo -n tee *"])
def test_also_behind_a_wrapper_in_the_rule(rule: str) -> None:
    line = rule.replace("*", "/home/u/.bashrc")
    line = line if "tee" in line else "timeout 60 tee /home/u/.bashrc"
    assert judge(line, [compile_pattern(rule)]).writes == ("/home/u/.bashrc",)
    assert judge("nohup a", [compile_pattern("nohup *")]).writes == ("nohup.out",)


@pytest.mark.parametrize(
    "script",
    [
        "p",
        "1,5p",
        "$d",
        "/a/,/b/p",
        "s/a/b/",
        "s|a|b|g",
        "s/a/b/;s/c/d/2gI",
        "/x/!d",
        "$!N;P;D",
        "s/\\/a/b/",
        "5q",
        "2~3p",
    ],
)
def test_scripts_of_sed_that_only_print(script: str) -> None:
    assert sed_hides(script) == ""


@pytest.mark.parametrize(
    "script",
    [
        "e",
        "1e x",
        "w x",
        "s/a/b/e",
        "s/a/b/w x",
        "s/a/b/gw x",
        "p;w x",
        "r x",
        "R x",
        "W x",
        "{e",
        "a\\x",
        "s/[/]/x/w f",
        "y/a/b/",
        "p\nw x",
        "F;e",
    ],
)
def test_scripts_of_sed_that_may_do_more(script: str) -> None:
    assert sed_hides(script)


@pytest.mark.parametrize(
    "program", ["{print $1}", "NR>1", '$1=="a" || $2', "END {print s/n}", '{s+=$2} END {printf "%d", s}', "$1 ~ /x/"]
)
def test_programs_of_awk_that_only_print(program: str) -> None:
    assert awk_hides(program) == ""


@pytest.mark.parametrize(
    "program",
    [
        "BEGIN{system(1)}",
        '{print|"x"}',
        '{print>"x"}',
        '{print>>"x"}',
        '{"x"|getline}',
        '@load "x"',
        '{print |& "x"}',
        "{@f()}",
    ],
)
def test_programs_of_awk_that_may_do_more(program: str) -> None:
    assert awk_hides(program)


def test_a_list_of_options_is_read_as_getopt_reads_them() -> None:
    options = accepted("-a -b -m: --all --name -iname -#")
    covered = ["a", "-", "--", "-a", "-ab", "-ba", "-mx", "-abmx", "-m", "--all", "--name=x", "-iname", "-5", "-12"]
    assert [word for word in covered if not options.covers(word)] == []
    refused = ["-c", "-ac", "-ca", "--al", "--alll", "--all-x", "-inam", "-5a", "---", "--a=b", "-a=", "-5.5"]
    assert [word for word in refused if options.covers(word)] == []
