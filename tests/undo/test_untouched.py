"""What is not restored unasked, or never, and what is never run."""

import os

import pytest
from copilot_kernel.notebook.live import OpenDocuments
from copilot_kernel.undo import history
from copilot_kernel.undo.record import LATE
from copilot_kernel.undo.tree import FileState, Tree, digest_of

from .project import FILES, Agent, commit, restore

# -- what may not be the agent's ------------------------------------------------------------------------


async def test_an_edit_that_was_quicker_than_its_report_is_restored_where_a_snapshot_covers_the_file(root, agent):
    (root / ".hidden").write_text("one\n")
    async with agent:
        for name in ("a.txt", ".hidden"):
            (root / name).write_text("late\n")
            agent.report("edit", name)
    assert (agent.plan().certain, agent.plan().skipped) == ((), ((".hidden", LATE),))
    assert restore(agent, uncertain=True).done == ("a.txt",)
    assert (root / "a.txt").read_bytes() == FILES["a.txt"]


# -- what is never touched ------------------------------------------------------------------------------


async def test_a_file_that_has_changed_since_is_left_alone(root, agent):
    async with agent:
        agent.write("a.txt", "edited\n")
        agent.write("b.txt", "edited\n")
    plan = agent.plan()
    (root / "a.txt").write_text("the user's")
    assert agent.plan().skipped == (("a.txt", history.CHANGED_SINCE),)
    outcome = agent.undo.restore(plan, plan.certain)
    assert outcome == history.Outcome(("b.txt",), (("a.txt", history.CHANGED_SINCE),))
    assert (root / "a.txt").read_text() == "the user's"


async def test_ignored_files_are_not_looked_at_even_if_they_are_ignored_no_longer(root, agent):
    (root / ".gitignore").write_text("secret.env\nbuild/\n")
    (root / "secret.env").write_text("1")
    (root / "build").mkdir()
    (root / "build" / "out").write_text("1")
    commit(root)
    async with agent:
        agent.command(lambda: (root / ".gitignore").write_text(""))
        agent.command(lambda: (root / "secret.env").write_text("2"))
        agent.command(lambda: (root / "build" / "new").write_text("2"))
    assert [file.path for file in agent.plan().uncertain] == [".gitignore"]


async def test_the_notebook_its_checkpoints_and_open_documents_are_never_restored(root, tmp_path):
    (root / "book.ipynb").write_text("{}")
    (root / ".ipynb_checkpoints").mkdir()
    agent = Agent(root, tmp_path / "state", str(root / "book.ipynb"))
    async with agent:
        for path in ("book.ipynb", ".ipynb_checkpoints/a.txt", "b.txt", ".git/config"):
            agent.call("edit", lambda path=path: (root / path).parent.is_dir() and (root / path).write_text("x"), path)
    plan = agent.undo.plan(1, OpenDocuments((str(root / "book.ipynb"),), (str(root / "b.txt"),)))
    assert (plan.certain, plan.skipped) == ((), (("b.txt", history.NOTEBOOK_OPEN),))
    agent.undo.close()


@pytest.mark.parametrize("is_told", ["before the turn", "after it"])
async def test_a_notebook_that_was_renamed_is_never_restored(root, tmp_path, is_told):
    commit(root)
    book, renamed = root / "book.ipynb", root / "src" / "renamed.ipynb"
    renamed.write_text("{}")
    agent = Agent(root, tmp_path / "state", str(book))
    if is_told == "before the turn":
        agent.undo.leave_out([str(renamed)])
    async with agent:
        agent.call("edit", lambda: renamed.write_text("x"), "src/renamed.ipynb")
        agent.command(lambda: renamed.write_text("autosaved"))
        agent.write("a.txt", "x")
    agent.undo.leave_out([str(renamed)])
    assert [file.path for file in agent.undo.turns[1].files] == ["a.txt"]
    agent.undo.close()


async def test_where_the_notebook_is_unknown_no_notebook_is_restored(root, agent):
    async with agent:
        agent.write("other.ipynb", "{}")
        agent.write("a.txt", "x")
    plan = agent.undo.plan(1, OpenDocuments())
    assert ([file.path for file in plan.certain], plan.skipped) == (
        ["a.txt"],
        (("other.ipynb", history.NOTEBOOK_UNKNOWN),),
    )
    plan = agent.undo.plan(1, OpenDocuments((str(root / "book.ipynb"),)))
    assert ([file.path for file in plan.certain], plan.skipped) == (["a.txt", "other.ipynb"], ())


async def test_nothing_leads_out_of_the_folder(root, agent, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "c.py").write_text("outside")
    async with agent:
        agent.call("edit", lambda: (outside / "c.py").write_text("x"), "../outside/c.py")
        agent.write("src/c.py", "edited")
    plan = agent.plan()
    assert [file.path for file in plan.certain] == ["src/c.py"]
    (root / "src").rename(root / "old")
    (root / "src").symlink_to(outside)
    (outside / "c.py").write_text("edited")
    assert agent.undo.restore(plan, plan.certain).done == ()
    assert (outside / "c.py").read_text() == "edited"


@pytest.mark.parametrize("path", ["../c.py", "src/../../c.py", "{outside}/c.py", ".."])
def test_no_path_leads_out_of_the_folder(root, tmp_path, path):
    (tmp_path / "c.py").write_text("outside")
    made, found = FileState("file", 0o644, digest_of(b"x")), FileState("file", 0o644, digest_of(b"outside"))
    below = Tree(str(root))
    place = path.format(outside=tmp_path)
    with pytest.raises(PermissionError):
        below.replace(place, found, made, b"x")
    assert below.read(place)[0].kind == "unknown"
    assert (tmp_path / "c.py").read_text() == "outside"


@pytest.mark.parametrize("folders", ["bin:.:", "{root}/bin:", "{root}/new/../bin:", "{linked}:"])
async def test_a_git_that_was_planted_in_the_project_is_never_run(root, tmp_path, monkeypatch, folders):
    program = root / "bin/git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    (root / "git").symlink_to(program)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/git").symlink_to(program)
    (root / "new").mkdir()
    commit(root)
    monkeypatch.chdir(root)
    planted = folders.format(root=root, linked=tmp_path / "linked")
    for path, is_covered in ((f"{planted}{os.environ['PATH']}", True), (planted, False)):
        monkeypatch.setenv("PATH", path)
        agent = Agent(root, tmp_path / f"state{is_covered}")
        async with agent:
            agent.command(lambda made=str(is_covered): (root / made).write_text("x"))
        assert agent.plan().turn.notes == (() if is_covered else (history.CELLS_ONLY,))
        agent.undo.close()
    assert not (tmp_path / "ran").exists()


async def test_our_own_files_are_no_change_of_a_turn(root):
    commit(root)
    state = root / "kept" / "state"
    agent = Agent(root, state)
    async with agent:
        agent.command(lambda: (state / "sessions.json").write_text("{}"))
        agent.write("a.txt", "x")
        agent.command(lambda: (root / "kept" / "theirs.txt").write_text("x"))
    assert [file.path for file in agent.undo.turns[1].files] == ["a.txt", "kept/theirs.txt"]
    agent.undo.close()
