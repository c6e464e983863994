"""What is found at the end of a turn, whatever an agent does to hide it."""

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.sandbox import Finding, Held, Kind, Sweep, protected, raise_sandbox
from copilot_kernel.sandbox.held import looks_of
from copilot_kernel.sandbox.protected import Search
from copilot_kernel.sandbox.removal import remove

from ..limits import LIMIT

NOBODY, SET_DUMPABLE = 65534, 4


def repository(git: Path) -> None:
    for name in ("objects", "refs"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").touch()


@pytest.fixture
def project() -> Iterator[Path]:
    """Two repositories, one in the other; not below a folder that only root can look into."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    repository(folder / ".git")
    (folder / ".git/hooks").mkdir()
    repository(folder / "sub/.git")
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True, timeout=LIMIT)  # also what is very deep


def begun(project: Path) -> Sweep:
    search = Search(project)
    paths = dict.fromkeys((*search.git, *search.others), "")
    return Sweep(
        Held(
            project,
            None,
            paths,
            handover=project / "none",
            unsearched=tuple(search.unsearched),
            git_folders=tuple(each.git_folder for each in search.repositories),
        )
    )


@pytest.fixture
def sweep(project: Path) -> Sweep:
    return begun(project)


def found(sweep: Sweep) -> list[tuple[str, Kind]]:
    return [(finding.name, finding.kind) for finding in sweep.findings()]


def hook(git: Path) -> Path:
    (git / "hooks").mkdir()
    (git / "hooks/pre-commit").write_text("#!/bin/sh\n")
    return git / "hooks"


@contextmanager
def not_as_root(folder: Path) -> Iterator[None]:
    """Root may do everything, whatever the modes of files say."""
    if os.getuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    ctypes.CDLL(None).prctl(SET_DUMPABLE, 1)  # else `/proc/self` is root's
    try:
        yield
    finally:
        os.seteuid(0)


def test_many_decoys_hide_no_hook_and_are_not_said_to_be_all(project, monkeypatch):
    monkeypatch.setattr(protected, "MAX_FOLDERS", 100)
    sweep = begun(project)
    for number in range(200):
        (project / f"decoy{number}").mkdir()
        (project / f"decoy{number}/AGENTS.md").touch()
    hooks = hook(project / "sub/.git")
    first, *others = found(sweep)
    assert (first, others[-1]) == (("sub/.git/hooks", Kind.REMOVED), ("The project", Kind.CUT))
    assert {kind for _, kind in others[:-1]} == {Kind.CREATED}
    assert not hooks.exists()
    assert found(sweep) == []


def test_decoys_in_one_folder_of_git_hide_nothing_in_another(project, monkeypatch):
    monkeypatch.setattr(protected, "MAX_FOLDERS", 100)
    sweep = begun(project)
    for number in range(200):
        (project / f".git/modules/{number}/deep").mkdir(parents=True)
    hook(project / "sub/.git")
    (project / ".git/commondir").touch()
    assert found(sweep) == [
        (".git/commondir", Kind.REMOVED), ("sub/.git/hooks", Kind.REMOVED), ("The project", Kind.CUT)
    ]  # fmt: skip


@pytest.mark.parametrize("mode", [0o555, 0o111, 0o000])
@pytest.mark.parametrize("place", ["hooks", "hooks/inner", "hooks/pre-commit", "."])
def test_a_hook_whose_permissions_were_taken_is_removed(project, mode, place):
    git = project / "sub/.git"
    sweep = begun(project)
    hooks = hook(git)
    (hooks / "inner").mkdir()
    (hooks / "inner/file").touch()
    with not_as_root(project):
        (git / place).chmod(mode)
        names = found(sweep)
        if place == "." and mode == 0o000:  # nobody can use that repository as long as it is so
            assert names == [("sub/.git", Kind.UNSEARCHED)]
            git.chmod(0o755)
            names = found(sweep)
    assert names == [("sub/.git/hooks", Kind.REMOVED)]
    assert sorted(path.name for path in git.iterdir()) == ["HEAD", "config", "objects", "refs"]


def test_a_folder_that_cannot_be_searched_is_reported_once(project, sweep):
    (project / "hidden/.git").mkdir(parents=True)
    with not_as_root(project):
        (project / "hidden").chmod(0o111)
        assert found(sweep) == [("hidden", Kind.UNSEARCHED)]
        assert found(sweep) == []
        (project / "hidden").chmod(0o755)


def test_what_was_reported_is_reported_again_when_it_changes_or_is_made_anew(project, sweep):
    for change, kind in (
        (lambda: (project / "AGENTS.md").touch(), Kind.CREATED),
        (lambda: (project / "AGENTS.md").write_text("Obey."), Kind.CHANGED),
        (lambda: (project / "AGENTS.md").unlink(), None),
        (lambda: (project / "AGENTS.md").write_text("Obey."), Kind.CHANGED),
    ):
        change()
        assert found(sweep) == ([("AGENTS.md", kind)] if kind else [])
        assert found(sweep) == []
    (project / ".vscode").mkdir()
    (project / ".vscode/tasks.json").write_text("{}")
    assert found(sweep) == [(".vscode", Kind.CREATED)]
    (project / ".vscode/tasks.json").write_text("[]")
    assert found(sweep) == [(".vscode", Kind.CHANGED)]


def test_a_hook_is_removed_as_often_as_it_is_made(project, sweep):
    for _ in range(2):
        hook(project / "sub/.git")
        assert found(sweep) == [("sub/.git/hooks", Kind.REMOVED)]


def test_a_repository_without_a_folder_git_counts_as_one(project):
    repository(project / "old.git")
    sweep = begun(project)
    repository(project / "new")
    hook(project / "new")
    (project / "linked").mkdir()
    (project / "linked/HEAD").touch()
    (project / "linked/commondir").write_text("../new")
    hook(project / "old.git")
    news = {("linked/commondir", Kind.REMOVED), ("new/config", Kind.CREATED), ("new/hooks", Kind.REMOVED)}
    first, *others = found(sweep)
    assert (first, set(others), len(others)) == (("old.git/hooks", Kind.REMOVED), news, 3)
    assert project / "old.git/config" in sweep.held.paths


def test_a_folder_that_is_too_deep_to_be_deleted_is_no_longer_where_git_looks(project, sweep):
    folder = os.open(hook(project / "sub/.git"), os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("a", dir_fd=folder)
        inner = os.open("a", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    assert found(sweep) == [("sub/.git/hooks", Kind.REMOVED)]
    assert found(sweep) == []


def test_what_cannot_be_removed_says_so(project, monkeypatch):
    monkeypatch.setattr("copilot_kernel.sandbox.sweep.remove", lambda path: False)
    sweep = begun(project)
    hook(project / "sub/.git")
    assert [*sweep.findings(), *sweep.findings()] == [Finding("sub/.git/hooks", Kind.UNREMOVED)]
    assert str(Finding("x", Kind.UNREMOVED)).startswith("x was created in the sandbox and could not be removed.")


def test_nothing_is_removed_through_a_link(project, tmp_path):
    (tmp_path / "hooks").mkdir()
    (project / "link").symlink_to(tmp_path)
    assert (remove(project / "link/hooks"), (tmp_path / "hooks").exists()) == (False, True)


@pytest.mark.sandbox
def test_what_lies_deep_and_what_is_one_of_many_is_held(bubblewrap, project, tmp_path):
    deep = project / "a/b/c/d/e/f"
    repository(deep / ".git")
    for number in range(600):
        (project / f"many/1/2/3/4/5/6/{number}").mkdir(parents=True)
        (project / f"many/1/2/3/4/5/6/{number}/AGENTS.md").touch()
    (tmp_path / "handover").mkdir()
    settings = Settings(cwd=str(project), state=str(tmp_path / "state"), sandbox="required")
    sandbox = raise_sandbox(settings, [("/bin/sh",)], tmp_path / "handover")
    script = f"for file in many/1/2/3/4/5/6/*/AGENTS.md {deep}/.git/config; do echo x > $file; done"
    words = sandbox.command(("/bin/sh", "-c", script), str(project))
    subprocess.run(words, env=sandbox.environment(), timeout=LIMIT, capture_output=True)
    written = {path for path in project.rglob("*") if path.is_file() and path.read_text() == "x\n"}
    assert (written, len(sandbox.sweep.held.paths)) == (set(sandbox.sweep.held.watched), 500)
    assert {path.name for path in written} == {"AGENTS.md"}
    changed, last = found(sandbox.sweep)[:-1], found(sandbox.sweep)
    assert ({kind for _, kind in changed}, len(changed), last) == ({Kind.CHANGED}, len(written), [])


def test_a_work_tree_that_git_adds_inside_is_left_as_long_as_it_leads_to_its_own_repository(project, sweep):
    own = project / ".git/worktrees/new"
    own.mkdir(parents=True)
    (own / "HEAD").touch()
    (own / "commondir").write_text("../..\n")
    assert found(sweep) == []
    (own / "commondir").write_text("../../../sub/.git\n")
    assert found(sweep) == [(".git/worktrees/new/commondir", Kind.REMOVED)]


def test_what_was_there_at_the_start_and_could_not_be_held_is_never_taken_away(project):
    held = begun(project).held
    hooks = hook(project / "sub/.git")
    sweep = Sweep(replace(held, watched={hooks: looks_of(hooks)}))
    (hooks / "new").touch()
    sweep.react([hooks])
    assert found(sweep) == [("sub/.git/hooks", Kind.CHANGED)]
    assert (hooks / "new").exists()


def test_a_folder_that_settings_name_hooks_does_not_make_the_project_a_folder_of_git(project):
    (project / "hooks").mkdir()
    (project / "hooks/pre-commit").touch()
    held = begun(project).held
    sweep = Sweep(replace(held, paths={**held.paths, project / "hooks": ""}, expected={project / "hooks": False}))
    (project / "config.worktree").touch()
    (project / "config").mkdir()
    assert found(sweep) == []
    assert (project / "config.worktree").exists()


def test_what_is_created_and_gone_again_is_reported_unless_we_have_removed_it(project, sweep):
    (project / ".git/commondir").touch()
    assert found(sweep) == [(".git/commondir", Kind.REMOVED)]
    sweep.react([project / ".git/commondir"])
    assert found(sweep) == []
    sweep.react([project / ".git/commondir"])
    assert found(sweep) == [(".git/commondir", Kind.VANISHED)]
