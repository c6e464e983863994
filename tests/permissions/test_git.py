"""Facts about the real git: which tricks start a program, and that no option on our list does."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from copilot_kernel.permissions.accepted import accepted
from copilot_kernel.permissions.commands import judge
from copilot_kernel.permissions.git import SUBCOMMANDS
from copilot_kernel.permissions.patterns import compile_pattern, warning
from copilot_kernel.permissions.programs import hidden

from .making import edit, judged

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="these are facts about git")

_STARTING = """
-c core.pager=EVIL -p log ¦ -c core.fsmonitor=EVIL status ¦ -c alias.x=!EVIL x ¦ -c diff.external=EVIL diff HEAD~1
-c core.sshCommand=EVIL ls-remote ssh://x/y ¦ -c core.editor=EVIL commit --amend
-c core.hooksPath=HOOKS commit --allow-empty -m x ¦ --exec-path=BESIDE evil ¦ -C OTHER status
-c protocol.ext.allow=always ls-remote ext::EVIL ¦ --config-env=core.pager=EVIL_NAME -p log
--git-dir=OTHER/.git --work-tree=. status ¦ ls-remote --upload-pack=EVIL . ¦ ls-remote --upload-p=EVIL .
ls-remote --exec=EVIL .
fetch --upload-pack EVIL . ¦ fetch --upl=EVIL . ¦ fetch-pack --exec=EVIL . HEAD ¦ pull --upload-pack=EVIL .
push --receive-pack=EVIL . HEAD:x ¦ push --receive=EVIL . HEAD:x ¦ push --exec=EVIL . HEAD:x
send-pack --receive-pack=EVIL . HEAD:x ¦ clone -u EVIL file://ROOT x ¦ clone -uEVIL file://ROOT x
clone --upload-pack=EVIL file://ROOT x ¦ clone -c core.hooksPath=HOOKS . x ¦ clone --template=TEMPLATE . x
archive --remote=. --exec=EVIL HEAD ¦ rebase -x EVIL HEAD~1 ¦ rebase -xEVIL HEAD~1 ¦ rebase --exec=EVIL HEAD~1
rebase --exe EVIL HEAD~1 ¦ grep -OEVIL a ¦ grep -nOEVIL a ¦ grep --open-files-in-pager=EVIL a ¦ grep --open=EVIL a
grep -e -- -OEVIL ¦ difftool -y -x EVIL HEAD~1 ¦ difftool --no-prompt --extcmd=EVIL HEAD~1
filter-branch -f --tree-filter EVIL HEAD ¦ merge -s evil side ¦ merge --strategy=evil side ¦ clone evil://x x
fetch evil::x ¦ remote add e evil::x -f ¦ evil ¦ push OTHER HEAD:x
"""
STARTING = [trick for row in _STARTING.strip().splitlines() for trick in row.split(" ¦ ")]
"""EVIL is a program that leaves a mark. git 2.39 starts it for each of these."""

WRITING = ("diff --output=EVIL HEAD~1", "log --output=EVIL", "archive -o EVIL HEAD", "show --output=EVIL")
"""These write over it."""


class Repository:
    """Two commits and a branch; beside it, where git looks for programs, one that leaves a mark."""

    def __init__(self, place: Path, like: Repository | None = None) -> None:
        place.mkdir(exist_ok=True)
        self.root, self.beside, self.mark = place / "root", place / "bin", place / "mark"
        self.evil = self.beside / "evil"
        self.script = f'#!/bin/sh\necho "$@" >> {self.mark}\n'
        self._env = {"HOME": str(place), "PATH": f"{self.beside}:{os.environ['PATH']}", "EVIL_NAME": str(self.evil)}
        self._env |= {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "EDITOR": "true", "PAGER": "cat"}
        self._env |= {"LC_ALL": "C", "TERM": "dumb", "FILTER_BRANCH_SQUELCH_WARNING": "1"}
        self._env |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        self.names = {"ROOT": self.root, "BESIDE": self.beside, "OTHER": place / "other"}
        self.names |= {"EVIL": self.evil, "HOOKS": self.beside / "hooks", "TEMPLATE": self.beside}
        self._put_programs()
        if like:
            shutil.copytree(like.root, self.root)
        else:
            self._make()

    def git(self, *words: str, at: Path | None = None) -> None:
        git = str(shutil.which("git"))
        held, screen = os.openpty()  # pagers are started for screens only
        quiet = {"stdin": subprocess.DEVNULL, "stdout": screen, "stderr": subprocess.DEVNULL}
        try:
            subprocess.run([git, *words], cwd=at or self.root, env=self._env, timeout=20, **quiet)
        finally:
            os.close(held)
            os.close(screen)

    def _put_programs(self) -> None:
        for name in (
            "evil",
            "git-evil",
            "git-remote-evil",
            "git-merge-evil",
            "hooks/pre-commit",
            "hooks/post-checkout",
        ):
            path = self.beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.script, "utf-8")
            path.chmod(0o755)

    def _make(self) -> None:
        for root in (self.root, self.names["OTHER"]):
            root.mkdir()
            self.git("init", "-q", "-b", "main", at=root)
        shutil.copy(self.evil, self.names["OTHER"] / ".git" / "hooks" / "pre-receive")
        self.git("config", "core.fsmonitor", str(self.evil), at=self.names["OTHER"])
        for name in ("a", "b"):
            self._commit(name)
        self.git("checkout", "-qb", "side", "HEAD~1")
        self._commit("c")
        self.git("checkout", "-q", "main")

    def _commit(self, name: str) -> None:
        (self.root / name).write_text("a -- b\n", "utf-8")
        self.git("add", name)
        self.git("commit", "-qm", "x")

    def harm(self) -> str:
        """What has happened since the last look."""
        started, written = self.mark.exists(), self.evil.read_text("utf-8") != self.script
        self.mark.unlink(missing_ok=True)
        self.evil.write_text(self.script, "utf-8")
        return "started" if started else "written" if written else ""


def words_of(trick: str, repository: Repository) -> list[str]:
    for name, path in repository.names.items():
        if name != "EVIL" or "EVIL_NAME" not in trick:
            trick = trick.replace(name, str(path))
    return trick.split()


@pytest.mark.parametrize("trick", STARTING)
def test_what_starts_a_program_is_held_back(trick: str, tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    words = words_of(trick, repository)
    repository.git(*words)
    assert repository.harm() == "started"
    assert hidden(["git", *words])
    assert judge("git " + " ".join(words), [compile_pattern("git *")]).outcome == "ask"


@pytest.mark.parametrize("trick", WRITING)
def test_what_writes_elsewhere_is_held_back(trick: str, tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    words = words_of(trick, repository)
    repository.git(*words)
    assert repository.harm() == "written"
    assert hidden(["git", *words])


def test_a_hook_that_git_itself_moves_into_place_is_held_back(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    shutil.copy(repository.evil, repository.root / "e.sh")
    repository.git("add", "e.sh")
    move = ["mv", "e.sh", ".git/hooks/post-checkout"]
    repository.git(*move)
    repository.git("checkout", "-q", "side")
    assert repository.harm() == "started"
    assert "such as hooks" in hidden(["git", *move])


def test_ordinary_files_that_make_a_repository_are_held_back_at_the_one_that_makes_it(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    folder = tmp_path / "project"
    files = {"HEAD": "ref: refs/heads/main\n", "objects/a": "", "refs/a": "", "tree/a": ""}
    files["config"] = (
        f"[core]\nrepositoryformatversion = 0\nbare = false\nworktree = tree\nfsmonitor = {repository.evil}\n"
    )
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    repository.git("status", at=folder)
    assert repository.harm() == "started"
    assert {judged(edit(name), mode="acceptEdits").outcome for name in files.keys() - {"HEAD"}} == {"allow"}
    for name in ("HEAD", "head", "sub/HEAD", "HEAD "):
        assert judged(edit(name), mode="acceptEdits").outcome == "ask"
        assert judged(edit(name), allow="Edit").outcome == "ask"


@pytest.mark.parametrize("words", ["push upstream HEAD:x", "push -q upstream HEAD:x", "push -- upstream HEAD:x"])
def test_a_folder_called_like_a_remote_is_pushed_to(words: str, tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    shutil.copytree(repository.names["OTHER"], repository.root / "upstream")
    repository.git(*words.split())
    assert repository.harm() == "started"
    assert hidden(["git", *words.split()])


@pytest.mark.parametrize(
    "change",
    [
        "remote set-url origin upstream https://example.org/",
        "remote set-url --push origin upstream https://example.org/",
        "remote add -t main fork upstream",
        "remote add fork upstream -t main",
    ],
)
def test_a_remote_that_is_set_to_a_folder_is_held_back(change: str, tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    shutil.copytree(repository.names["OTHER"], repository.root / "upstream")
    repository.git("remote", "add", "origin", "https://example.org/a.git")
    if "--push" in change:
        repository.git("config", "remote.origin.pushurl", "https://example.org/b.git")
    repository.git(*change.split())
    repository.git("push", "fork" if "fork" in change else "origin", "HEAD:x")
    assert repository.harm() == "started"
    assert hidden(["git", *change.split()])


_PATCH = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"


@pytest.mark.parametrize(
    "words", ["--exclude --check e.patch", "-- e.patch --check", "-- e.patch --stat", "--include * -p1 e.patch"]
)
def test_a_word_that_only_looks_like_looking_lets_a_patch_be_applied(words: str, tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    for name in ("e.patch", "--check", "--stat"):
        (repository.root / name).write_text(_PATCH, "utf-8")
    (repository.root / "--stat").write_text(_PATCH.replace("new", "other"), "utf-8")
    (repository.root / "--check").write_text(_PATCH.replace("new", "other"), "utf-8")
    repository.git("apply", *words.split())
    assert (repository.root / "new").exists()
    assert hidden(["git", "apply", *words.split()])


@pytest.mark.parametrize("more", ["", "--index", "--cached", "--reject", "--3way", "-R", "--summary", "-v -p1"])
def test_a_patch_is_only_looked_at(more: str, tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    (repository.root / "e.patch").write_text(_PATCH, "utf-8")
    words = ["apply", "--check", *more.split(), "e.patch"]
    before = (repository.root / ".git" / "index").read_bytes()
    repository.git(*words)
    assert not (repository.root / "new").exists()
    assert (repository.root / ".git" / "index").read_bytes() == before
    assert not hidden(["git", *words])


@pytest.mark.parametrize(
    "words",
    [
        "-- core.hooksPath --get=h",
        "-- core.hooksPath --list",
        "core.hooksPath --get=h",
        "core.hooksPath -l",
        "core.hooksPath --path=h",
        "--default --get core.hooksPath h",
        "--type --list core.hooksPath h",
        "--local core.hooksPath --get",
        "--type=path core.hooksPath h",
    ],
)
def test_a_word_that_only_looks_like_reading_lets_a_setting_be_written(words: str, tmp_path: Path) -> None:
    assert hidden(["git", "config", *words.split()])
    assert words in _NOT_TAKEN or _is_written(Repository(tmp_path), words)


_NOT_TAKEN = frozenset({"--default --get core.hooksPath h", "--type --list core.hooksPath h"})
"""git refuses these, at least in some versions."""


def _is_written(repository: Repository, words: str) -> bool:
    repository.git("config", *words.split())
    return "hookspath" in (repository.root / ".git" / "config").read_text("utf-8").lower()


_READS = (
    "--get core.hooksPath ¦ --global --list ¦ -l ¦ -z --local -l ¦ user.email ¦ --type=bool core.hooksPath"
    " ¦ --get --type=path core.hooksPath ¦ --get-regexp core. --list ¦ --show-origin --get-all core.hooksPath h"
)


@pytest.mark.parametrize("words", _READS.split(" ¦ "))
def test_a_setting_is_only_read(words: str, tmp_path: Path) -> None:
    assert not hidden(["git", "config", *words.split()])
    assert not _is_written(Repository(tmp_path), words)


def test_the_reason_names_what_is_not_known() -> None:
    assert "is no remote with an address here, so that it may be a folder" in hidden(["git", "push", "fork", "main"])
    assert "not on the list of known subcommands" in hidden(["git", "st"])


def test_a_rule_for_archive_comes_with_a_warning() -> None:
    assert "allows everything" in warning(compile_pattern("git archive *"))
    assert warning(compile_pattern("git archive HEAD")) == ""


SHARED = {"whatchanged", "reflog", "diff-tree", "diff-index", "diff-files", "range-diff", "rev-list"}
"""Their list is the one of `log`, `show` and `diff`, which are tried."""


def test_no_accepted_option_starts_or_overwrites_the_program_that_is_its_value(tmp_path: Path) -> None:
    first = Repository(tmp_path / "first")

    def harmful(name: str) -> list[str]:
        repository, listed = Repository(tmp_path / name, like=first), accepted(SUBCOMMANDS[name])
        long = [f"{option}={repository.evil}" for option in listed.names]
        short = [f"-{letter}{repository.evil}" for letter in listed.valued]
        return [option for option in (*long, *short) if repository.git(name, option, "HEAD") or repository.harm()]

    tried = sorted(SUBCOMMANDS.keys() - SHARED)
    assert {SUBCOMMANDS[name] for name in tried} >= {SUBCOMMANDS[name] for name in SHARED}
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(tried, pool.map(harmful, tried), strict=True))
    assert {name: options for name, options in found.items() if options} == {}


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_every_subcommand_on_the_list_is_one_of_git(name: str) -> None:
    listed = subprocess.run(["git", "--list-cmds=main"], capture_output=True, text=True, timeout=20, check=True)
    assert name in listed.stdout.split()
