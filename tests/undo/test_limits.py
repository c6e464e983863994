"""What is not put back, what is never run, and what goes wrong: nothing is lost, and the user is told."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
import threading
import time
from itertools import chain, count, repeat
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.notebook.live import OpenDocuments
from copilot_kernel.undo import blobs, history, record, shadow, tree
from copilot_kernel.undo.listing import listed

from .project import FILES, Agent, commit, files_in, git, make, unprivileged

pytestmark = pytest.mark.anyio


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    make(root)
    return root


@pytest.fixture
def agent(root, tmp_path):
    agent = Agent(root, tmp_path / "state")
    yield agent
    agent.undo.close()


def restore(agent: Agent, *, uncertain: bool = False):
    plan = agent.plan()
    return agent.undo.restore(plan, plan.uncertain if uncertain else plan.certain)


# -- what a repository could run ------------------------------------------------------------------------


def hostile(root: Path, marker: Path) -> None:
    """Everything that git may run of a repository makes `marker`."""
    run = f"touch {marker}; cat"
    (root / ".gitattributes").write_text("* filter=bad diff=bad text\n")
    commit(root)
    for name in ("filter.bad.clean", "filter.bad.smudge", "filter.bad.process", "diff.bad.command",
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


async def test_nothing_that_a_repository_names_is_run_and_its_filters_change_nothing(root, agent, tmp_path):
    marker = tmp_path / "ran"
    hostile(root, marker)
    subprocess.run(["git", "status"], cwd=root, capture_output=True)
    assert marker.exists(), "the trap works"
    marker.unlink()
    index = (root / ".git" / "index").read_bytes()
    before = files_in(root)
    async with agent:
        agent.command(lambda: [(root / name).write_text("changed") for name in FILES])
        agent.command(lambda: (root / "new.txt").write_text("new\r\n"))
    assert restore(agent, uncertain=True).skipped == ()
    assert files_in(root) == before
    assert (root / ".git" / "index").read_bytes() == index
    assert not marker.exists()


async def test_what_the_repository_has_is_not_saved_again_but_kept_when_it_changed(root, agent):
    commit(root)
    await agent.begin()
    assert agent.undo._store.size == 0
    agent.command(lambda: (root / "a.txt").unlink())
    await agent.end()
    git(root, "rm", "--cached", "a.txt")
    subprocess.run(["rm", "-rf", root / ".git"], check=True)
    assert restore(agent, uncertain=True).done == ("a.txt",)
    assert (root / "a.txt").read_bytes() == FILES["a.txt"]


# -- what may not be the agent's ------------------------------------------------------------------------


async def test_what_a_command_may_have_changed_is_listed_and_not_selected(root, agent):
    commit(root)
    async with agent:
        agent.write("a.txt", "edited\n", "one\ntwo\n")
        agent.command(lambda: (root / "b.txt").write_text("by a command"))
    plan = agent.plan()
    assert [file.path for file in plan.certain] == ["a.txt"]
    assert [(file.path, file.calls) for file in plan.uncertain] == [("b.txt", ())]
    assert plan.turn.commands == ("execute ",)


async def test_a_file_that_something_else_changed_between_two_edits_is_not_selected(root, agent):
    async with agent:
        agent.write("a.txt", "1\n", "one\ntwo\n")
        (root / "a.txt").write_text("another agent's")
        agent.write("a.txt", "2\n", "1\n")
        agent.write("b.txt", "3")
        (root / "b.txt").write_text("formatted")
    assert [(file.path, file.is_certain) for file in agent.plan().uncertain] == [("a.txt", False), ("b.txt", False)]


async def test_an_edit_that_was_quicker_than_its_report_is_put_back_if_git_has_the_file(root, agent, tmp_path):
    elsewhere = tmp_path / "plain"
    elsewhere.mkdir()
    make(elsewhere)
    commit(root)
    plain = Agent(elsewhere, tmp_path / "state")
    for each in (agent, plain):
        async with each:
            (each.root / "a.txt").write_text("late\n")
            each.call("edit", lambda: None, "a.txt", content=(Diff("a.txt", "one\ntwo\n", "late\n"),))
    assert restore(agent).done == ("a.txt",)
    assert plain.plan().skipped == (("a.txt", "it was changed before it could be saved"),)
    plain.undo.close()


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


async def test_the_notebook_its_checkpoints_and_open_documents_are_never_put_back(root, tmp_path):
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
async def test_a_notebook_that_was_renamed_is_never_put_back(root, tmp_path, is_told):
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


async def test_where_the_notebook_is_unknown_no_notebook_is_put_back(root, agent):
    async with agent:
        agent.write("other.ipynb", "{}")
        agent.write("a.txt", "x")
    plan = agent.undo.plan(1)
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
        why = ("Only files that edits name are covered, none that commands changed: " + shadow.NO_GIT + ".",)
        assert agent.plan().turn.notes == (() if is_covered else why)
        agent.undo.close()
    assert not (tmp_path / "ran").exists()


# -- limits ---------------------------------------------------------------------------------------------


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
    taken = []

    def take(self, _):
        taken.append(self)
        raise shadow.SnapshotError("too long")

    monkeypatch.setattr(shadow.Shadow, "take", take)
    for number in range(history.MAX_FAILURES):
        async with agent:
            agent.command(lambda: None)
            agent.write("a.txt", f"{number}\n")
    assert len(taken) == history.MAX_FAILURES
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
    began = time.monotonic()
    async with agent:
        agent.write("a.txt", "edited\n")
        agent.write("large.bin", "small")
        agent.command(lambda: (root / "b.txt").write_text("x"))
        monkeypatch.setattr(history, "SECONDS", 0.5)
        monkeypatch.setattr(shadow.Shadow, "recover", lambda *_: hangs.wait(60))
    hangs.set()
    assert time.monotonic() - began < 20
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
        hangs.wait(60)
        return found

    monkeypatch.setattr(shadow.Shadow, "take", late)
    monkeypatch.setattr(history, "SECONDS", 0.2)
    began = time.monotonic()
    await agent.begin()
    (root / "b.txt").write_text("mine")
    agent.undo.begin()
    hangs.set()
    await agent.undo.begun()
    assert time.monotonic() - began < 20
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


async def test_what_git_could_not_save_in_time_is_put_back_from_the_repository(root, agent, monkeypatch):
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
    monkeypatch.setattr(Path, "unlink", lambda path: hangs.wait(60) and unlink(path))
    began = time.monotonic()
    for text in ("1\n", "2\n"):
        async with agent:
            agent.write("a.txt", text)
            agent.write("a.txt", f"between {text}")
            monkeypatch.setattr(history, "SECONDS", 0.5)
    assert time.monotonic() - began < 20
    hangs.set()
    async with agent:
        agent.write("b.txt", "edited\n")
    assert not agent.undo._store._dropped
    assert restore(agent).done == ("b.txt",)


# -- when the disk fails --------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
async def test_what_cannot_be_saved_is_named_and_the_turn_goes_on(root, agent, monkeypatch, code):
    def fail(**_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(blobs.tempfile, "mkdtemp", fail)
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


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
async def test_a_file_that_cannot_be_put_back_stays_whole_and_nothing_is_left_beside_it(root, agent, monkeypatch, call):
    async with agent:
        agent.write("a.txt", "edited\n")
        agent.write("b.txt", "edited\n")
    plan = agent.plan()
    after = files_in(root)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(tree.os, call, full)
        outcome = agent.undo.restore(plan, plan.certain)
    assert outcome.skipped == (("a.txt", "No space left on device"), ("b.txt", "No space left on device"))
    assert files_in(root) == after
    assert restore(agent).done == ("a.txt", "b.txt")


async def test_what_was_saved_and_then_damaged_is_not_put_back(root, agent):
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


# -- read before the first turn -------------------------------------------------------------------------


async def prepared(agent: Agent) -> None:
    agent.undo.prepare()
    threads = [thread for thread in threading.enumerate() if thread.name == "copilot-undo"]
    for thread in threads:
        thread.join(10)


async def test_what_was_read_before_the_first_turn_is_not_read_again(agent, root, monkeypatch):
    commit(root)
    settled(monkeypatch)
    await prepared(agent)
    reads = count_reads(monkeypatch)
    (root / "b.txt").write_text("changed since\n")
    async with agent:
        assert reads == ["b.txt"]


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


def settled(monkeypatch) -> None:
    """Files that were just written count as settled."""
    monkeypatch.setattr(shadow, "SETTLED_NS", -(10**18))


def count_reads(monkeypatch) -> list[str]:
    names, read = list[str](), shadow.state_in

    def state_in(folder, name, keep):
        names.append(name)
        return read(folder, name, keep)

    monkeypatch.setattr(shadow, "state_in", state_in)
    return names


# -- what was moved -------------------------------------------------------------------------------------


async def test_what_was_moved_is_not_deleted_before_it_is_back_in_its_place(root, agent, monkeypatch):
    async with agent:
        agent.call("move", lambda: (root / "a.txt").rename(root / "moved.txt"), "a.txt", "moved.txt")
    plan = agent.plan()
    after = files_in(root)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(tree.os, "fsync", full)
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


async def test_the_files_of_a_moved_folder_are_put_back(root, agent):
    before = files_in(root)
    async with agent:
        agent.call("move", lambda: (root / "src").rename(root / "moved"), "src", "moved")
    assert restore(agent).skipped == ()
    assert files_in(root) == before


# -- what cannot be read --------------------------------------------------------------------------------


@pytest.fixture
async def closed():
    """An agent in a git work tree with folders and a file that cannot be read."""
    with tempfile.TemporaryDirectory() as folder:
        root, state = Path(folder, "project"), Path(folder, "state")
        make(root)
        (root / "new" / "secret").mkdir(parents=True)
        (root / "new" / "secret" / "mine").write_text("mine")
        (root / "empty" / "secret").mkdir(parents=True)
        (root / "empty" / "secret" / "mine").write_text("mine")
        (root / "mine").write_text("mine")
        commit(root)
        git(root, "rm", "-rq", "--cached", "new", "empty")
        state.mkdir()
        with unprivileged(Path(folder)):
            agent = Agent(root, state)
            close(root, 0)
            yield agent
            close(root, 0o755)
            agent.undo.close()


CLOSED = ("new/secret", "empty/secret", "src/deep", "mine")


def close(root: Path, mode: int) -> None:
    for path in CLOSED:
        (root / path).chmod(mode)


async def test_what_could_not_be_read_at_the_start_is_never_deleted_and_is_named(closed):
    root = closed.root
    async with closed:
        closed.command(lambda: close(root, 0o755))
        closed.report("edit", "new/secret/mine", content=(Diff("new/secret/mine", "", "mine"),))
        closed.command(lambda: (root / "b.txt").write_text("x"))
    before, plan = files_in(root), closed.plan()
    assert ([file.path for file in plan.certain], [file.path for file in plan.uncertain]) == ([], ["b.txt"])
    assert plan.skipped == (("new/secret/mine", "it was changed before it could be saved"),)
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
