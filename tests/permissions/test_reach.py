"""Where the words of a command lead, as far as that depends on the folder, the project and the user's home."""

from __future__ import annotations

import pytest
from copilot_kernel.permissions.commands import judge
from copilot_kernel.permissions.patterns import compile_pattern
from copilot_kernel.permissions.reach import Around

from .making import ROOT, judged, run

PROJECT = Around("/home/me/project/src", ("/home/me/project", "/mnt/disk/project"), "/home/me")
RULES = "pytest *; cat *; rg *; cp *; timeout 60 *; python *; python -m pytest *; bash fit.sh *; python -u fit.py *"


def outcome(line: str, around: Around = PROJECT) -> str:
    return judge(line, [compile_pattern(rule) for rule in RULES.split("; ")], around=around).outcome


@pytest.mark.parametrize(
    "line",
    [
        *(
            "pytest ../tests",
            "pytest /home/me/project/tests",
            "pytest ~/project/tests",
            "pytest /mnt/disk/project/tests",
        ),
        *("pytest .", "pytest ..", "pytest ../src/../tests", "cp a ../b", "cat ~/notes.md", "cat /home/me/notes.md"),
        *("bash fit.sh /data/x", "python -u fit.py ~/x", "timeout 60 cat /etc/hosts", "rg x /usr/include"),
    ],
)
def test_inside_of_the_project_words_are_free(line: str) -> None:
    assert outcome(line) == "allow"


@pytest.mark.parametrize(
    "line",
    [
        *("pytest ../..", "pytest /home/me", "pytest /home/me/project2", "pytest ~", "pytest ~/other", "cp a ../../b"),
        *("pytest /home/me/project/../other", "python ../../x.py", "python -m pytest ~/x", "timeout 60 pytest ~/x"),
        *("rg --hidden x /home", "rg x ~/.local", "rg x ../..", "cp ../.git/config a", "cp a /home/me/project/.git/x"),
        *("pytest FILE:///tmp/x", "cat file:///home/me/.ssh/x", "cat ../.env", "cat /mnt/disk/project/.env"),
    ],
)
def test_what_leads_elsewhere_or_to_more_than_text_asks(line: str) -> None:
    assert outcome(line) == "ask"


@pytest.mark.parametrize("line", ["rm -rf /home/me/project", "rm -rf ..", "rm -rf ~/project", "mv /mnt/disk/project x"])
def test_the_project_is_not_taken_as_a_whole(line: str) -> None:
    rules = [compile_pattern("rm *"), compile_pattern("mv *")]
    assert "takes the whole project" in judge(line, rules, around=PROJECT).reason
    assert judge("rm -rf ../data", rules, around=PROJECT).outcome == "allow"


def test_what_is_behind_a_folder_outside_depends_on_links() -> None:
    assert outcome("cat /home/me/project/../project/a") == "allow"
    assert outcome("cat /home/me/link/../project/a") == "ask"
    assert outcome("cat ../../../etc/hosts") == "allow"


def test_the_reason_for_settings_of_the_home_folder_is_what_they_may_hold() -> None:
    seen = judge("cat ~/.gitconfig", [compile_pattern("cat *")], around=PROJECT)
    assert "may hold secrets" in seen.reason


def test_git_may_be_told_the_folder_in_which_it_starts() -> None:
    rules = [compile_pattern("git *")]
    for folder, wanted in (("/home/me/project/src", "allow"), ("/home/me/project", "ask"), ("..", "ask")):
        assert judge(f"git -C {folder} status", rules, around=PROJECT).outcome == wanted
    assert judge("git -C /home/me/project/src push", rules, deny=[compile_pattern("git push *")]).outcome == "deny"


def test_names_above_the_project_do_not_count() -> None:
    inside = Around("/srv/.config/p", ("/srv/.config/p",), "/root")
    assert outcome("cp a /srv/.config/p/b", inside) == "allow"
    assert outcome("cp a .config/b", inside) == "ask"


def test_without_a_folder_only_what_is_spelled_from_it_is_inside() -> None:
    assert [outcome(line, Around()) for line in ("pytest tests/../a", "pytest ../a", "pytest /a", "pytest ~/a")] == [
        "allow",
        *("ask", "ask", "ask"),
    ]


@pytest.mark.parametrize("rule", [".venv/bin/pytest *", ".venv/bin/python *", "node -r ./x.js *", "python -W ignore *"])
def test_only_a_script_of_the_project_decides_itself_what_its_words_mean(rule: str) -> None:
    assert judge(rule.replace("*", "/tmp/evil"), [compile_pattern(rule)], around=PROJECT).outcome == "ask"
    for own in ("scripts/fit *", ".venv/bin/python fit.py *", "Rscript --vanilla fit.R *"):
        assert judge(own.replace("*", "/data/x"), [compile_pattern(own)], around=PROJECT).outcome == "allow"


def test_too_many_words_to_look_through_ask() -> None:
    assert outcome("pytest " + "a.py " * 100) == "allow"
    assert outcome("pytest " + "a.py " * 400) == "ask"
    assert outcome("pytest a" + ":./b" * 400) == "ask"
    assert outcome("pytest -k '" + "a, b: c; " * 100 + "'") == "allow"


@pytest.mark.parametrize(("folder", "path", "wanted"), [("src", "../tests", "allow"), ("src", "../../x", "ask")])
def test_a_call_is_judged_in_the_folder_that_it_names(folder: str, path: str, wanted: str) -> None:
    assert judged(run(f"pytest {path}", cwd=folder), allow="Bash(pytest *)").outcome == wanted


def test_the_project_may_be_behind_a_link() -> None:
    links = {ROOT: "/mnt/disk/project"}
    for path, wanted in (("/mnt/disk/project/a", "allow"), (f"{ROOT}/a", "allow"), ("/mnt/disk/a", "ask")):
        assert judged(run(f"pytest {path}"), allow="Bash(pytest *)", links=links).outcome == wanted


def test_the_reason_names_the_word_and_the_exact_command_can_be_allowed() -> None:
    decision = judged(run("pytest ../other"), allow="Bash(pytest *)")
    assert "../other" in decision.reason
    assert "outside of the project" in decision.reason
    assert decision.suggestion == "Bash(pytest ../other)"


def test_words_are_shown_with_their_quotes() -> None:
    decision = judged(run("git commit -m 'Begin at nought'"))
    assert decision.reason == "No rule allows git commit -m 'Begin at nought'."
