"""Git in a project that knows its remotes, and what Git would put in place of files that run or steer."""

from __future__ import annotations

import pytest
from copilot_kernel.permissions.commands import judge
from copilot_kernel.permissions.patterns import compile_pattern
from copilot_kernel.permissions.reach import Around
from copilot_kernel.permissions.remotes import configured

_SETTINGS = """[core]
\trepositoryformatversion = 0
[remote "origin"]
\turl = https://example.org/me/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[remote "upstream"]
\turl = git@example.org:them/a.git
\tpushurl = ssh://git@example.org:2222/them/a.git
[branch "main"]
\tremote = origin
"""


def outcome(line: str, remotes: frozenset[str] = frozenset({"origin"})) -> str:
    around = Around("/home/me/project", home="/home/me", remotes=remotes)
    return judge(line, [compile_pattern("git *")], around=around).outcome


_TO_A_REMOTE = """
git push NAME main ¦ git pull NAME main ¦ git pull --rebase NAME main ¦ git fetch NAME ¦ git fetch NAME --prune
git remote show NAME ¦ git remote prune NAME ¦ git ls-remote NAME ¦ git push -u NAME HEAD:refs/heads/new
"""
TO_A_REMOTE = [line for row in _TO_A_REMOTE.strip().splitlines() for line in row.split(" ¦ ")]


@pytest.mark.parametrize("line", TO_A_REMOTE)
def test_a_remote_with_an_address_is_free_and_any_other_name_may_be_a_folder(line: str) -> None:
    known = configured(_SETTINGS)
    assert [outcome(line.replace("NAME", name), known) for name in ("origin", "upstream")] == ["allow"] * 2
    assert outcome(line.replace("NAME", "evil"), known) == "ask"
    assert outcome(line.replace("NAME", "origin"), frozenset()) == "ask"
    assert [outcome(line.replace("NAME", name)) for name in ("origin", "upstream")] == ["allow", "ask"]


def test_each_of_several_remotes_is_looked_at() -> None:
    assert outcome("git fetch --multiple origin evil") == "ask"


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (_SETTINGS, {"origin", "upstream"}),
        (_SETTINGS.replace("\n", "\r\n"), {"origin", "upstream"}),
        (_SETTINGS + '[remote "upstream"]\nurl = ./folder\n', {"origin"}),
        (_SETTINGS + '[remote "upstream"] url = ./folder\n', set()),
        (_SETTINGS + "[remote.upstream]\nurl = ./folder\n", set()),
        (_SETTINGS + '[remote "origin"]\npushurl = folder\n', {"upstream"}),
        (_SETTINGS + '[remote "origin"]\nvcs = evil\n', {"upstream"}),
        ('[remote "a"]\nurl = ../a', set()),
        ('[remote "a"]\nurl = /srv/a', set()),
        ('[remote "a"]\nurl = a', set()),
        ('[remote "a"]\nurl = file:///srv/a', set()),
        ('[remote "a"]\nurl = ext::evil', set()),
        ('[remote "a"]\nurl = evil://x', set()),
        ('[remote "a"]\nurl = "https://example.org/a"', set()),
        ('[remote "a"]\nurl = https://example.org/a\\\nb', set()),
        ('[remote "a"]\nurl', set()),
        ('[remote "a"]\npushurl = https://example.org/a', set()),
        ('[remote "a"]\nfetch = x', set()),
        ('[remote "a"]\n# url = https://example.org/a', set()),
        ('[branch "a"]\nurl = https://example.org/a', set()),
        ('url = https://example.org/a\n[remote "-x"]\nurl = https://example.org/a', set()),
        ("", set()),
        ("[" * 10_000, set()),
    ],
)
def test_only_remotes_with_nothing_but_addresses_are_known(settings: str, names: set[str]) -> None:
    assert configured(settings) == names


_ASKED = """
git clone --bare http://example.org/x origin ¦ git clone http://example.org/origin
git clone http://example.org/origin.git ¦ git clone http://example.org/origin/
git clone http://example.org/x origin/ ¦ git clone http://example.org/d/.vscode
git clone http://example.org/d/.vscode.git ¦ git clone http://example.org/d/.vscode/.git
git clone me@example.org:.vscode ¦ git clone me@example.org:d/.husky ¦ git clone http://example.org/x sub/.vscode
git clone http://example.org/x .vscode ¦ git clone http://example.org/x venv
git clone -- http://example.org/x .githooks ¦ git clone http://example.org/x?y=/.zed
git checkout FETCH_HEAD -- .vscode/tasks.json ¦ git checkout main -- sub/AGENTS.md ¦ git checkout -- AGENTS.md
git checkout main .githooks/pre-commit ¦ git restore --source=FETCH_HEAD AGENTS.md
git restore .github/hooks/x.json ¦ git restore -s main .vscode ¦ git rm AGENTS.md ¦ git rm -r --cached .vscode
git mv x AGENTS.md ¦ git checkout main -- ~/x ¦ git diff --no-index src data ¦ git diff --no-index -- a b
git grep --no-index key ¦ git grep -n --no-index key src
"""
ASKED = [line for row in _ASKED.strip().splitlines() for line in row.split(" ¦ ")]


@pytest.mark.parametrize("line", ASKED)
def test_what_git_would_put_in_place_is_judged_by_its_name(line: str) -> None:
    assert outcome(line) == "ask"


_ALLOWED = """
git checkout main ¦ git checkout -b x ¦ git checkout -b fix/a.b origin/main ¦ git checkout HEAD~1 -- src/a.py
git checkout - ¦ git checkout v1.0 ¦ git checkout @{-1} ¦ git checkout -- . ¦ git restore .
git restore --staged src/a.py ¦ git rm src/a.py ¦ git restore --source=HEAD~2 src/a.py ¦ git rm -r --cached build
git rm .github/workflows/ci.yml ¦ git mv a.py b.py ¦ git clone https://example.org/a/b.git
git clone git@example.org:a/b.git b ¦ git clone https://example.org/a/b c.d ¦ git add AGENTS.md ¦ git diff AGENTS.md
git show HEAD:.vscode/tasks.json ¦ git log -p -- AGENTS.md ¦ git commit -m restore ¦ git diff a b
git grep -n key src ¦ git check-ignore --no-index src
"""
ALLOWED = [line for row in _ALLOWED.strip().splitlines() for line in row.split(" ¦ ")]


@pytest.mark.parametrize("line", ALLOWED)
def test_branches_and_ordinary_files_stay_free(line: str) -> None:
    assert outcome(line) == "allow"
