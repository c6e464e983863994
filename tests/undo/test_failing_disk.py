"""What cannot be saved, read or restored: nothing is lost, and the user is told."""

from __future__ import annotations

import errno
import os
from unittest.mock import Mock

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.undo import history, repository, tree
from copilot_kernel.undo.record import LATE

from .project import Agent, close, commit, files_in, restore

pytestmark = pytest.mark.anyio

FULL = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))


# -- when the disk fails --------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
async def test_what_cannot_be_saved_is_named_and_the_turn_goes_on(root, agent, monkeypatch, code):
    monkeypatch.setattr(repository.tempfile, "mkdtemp", Mock(side_effect=OSError(code, os.strerror(code))))
    async with agent:
        agent.write("a.txt", "edited\n")
        agent.write("new.txt", "new\n")
    plan = agent.plan()
    assert [file.path for file in plan.certain] == ["new.txt"]
    assert plan.skipped == (("a.txt", "its content could not be saved"),)


async def test_a_state_folder_that_cannot_be_made_loses_nothing(root, tmp_path):
    (tmp_path / "file").write_text("")
    agent = Agent(root, tmp_path / "file")
    async with agent:
        agent.write("a.txt", "edited\n")
    assert agent.plan().skipped == (("a.txt", "its content could not be saved"),)


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
async def test_a_file_that_cannot_be_restored_stays_whole_and_nothing_is_left_beside_it(root, agent, monkeypatch, call):
    async with agent:
        agent.write("a.txt", "edited\n")
        agent.write("b.txt", "edited\n")
    plan = agent.plan()
    after = files_in(root)
    with monkeypatch.context() as patch:
        patch.setattr(tree.os, call, FULL)
        outcome = agent.undo.restore(plan, plan.certain)
    assert outcome.skipped == (("a.txt", "No space left on device"), ("b.txt", "No space left on device"))
    assert files_in(root) == after
    assert restore(agent).done == ("a.txt", "b.txt")


async def test_what_was_saved_and_then_damaged_is_not_restored(root, agent):
    async with agent:
        agent.write("a.txt", "edited\n")
    for path in (agent.undo._store._folder).iterdir():
        path.write_text("damaged")
    assert restore(agent).skipped == (("a.txt", "its saved content is gone"),)


async def test_after_the_end_nothing_is_saved(root, agent, tmp_path):
    async with agent:
        agent.write("a.txt", "edited\n")
        agent.undo.close()
        with pytest.raises(OSError, match="has ended"):
            agent.undo._store.put("0", b"")
    assert list((tmp_path / "state" / "undo").iterdir()) == []


async def test_what_a_process_that_died_has_left_is_removed(root, tmp_path):
    left = tmp_path / "state" / "undo" / "left"
    left.mkdir(parents=True)
    (left / "lock").write_text("")
    other, agent = Agent(root, tmp_path / "state"), Agent(root, tmp_path / "state")
    for each in (other, agent):
        async with each:
            each.write("a.txt", f"edited {id(each)}\n")
    assert not left.exists()
    assert len(list((tmp_path / "state" / "undo").iterdir())) == 2
    other.undo.close()
    agent.undo.close()


# -- what was moved -------------------------------------------------------------------------------------


async def test_what_was_moved_is_not_deleted_before_it_is_back_in_its_place(root, agent, monkeypatch):
    async with agent:
        agent.call("move", lambda: (root / "a.txt").rename(root / "moved.txt"), "a.txt", "moved.txt")
    plan = agent.plan()
    after = files_in(root)
    with monkeypatch.context() as patch:
        patch.setattr(tree.os, "fsync", FULL)
        outcome = agent.undo.restore(plan, plan.certain)
    assert outcome.skipped == (("moved.txt", history.NEEDED), ("a.txt", "No space left on device"))
    assert files_in(root) == after
    assert restore(agent).done == ("moved.txt", "a.txt")


async def test_a_moved_file_that_holds_what_others_wrote_is_not_selected(root, agent):
    commit(root)
    async with agent:
        (root / "a.txt").write_text("mine")
        agent.call("move", lambda: (root / "a.txt").rename(root / "moved.txt"), "a.txt", "moved.txt")
        agent.write("moved.txt", "mine, edited", "mine")
    assert agent.plan().certain == ()


async def test_the_files_of_a_moved_folder_are_restored(root, agent):
    before = files_in(root)
    async with agent:
        agent.call("move", lambda: (root / "src").rename(root / "moved"), "src", "moved")
    assert restore(agent).skipped == ()
    assert files_in(root) == before


# -- what cannot be read --------------------------------------------------------------------------------


async def test_what_could_not_be_read_at_the_start_is_never_deleted_and_is_named(closed):
    root = closed.root
    async with closed:
        closed.command(lambda: close(root, 0o755))
        closed.report("edit", "new/secret/mine", content=(Diff("new/secret/mine", "", "mine"),))
        closed.command(lambda: (root / "b.txt").write_text("x"))
    before, plan = files_in(root), closed.plan()
    assert ([file.path for file in plan.certain], [file.path for file in plan.uncertain]) == ([], ["b.txt"])
    assert plan.skipped == (("new/secret/mine", LATE),)
    assert plan.turn.notes == ("Not everything could be read; not covered: empty/secret, mine, new/secret, src/deep.",)
    assert closed.undo.restore(plan, plan.uncertain).done == ("b.txt",)
    assert {**files_in(root), "b.txt": 0} == {**before, "b.txt": 0}


async def test_what_cannot_be_read_at_the_end_was_not_deleted(closed):
    root = closed.root
    close(root, 0o755)
    async with closed:
        closed.command(lambda: close(root, 0))
        closed.call("edit", lambda: None, "src/deep/d.py")
    plan = closed.plan()
    assert (plan.certain, plan.uncertain) == ((), ())
    assert plan.skipped == (("src/deep/d.py", "it could not be read"),)
    assert "src/deep" in plan.turn.notes[0]


async def test_what_an_edit_names_and_cannot_be_read_is_named(closed):
    async with closed:
        closed.call("edit", lambda: None, "mine", "src/deep/d.py")
    assert closed.plan().skipped == (("mine", "it could not be read"), ("src/deep/d.py", "it could not be read"))


async def test_a_folder_that_git_names_unclearly_leaves_open_what_is_new(root, agent, monkeypatch):
    commit(root)
    list_files = shadow.Shadow._git

    def unclear(self, *arguments, **more):
        done = list_files(self, *arguments, **more)
        done.stderr = b"warning: could not open directory 'a?b/': Permission denied\n"
        return done

    monkeypatch.setattr(shadow.Shadow, "_git", unclear)
    async with agent:
        agent.command(lambda: (root / "b.txt").write_text("x"))
        agent.command(lambda: (root / "new.txt").write_text("new"))
    plan = agent.plan()
    assert [file.path for file in plan.uncertain] == ["b.txt"]
    assert plan.turn.notes == ("Not everything could be read; not covered: ..",)
