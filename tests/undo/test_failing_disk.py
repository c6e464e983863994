"""What cannot be saved, read or restored: nothing is lost, and the user is told."""

import errno
import os
import shutil
from unittest.mock import Mock

import pytest
from copilot_kernel.undo import history, repository, tree
from copilot_kernel.undo.history import CONTENT_GONE
from copilot_kernel.undo.tree import digest_of

from .project import FILES, Agent, commit, files_in, restore

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


async def test_what_was_saved_and_then_damaged_is_not_restored(root, agent, tmp_path):
    async with agent:
        agent.write("a.txt", "edited\n")
    saved = digest_of(FILES["a.txt"])
    other = digest_of(b"edited\n")
    [objects] = (tmp_path / "state" / "undo").glob("*/objects")
    (objects / saved[:2] / saved[2:]).chmod(0o600)
    shutil.copy(objects / other[:2] / other[2:], objects / saved[:2] / saved[2:])
    assert restore(agent).skipped == (("a.txt", CONTENT_GONE),)


async def test_after_the_end_nothing_is_saved(root, agent, tmp_path):
    async with agent:
        agent.write("a.txt", "edited\n")
        agent.undo.close()
        with pytest.raises(OSError, match="has ended"):
            agent.undo._repository.store("0", b"")
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
