"""What there is too much of, or what takes too long: nothing is lost, and the user is told."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from itertools import chain, count, repeat
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from copilot_kernel.undo import history, record, shadow, tree
from copilot_kernel.undo.listing import listed

from .project import FILES, Agent, commit, files_in, restore

pytestmark = pytest.mark.anyio


async def test_files_beyond_the_limits_are_named(root, agent, monkeypatch):
    monkeypatch.setattr(tree, "MAX_FILE_BYTES", 100)
    monkeypatch.setattr(shadow, "MAX_FILES", 4)
    (root / "large.bin").write_bytes(bytes(101))
    commit(root)
    async with agent:
        agent.command(lambda: (root / "a.txt").write_text("x"))
        agent.call("edit", lambda: (root / "large.bin").write_bytes(bytes(102)), "large.bin")
    plan = agent.plan()
    assert plan.skipped == (("large.bin", "it was larger than 5 MB"),)
    assert plan.turn.notes == ("Too much to save it all; not covered: src/c.py, src/deep/d.py.",)


async def test_files_of_one_call_beyond_the_limits_are_named(root, agent, monkeypatch):
    monkeypatch.setattr(record, "MAX_PATHS", 2)
    monkeypatch.setattr(record, "MAX_INNER", 1)
    async with agent:
        agent.call("edit", lambda: None, "a.txt", "b.txt", "src/c.py")
        agent.call("delete", lambda: shutil.rmtree(root / "src"), "src")
    assert agent.plan().turn.notes == (
        "Not covered: some of the many files that edit a.txt b.txt src/c.py names.",
        "Not covered: more than 1 files in src.",
    )


async def test_folders_that_a_call_moves_and_that_cannot_be_listed_are_named(closed):
    async with closed:
        closed.call("move", lambda: (closed.root / "src").rename(closed.root / "moved"), "src", "moved")
    assert "Not covered, since it could not be read: src/deep." in closed.plan().turn.notes
    (closed.root / "moved").rename(closed.root / "src")


async def test_of_a_project_that_takes_too_long_only_named_files_are_covered(root, agent, monkeypatch):
    commit(root)
    monkeypatch.setattr(
        shadow, "time", SimpleNamespace(monotonic=chain([0, 0], count(10)).__next__, time_ns=time.time_ns)
    )
    async with agent:
        agent.command(lambda: (root / "b.txt").write_text("x"))
        agent.write("a.txt", "edited\n")
    plan = agent.plan()
    assert [file.path for file in (*plan.certain, *plan.uncertain)] == ["a.txt"]
    assert "the project is too large to be saved before each prompt" in plan.turn.notes[0]


async def test_snapshots_that_always_take_too_long_are_given_up(root, agent, monkeypatch):
    take = Mock(side_effect=shadow.SnapshotError("too long"))
    monkeypatch.setattr(shadow.Shadow, "take", take)
    for number in range(history.MAX_FAILURES):
        async with agent:
            agent.command(lambda: None)
            agent.write("a.txt", f"{number}\n")
    assert take.call_count == history.MAX_FAILURES
    assert restore(agent).done == ("a.txt",)
    assert "too long" in agent.plan().turn.notes[0]


async def test_a_disk_that_hangs_costs_what_comes_later_and_not_the_turn(root, agent, monkeypatch):
    hangs = Event()
    async with agent:
        agent.write("b.txt", "edited\n")
        monkeypatch.setattr(history, "SECONDS", 0.05)
        with monkeypatch.context() as patch:
            patch.setattr(tree.Tree, "observe", lambda *_: hangs.wait(10))
            agent.write("a.txt", "edited\n")
    hangs.set()
    plan = agent.plan()
    assert ([file.path for file in plan.certain], plan.turn.notes) == (["b.txt"], (history.LOST,))
    assert [each.by for each in listed(agent.undo.turns.values()) if each.kind == "note"] == [history.LOST]


async def test_a_repository_that_hangs_costs_the_files_that_only_commands_changed(root, agent, monkeypatch):
    commit(root)
    monkeypatch.setattr(tree, "MAX_FILE_BYTES", 100)
    (root / "large.bin").write_bytes(bytes(101))
    hangs = Event()
    async with agent:
        agent.write("a.txt", "edited\n")
        agent.write("large.bin", "small")
        agent.command(lambda: (root / "b.txt").write_text("x"))
        monkeypatch.setattr(history, "SECONDS", 0.5)
        monkeypatch.setattr(shadow.Shadow, "recover", lambda *_: hangs.wait())
    hangs.set()
    plan = agent.plan()
    assert ([file.path for file in plan.certain], plan.uncertain) == (["a.txt"], ())
    assert plan.skipped == (("large.bin", "it was larger than 5 MB"),)
    assert plan.turn.notes == (history.LOST,)


async def test_of_more_files_than_can_be_looked_at_again_is_known_what_was_seen_before(root, agent, monkeypatch):
    async with agent:
        agent.write("a.txt", "edited\n")
        agent.write("b.txt", "edited\n")
        (root / "b.txt").write_text("mine")
        monkeypatch.setattr(record, "time", SimpleNamespace(monotonic=lambda: float("inf")))
    plan = agent.plan()
    assert ([file.path for file in plan.certain], plan.skipped) == (["a.txt"], (("b.txt", history.CHANGED_SINCE),))
    assert plan.turn.notes == ("There was no time to look again at a.txt, b.txt.",)


async def test_a_snapshot_that_comes_too_late_is_not_taken_for_the_next_one(root, agent, monkeypatch):
    commit(root)
    hangs, take = Event(), shadow.Shadow.take

    def late(self, seconds):
        found = take(self, 10)
        hangs.wait()
        return found

    monkeypatch.setattr(shadow.Shadow, "take", late)
    monkeypatch.setattr(history, "SECONDS", 0.2)
    await agent.begin()
    (root / "b.txt").write_text("mine")
    agent.undo.begin()
    hangs.set()
    await agent.undo.begun()
    assert str(agent.undo._start) == history.HANGING


async def test_all_that_git_is_asked_for_a_snapshot_shares_its_second(root, agent, monkeypatch):
    commit(root)
    given, run = list[float](), subprocess.run

    def timed(*arguments, timeout, **more):
        given.append(timeout)
        return run(*arguments, **more)

    clock = chain([0.0, 0.7], repeat(0.8))
    monkeypatch.setattr(shadow, "time", SimpleNamespace(monotonic=clock.__next__, time_ns=time.time_ns))
    monkeypatch.setattr(shadow.subprocess, "run", timed)
    agent.undo._shadow.take(1.0)
    assert [round(each, 3) for each in given] == [1.0, 0.3]


async def test_what_git_could_not_save_in_time_is_restored_from_the_repository(root, agent, monkeypatch):
    commit(root)
    monkeypatch.setattr(shadow.Shadow, "recover", lambda *_: None)
    async with agent:
        agent.command((root / "a.txt").unlink)
    assert restore(agent, uncertain=True).done == ("a.txt",)
    assert (root / "a.txt").read_bytes() == FILES["a.txt"]


async def test_turns_are_undone_one_after_the_other(root, agent):
    before = files_in(root)
    for text in ("1\n", "2\n"):
        async with agent:
            agent.write("a.txt", text)
            agent.write(f"new-{text.strip()}", text)
    assert agent.undo.plan(1).skipped == (("a.txt", "it has changed since"),)
    for number in (2, 1):
        plan = agent.undo.plan(number)
        assert agent.undo.restore(plan, plan.certain).skipped == ()
    assert files_in(root) == before


async def test_without_git_the_summary_says_what_is_not_covered(root, agent):
    async with agent:
        agent.command(lambda: (root / "a.txt").write_text("x"))
    assert agent.plan().turn.notes == (
        "Only files that edits name are covered, none that commands changed: the folder is not in a git work tree.",
    )


async def test_the_oldest_turns_are_forgotten_with_what_was_saved_for_them(root, agent, monkeypatch):
    monkeypatch.setattr(history, "MAX_SAVED_BYTES", 1500)
    for number in range(3):
        async with agent:
            agent.write("a.txt", f"{number}" * 1000)
    assert list(agent.undo.turns) == [3]
    assert agent.undo._store.size <= 1500


async def test_a_disk_that_hangs_when_what_was_saved_is_removed_costs_no_more_time(root, agent, monkeypatch):
    hangs, unlink = Event(), Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path: hangs.wait() and unlink(path))
    for text in ("1\n", "2\n"):
        async with agent:
            agent.write("a.txt", text)
            agent.write("a.txt", f"between {text}")
            monkeypatch.setattr(history, "SECONDS", 0.5)
    hangs.set()
    async with agent:
        agent.write("b.txt", "edited\n")
    assert not agent.undo._store._dropped
    assert restore(agent).done == ("b.txt",)


# -- read before the first turn -------------------------------------------------------------------------


async def prepared(agent: Agent) -> None:
    agent.undo.prepare()
    for thread in threading.enumerate():
        if thread.name == "copilot-undo":
            thread.join(10)


async def test_what_was_read_before_the_first_turn_is_not_read_again(agent, root, monkeypatch):
    commit(root)
    monkeypatch.setattr(shadow, "SETTLED_NS", -(10**18))  # files that were just written count as settled
    await prepared(agent)
    read = Mock(wraps=shadow.state_in)
    monkeypatch.setattr(shadow, "state_in", read)
    (root / "b.txt").write_text("changed since\n")
    async with agent:
        assert [each.args[1] for each in read.call_args_list] == ["b.txt"]


async def test_reading_before_the_first_turn_saves_nothing_and_what_git_lacks_is_saved_by_the_turn(
    agent, root, tmp_path
):
    commit(root)
    (root / "new.txt").write_text("not in git\n")
    await prepared(agent)
    assert not (tmp_path / "state").exists()
    async with agent:
        agent.command((root / "new.txt").unlink)
    assert restore(agent, uncertain=True).done == ("new.txt",)
    assert (root / "new.txt").read_text() == "not in git\n"
