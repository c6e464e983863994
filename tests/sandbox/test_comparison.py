"""Which files are protected, and what became of them after a turn, whoever did it."""

import os
import subprocess
from pathlib import Path

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.sandbox import Comparison, Kind, create_sandbox, protected
from copilot_kernel.sandbox.protected import Search, common_git_folder, states_of

from ..limits import LIMIT
from ..undo.project import git

NEW, CHANGED, PARTIAL = Kind.NEW, Kind.CHANGED, Kind.PARTIAL


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "project")
    project = tmp_path / "project"
    for folder in (".vscode", "docs", "sub"):
        (project / folder).mkdir()
    (project / "AGENTS.md").write_text("Be kind.")
    (project / "docs/guide.md").touch()
    (project / "CLAUDE.md").symlink_to("docs/guide.md")
    return project


def begun(project: Path) -> Comparison:
    return Comparison(project, states_of((*Search(project).paths, str(project / "bin"))))


def run(project: Path, script: str) -> None:
    subprocess.run(["sh", "-ec", script], cwd=project, check=True, capture_output=True, timeout=LIMIT)


@pytest.mark.parametrize(
    "steps",
    [
        {"touch sub/GEMINI.md; mkdir sub/.vscode bin": {NEW: ["bin", "sub/.vscode", "sub/GEMINI.md"]}},
        {"git init -q sub": {NEW: ["sub/.git"]}},
        {"git init -q --bare sub; touch sub/AGENTS.md": {NEW: ["sub"]}},
        {"mkdir objects refs; touch HEAD": {NEW: ["the project"]}},
        {"mkdir sub/.git; touch sub/HEAD sub/commondir": {NEW: ["sub"]}},
        {"ln -s ../docs sub/.git; mkfifo docs/.git": {NEW: ["docs/.git", "sub/.git"]}},
        {"touch new; mv new AGENTS.md": {CHANGED: ["AGENTS.md"]}},
        {"cp -p AGENTS.md old; printf Be.rude. > AGENTS.md; touch -r old AGENTS.md": {CHANGED: ["AGENTS.md"]}},
        {"ln -sf AGENTS.md CLAUDE.md": {CHANGED: ["CLAUDE.md"]}},
        {"ln -sf no CLAUDE.md": {CHANGED: ["CLAUDE.md"]}, "touch no": {CHANGED: ["CLAUDE.md"]}},
        {"touch new; mv new docs/guide.md": {CHANGED: ["CLAUDE.md"]}},
        {"mv .git sub; cp -r sub/.git .": {NEW: ["sub/.git"], CHANGED: [".git"]}},
        {"mv .vscode sub; mkdir .vscode": {NEW: ["sub/.vscode"], CHANGED: [".vscode"]}},
        {"rm AGENTS.md; rm -r .git": {}, "touch AGENTS.md": {NEW: ["AGENTS.md"]}},
        {"touch GEMINI.md": {NEW: ["GEMINI.md"]}, "echo x > GEMINI.md": {CHANGED: ["GEMINI.md"]}, "rm GEMINI.md": {}},
        {"touch .git/x .vscode/tasks.json .env sub/code.py; git add .; rm .git/x": {}},
        {"mkdir -p node_modules/x/.git": {}},
    ],
)
def test_what_is_new_or_changed_is_found_once(project: Path, steps: dict[str, dict[Kind, list[str]]]) -> None:
    comparison = begun(project)
    assert comparison.compare() == {}
    for script, found in steps.items():
        run(project, script)
        assert {kind: sorted(names) for kind, names in comparison.compare().items()} == found
        assert comparison.compare() == {}
    assert comparison.is_changed == any(CHANGED in found for found in steps.values())


@pytest.mark.parametrize("limit", ["MAX_SEARCHED_ENTRIES", "MAX_PROTECTED"])
def test_what_is_too_much_is_said_once_and_the_rest_is_compared_git_first(
    project: Path, limit: str, monkeypatch
) -> None:
    run(project, "for i in 1 2 3 4 5; do mkdir $i; touch $i/AGENTS.md; done; git init -q sub")
    monkeypatch.setattr(protected, limit, {"MAX_SEARCHED_ENTRIES": 10, "MAX_PROTECTED": 3}[limit])
    comparison = begun(project)
    assert comparison.compare() == {PARTIAL: ["the project"]}
    if limit == "MAX_PROTECTED":
        assert sorted(Search(project).paths[:2]) == [f"{project}/.git", f"{project}/sub/.git"]
    run(project, "rm AGENTS.md; mkdir AGENTS.md; mv .git x; cp -r x .git")
    assert comparison.compare()[CHANGED][:1] == [".git"]


def test_a_folder_that_cannot_be_looked_into_is_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = begun(project)
    monkeypatch.chdir(project / "sub")
    for _ in range(30):
        os.mkdir(name := "a" * 200)
        os.chdir(name)
    (folder,) = comparison.compare()[PARTIAL]
    assert (folder.startswith("sub/aaa"), comparison.compare()) == (True, {})


def test_a_folder_of_git_elsewhere_counts_if_it_names_the_project_itself(tmp_path: Path) -> None:
    git(tmp_path, "init", "main")
    main = tmp_path / "main"
    git(main, "commit", "--allow-empty", "-m", "begun")
    git(main, "worktree", "add", str(tmp_path / "tree"))
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", str(main), "inner")
    assert common_git_folder(tmp_path / "tree") == main / ".git"
    assert common_git_folder(main / "inner") == main / ".git/modules/inner"
    (tmp_path / "liar").mkdir()
    for named in ("worktrees/tree", "modules/inner"):
        (tmp_path / "liar/.git").write_text(f"gitdir: {main}/.git/{named}\n")
        assert common_git_folder(tmp_path / "liar") is None
    (tmp_path / "liar/.git").unlink()
    os.mkfifo(tmp_path / "liar/.git")
    assert common_git_folder(tmp_path / "liar") is None


@pytest.mark.sandbox
def test_our_own_code_in_the_project_is_compared_too(bubblewrap: str, project: Path, tmp_path: Path) -> None:
    (project / "agent").touch()
    settings = Settings(cwd=str(project), state=str(tmp_path / "state"), sandbox="required")
    sandbox = create_sandbox(settings, [(str(project / "agent"),)], tmp_path)
    assert str(project / "agent") in sandbox.comparison.states
