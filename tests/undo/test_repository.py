"""The snapshots: nothing of a project's is run, bytes come back as they were, and limits hold."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from copilot_kernel.undo import history, repository, tree
from copilot_kernel.undo.repository import Repository, Snapshot
from copilot_kernel.undo.tree import Tree

from .project import FILES, close, commit, files_in, git, restore


@pytest.fixture
def made(root, tmp_path):
    """Makes repositories of the project."""
    found: list[Repository] = []

    def make() -> Repository:
        found.append(Repository(Tree(str(root)), tmp_path / "state"))
        return found[-1]

    yield make
    for each in found:
        each.close()


def taken(snapshots: Repository, since: Snapshot | None = None) -> Snapshot:
    found = snapshots.snapshot(lambda: False, since)
    assert found.problem == ""
    return found


# -- what a project could run ---------------------------------------------------------------------------


def hostile(root: Path, marker: Path) -> None:
    """Everything that Git may run of a repository makes `marker`."""
    run = f"touch {marker}; cat"
    (root / ".gitattributes").write_text("* filter=bad diff=bad text eol=crlf ident working-tree-encoding=UTF-16\n")
    git(root, "init")
    for name in ("filter.bad.clean", "filter.bad.smudge", "filter.bad.process", "diff.bad.command", "alias.ls-files",
                 "diff.bad.textconv", "diff.external", "core.fsmonitor", "core.sshCommand", "core.pager"):  # fmt: skip
        git(root, "config", name, f"sh -c '{run}'")
    git(root, "config", "filter.bad.required", "true")
    git(root, "config", "core.autocrlf", "true")
    git(root, "config", "remote.origin.url", f"ext::sh -c 'touch {marker}'")
    git(root, "config", "remote.origin.promisor", "true")
    git(root, "config", "extensions.partialClone", "origin")
    for hook in ("pre-commit", "post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
        (root / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (root / ".git" / "hooks" / hook).chmod(0o755)


BYTES = {
    "crlf.txt": b"a\r\nb\n",
    "ident.txt": b"$Id$ $Id: 1 $\n",
    "utf-16.txt": "é\r\n".encode("utf-16"),
    "-rf": b"dash\n",
    "line\nfeed": b"\0\n",
    'quo"te\\': b"x",
    "caf\udce9": b"not UTF-8",
    "src/:(glob)*": b"*",
}


async def test_nothing_that_a_project_names_is_run_and_bytes_come_back_as_they_were(root, agent, tmp_path):
    marker = tmp_path / "ran"
    for name, data in BYTES.items():
        (root / name).write_bytes(data)
    commit(root)
    hostile(root, marker)
    (root / "nested").mkdir()
    hostile(root / "nested", marker)
    subprocess.run(["git", "status"], cwd=root, capture_output=True)
    assert marker.exists(), "the trap works"
    marker.unlink()
    before, index = files_in(root), (root / ".git" / "index").read_bytes()
    async with agent:
        agent.command(lambda: [(root / name).write_text("changed") for name in (*FILES, *BYTES)])
        agent.command(lambda: [(root / name).unlink() for name in ("-rf", "link", "src/c.py", "crlf.txt")])
        agent.command(lambda: (root / "new.txt").write_text("new\r\n"))
    assert restore(agent, uncertain=True).skipped == ()
    assert files_in(root) == before
    assert (root / ".git" / "index").read_bytes() == index
    assert not marker.exists()


def test_the_folder_is_the_users_alone_and_what_git_has_is_not_copied(root, made, tmp_path):
    (root / "committed").write_bytes(os.urandom(100_000))
    commit(root)
    (root / "new").write_bytes(os.urandom(1_000))
    taken(made())
    [folder] = (tmp_path / "state").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert 1_000 < sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 50_000


# -- what is covered ------------------------------------------------------------------------------------


def names(found: Snapshot) -> list[str]:
    return sorted(path for path, state in found.files.items() if state)


@pytest.mark.parametrize("with_git", [True, False])
def test_what_is_covered(root, made, with_git, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(repository, "MAX_FILE_BYTES", 100)
    for name in (".env", "mine.bak", "data.bin", "build.log", "src/.cache/x", "sub/x", "local"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(bytes(101 if name == "data.bin" else 1))
    (root / ".gitignore").write_text("*.log\n")
    (tmp_path / "config/git").mkdir(parents=True)
    (tmp_path / "config/git/ignore").write_text("*.bak\n")
    commit(root / "sub")
    if with_git:
        git(root, "init")
        (root / ".git" / "info" / "exclude").write_text("local\n")
    hidden, other = ([".env", ".gitignore", "src/.cache/x"], []) if with_git else ([], ["local"])
    found = taken(made())
    assert names(found) == sorted([*FILES, "link", *hidden, *other])
    assert not any(map(found.covers, ("mine.bak", "data.bin", "build.log", "sub/x", "sub/new")))
    assert found.covers("src/new")


def test_of_a_folder_in_a_work_tree_only_that_is_covered_with_what_is_ignored_above(root, tmp_path):
    (root / ".gitignore").write_text("*.log\n")
    (root / "src" / "a.log").write_text("")
    git(root, "init")
    snapshots = Repository(Tree(str(root / "src")), tmp_path / "state")
    start = taken(snapshots)
    (root / "src" / "c.py").write_text("changed")
    (root / "a.txt").write_text("changed")
    changed = taken(snapshots, start).changed
    snapshots.close()
    assert (names(start), list(changed)) == (["c.py", "deep/d.py"], ["c.py"])


@pytest.mark.parametrize(("name", "value", "problem"), [
    ("MAX_FILES", 4, repository.TOO_LARGE),
    ("MAX_BYTES", 18, repository.TOO_LARGE),
    ("MAX_COPIED", repository.RESERVED, repository.FULL),
    ("MAX_ALL_COPIED", repository.RESERVED, repository.FULL),
])  # fmt: skip
async def test_beyond_the_limits_only_files_that_calls_name_are_covered(agent, root, monkeypatch, name, value, problem):
    monkeypatch.setattr(repository, name, value)
    async with agent:
        agent.write("a.txt", "x")
        agent.command(lambda: (root / "b.txt").write_text("x"))
    plan = agent.plan()
    assert ([file.path for file in plan.certain], plan.uncertain) == (["a.txt"], ())
    assert plan.turn.notes == (history.NAMED_ONLY.format(problem),)


async def test_a_home_folder_is_not_covered_but_for_named_files(agent, root, monkeypatch):
    monkeypatch.setenv("HOME", str(root / "src"))
    async with agent:
        agent.write("a.txt", "x")
        agent.command(lambda: (root / "b.txt").write_text("x"))
    assert agent.plan().turn.notes == (history.NAMED_ONLY.format(repository.HOME),)
    assert restore(agent).done == ("a.txt",)


async def test_files_that_are_too_large_are_named_if_calls_name_them(root, agent, monkeypatch):
    for module in (tree, repository):
        monkeypatch.setattr(module, "MAX_FILE_BYTES", 100)
    for name in ("named.bin", "shrinks.bin"):
        (root / name).write_bytes(bytes(101))
    async with agent:
        agent.call("edit", lambda: (root / "named.bin").write_bytes(bytes(102)), "named.bin")
        agent.command(lambda: (root / "shrinks.bin").write_bytes(b"small"))
    plan = agent.plan()
    assert (plan.uncertain, plan.skipped) == ((), (("named.bin", "it was larger than 5 MB"),))


# -- what is broken off ---------------------------------------------------------------------------------


def test_a_snapshot_that_is_broken_off_is_continued(root, made, monkeypatch):
    monkeypatch.setattr(repository, "PART_FILES", 2)
    update, snapshots = Repository._git, made()

    def stopped(self, *arguments, **more):
        if arguments[0] == "update-index":
            stops.pop()
        return update(self, *arguments, **more)

    stops = [0]
    monkeypatch.setattr(Repository, "_git", stopped)
    with pytest.raises(IndexError):
        snapshots.snapshot(lambda: False)
    assert len(snapshots._files) == 2
    stops += [0, 0]  # the others
    assert names(taken(snapshots)) == sorted([*FILES, "link"])


def test_a_snapshot_that_was_killed_leaves_a_usable_repository(root, made, tmp_path):
    snapshots = made()
    start = taken(snapshots)
    (root / "a.txt").write_text("changed")
    [folder] = (tmp_path / "state").iterdir()
    with subprocess.Popen(["git", f"--git-dir={folder}", "update-index", "--stdin"], stdin=subprocess.PIPE) as process:
        while not (folder / "index.lock").exists():
            assert process.poll() is None
        process.kill()
    assert (folder / "index.lock").exists()
    assert list(taken(snapshots, start).changed) == ["a.txt"]


def test_git_is_not_waited_for_when_there_is_no_time_left(root, made, tmp_path):
    snapshots, hangs = made(), tmp_path / "git"
    taken(snapshots)
    hangs.write_text("#!/bin/sh\nexec sleep 100\n")
    hangs.chmod(0o755)
    snapshots._program = str(hangs)
    assert snapshots.snapshot(lambda: True).problem == repository.SNAPSHOT_TOO_SLOW


def test_after_git_has_failed_the_next_snapshot_begins_anew(root, made, tmp_path):
    commit(root)
    snapshots = made()
    start = taken(snapshots)
    (root / "a.txt").write_text("changed")
    shutil.rmtree(root / ".git")
    assert snapshots.snapshot(lambda: False, start).problem == repository.GIT_FAILED
    assert names(taken(snapshots)) == sorted([*FILES, "link"])


# -- what cannot be read --------------------------------------------------------------------------------


async def test_what_could_not_be_read_is_never_deleted_and_is_named(closed):
    root = closed.root
    async with closed:
        closed.command(lambda: close(root, 0o755))
        closed.command(lambda: (root / "b.txt").write_text("x"))
    before, plan = files_in(root), closed.plan()
    assert ([file.path for file in plan.certain], [file.path for file in plan.uncertain]) == ([], ["b.txt"])
    assert plan.turn.notes == (history.UNREAD.format("empty/secret, mine, new/secret, src/deep"),)
    assert closed.undo.restore(plan, plan.uncertain).done == ("b.txt",)
    assert {**files_in(root), "b.txt": 0} == {**before, "b.txt": 0}


async def test_what_cannot_be_read_at_the_end_was_not_deleted(closed):
    close(closed.root, 0o755)
    async with closed:
        closed.command(lambda: close(closed.root, 0))
        closed.call("edit", lambda: None, "src/deep/d.py")
    plan = closed.plan()
    assert (plan.certain, plan.uncertain) == ((), ())
    assert plan.skipped == (("src/deep/d.py", "it could not be read"),)


async def test_a_folder_that_git_names_unclearly_leaves_open_what_is_new(root, agent, monkeypatch):
    warning = b"warning: could not open directory 'a?b/': Permission denied\n"
    run = Repository._git
    monkeypatch.setattr(Repository, "_git", lambda *words, **more: (run(*words, **more)[0], warning))
    async with agent:
        agent.command(lambda: (root / "new.txt").write_text("new"))
    assert (agent.plan().uncertain, agent.plan().turn.notes) == ((), (history.UNREAD.format("."),))
