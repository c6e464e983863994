"""Which files of a project its Git settings name, as Git itself reads them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from copilot_kernel.sandbox import git_settings
from copilot_kernel.sandbox.git_settings import GitSettings, Named, Repository

from ..limits import LIMIT
from ..undo.project import git


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with some files, in a home folder."""
    (tmp_path / "home/tree").mkdir(parents=True)
    git(tmp_path / "home/tree", "init")
    for name in ("tools/run.sh", "tools/my hooks/readme", "included", ".git/watch", "checkout"):
        (tmp_path / "home/tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "home/tree" / name).touch()
    return tmp_path / "home/tree"


def named(tree: Path, *more: Repository) -> Named:
    program = shutil.which("git")
    assert program
    environ = {"PATH": os.defpath, "HOME": str(tree.parent), "GIT_CONFIG_NOSYSTEM": "1", "GIT_DIR": "/nowhere"}
    return GitSettings(program, environ).named([Repository(tree / ".git", tree), *more], [tree])


def files(tree: Path) -> dict[str, bool]:
    return {str(path.relative_to(tree)): is_removed for path, is_removed in named(tree).files.items()}


def append(settings: Path, text: str) -> None:
    with settings.open("a") as file:
        file.write(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[core]\n\tfsmonitor = sh tools/run.sh # all", {"tools/run.sh"}),
        ("[core]\n\tfsmonitor = .git/watch", {".git/watch"}),
        ("[filter \"f\"]\n\tclean = python3 --script=tools/run.sh", {"tools/run.sh"}),
        ("[alias]\n\tci = !sh checkout", {"checkout"}),
        ("[alias]\n\tci = checkout", set()),
        ("[branch \"main\"]\n\tdescription = Changes checkout", set()),
        ("[branch \"main\"]\n\tmerge = tools/run.sh", set()),
        ("[core]\n\thooksPath = tools/my hooks", {"tools/my hooks"}),
        ("[core]\n\thooksPath = tools/later", {"tools/later"}),
        ("[init]\n\ttemplateDir = ~/tree/tools", {"tools"}),
        ("[include]\n\tpath = ../included", {"included"}),
        ("[includeIf \"onbranch:x\"]\n\tpath = ~/tree/included", {"included"}),
        ("[alias]\n\tx = !sh \\\"$(git rev-parse --show-toplevel)/tools/run.sh\\\"", {"tools/run.sh"}),
        (f"[alias]\n\tx = !true /{'a' * 3000} tools/run.sh", {"tools/run.sh"}),
        ("[user]\n\tname = A B", set()),
        ("[core]\n\thooksPath = .", set()),
        ("[core]\n\thooksPath = .git", set()),
        ("[core]\n\tfsmonitor = ../outside", set()),
        ("[alias]\n\tx = !make -C tools", set()),
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", [".git/config", "../.gitconfig"])
def test_what_a_setting_names_is_found_wherever_the_setting_stands(tree, where, text, expected):
    if where == "../.gitconfig":
        text = text.replace("../included", "tree/included")  # relative to the file that it stands in
    append(tree / where, text)
    found = {name for name in files(tree) if os.path.exists(tree / name) or name == "tools/later"}
    assert found == expected


def test_only_what_git_follows_in_its_own_folder_is_removed_if_it_is_created(tree):
    lines = "[include]\n\tpath = later\n\tpath = ../later\n[core]\n\tfsmonitor = .git/new\n\thooksPath = .git/team\n"
    append(tree / ".git/config", lines)
    assert files(tree) == {".git/later": True, "later": False, ".git/new": False, ".git/team": True}


def test_relative_names_of_a_submodule_and_another_work_tree_begin_in_their_own_trees(tree):
    git(tree, "commit", "--allow-empty", "-m", "begun")
    git(tree, "worktree", "add", str(tree / "other"))
    shutil.copytree(tree / ".git", tree / ".git/modules/inner", ignore=shutil.ignore_patterns("worktrees"))
    append(tree / ".git/modules/inner/config", "[core]\n\tworktree = ../../../inner\n\tfsmonitor = ./watch\n")
    append(tree / ".git/config", "[core]\n\tfsmonitor = ./watch\n")
    more = (Repository(tree / ".git" / name, tree) for name in ("worktrees/other", "modules/inner"))
    paths = {str(path.relative_to(tree)) for path in named(tree, *more).files}
    assert paths == {"watch", "other/watch", "inner/watch"}


def test_a_work_tree_whose_place_is_a_pipe_holds_nothing_up(tree):
    (tree / ".git/worktrees/x").mkdir(parents=True)
    (tree / ".git/worktrees/x/HEAD").touch()
    os.mkfifo(tree / ".git/worktrees/x/gitdir")
    append(tree / ".git/config", "[core]\n\tfsmonitor = ./watch\n")
    assert set(named(tree, Repository(tree / ".git/worktrees/x", tree)).files) == {tree / "watch"}


def test_links_on_the_way_are_known(tree):
    (tree / "link").symlink_to("tools")
    append(tree / ".git/config", "[core]\n\tfsmonitor = link/run.sh\n")
    assert named(tree).links == {tree / "link"}


@pytest.mark.parametrize("fault", ["settings", "pipe", "loop", "many"])
def test_what_cannot_be_read_is_known(tree, fault, monkeypatch):
    monkeypatch.setattr(git_settings, "SECONDS", 0.2)
    match fault:
        case "settings":
            append(tree / ".git/config", "[core\n")
        case "pipe":
            os.mkfifo(tree / "pipe")
            append(tree / ".git/config", "[include]\n\tpath = ../pipe\n")
        case "loop":
            (tree / ".git/config").unlink()
            (tree / ".git/config").symlink_to("config")
        case "many":
            monkeypatch.setattr(git_settings, "MAX_REPOSITORIES", 0)
    assert named(tree).unreadable == [tree / ".git"]


def test_nothing_that_settings_name_is_run(tree):
    script = tree / "tools/run.sh"
    script.write_text("#!/bin/sh\ntouch $HOME/ran\n")
    script.chmod(0o755)
    append(tree / ".git/config", f"[core]\n\tfsmonitor = {script}\n\tpager = {script}\n[alias]\n\tconfig = !{script}\n")
    assert (named(tree).unreadable, (tree.parent / "ran").exists()) == ([], False)
    subprocess.run(["git", "status"], cwd=tree, env={**os.environ, "HOME": str(tree.parent)}, timeout=LIMIT)
    assert (tree.parent / "ran").exists()


@pytest.mark.parametrize(
    "text",
    [
        f"[core]\n\tfsmonitor = {'a ' * 200_000}",
        "[alias]\n" + "".join(f"\tx{number} = !tools/{number}\n" for number in range(2_000)),
        "[core]\n\tfsmonitor = $y" + "/a" * 3_000,
    ],
)
def test_settings_that_are_made_to_be_slow_come_to_an_end(tree, text):
    append(tree / ".git/config", text)
    named(tree)


def test_a_folder_that_is_no_repository_is_left_out(tree):
    (tree / "sub/.git").mkdir(parents=True)
    append(tree / "sub/.git/config", "[core\n")
    assert named(tree, Repository(tree / "sub/.git", tree / "sub")).unreadable == []
