"""What takes too long: nothing is lost, and the user is told."""

from threading import Event
from unittest.mock import Mock

from copilot_kernel.host import disk_stage
from copilot_kernel.notebook.live import OpenDocuments
from copilot_kernel.undo import history, tree
from copilot_kernel.undo.record import listed
from copilot_kernel.undo.repository import SNAPSHOT_TOO_SLOW, Repository, Snapshot

from .project import files_in, restore


async def test_snapshots_that_are_never_done_in_time_are_given_up(root, agent, monkeypatch):
    take = Mock(return_value=Snapshot(SNAPSHOT_TOO_SLOW))
    monkeypatch.setattr(Repository, "snapshot", take)
    for number in range(history.MAX_FAILURES):
        async with agent:
            agent.command(lambda: (root / "b.txt").write_text("x"))
            agent.write("a.txt", f"{number}\n")
    assert take.call_count == history.MAX_FAILURES
    assert (agent.plan().uncertain, restore(agent).done) == ((), ("a.txt",))
    assert agent.plan().turn.notes == (history.NAMED_ONLY.format(SNAPSHOT_TOO_SLOW),)


async def test_one_that_is_not_done_when_the_prompt_goes_out_is_broken_off_and_the_next_turn_is_covered(
    root, agent, monkeypatch
):
    begun = Event()

    def slow(self, is_over, since=None):
        begun.set()
        while not is_over():
            pass
        return Snapshot(SNAPSHOT_TOO_SLOW)

    with monkeypatch.context() as patch:
        patch.setattr(Repository, "snapshot", slow)
        patch.setattr(history, "SNAPSHOT_SECONDS", 0.05)
        await agent.begin()
        assert begun.is_set()
    agent.command(lambda: (root / "b.txt").write_text("x"))
    await agent.end()
    assert agent.plan().turn.notes == (history.NAMED_ONLY.format(SNAPSHOT_TOO_SLOW),)
    async with agent:
        agent.command(lambda: (root / "b.txt").write_text("y"))
    assert restore(agent, uncertain=True).done == ("b.txt",)


async def test_a_disk_that_hangs_costs_what_comes_later_and_not_the_turn(root, agent, monkeypatch):
    hangs = Event()
    async with agent:
        agent.write("b.txt", "edited\n")
        monkeypatch.setattr(disk_stage, "LOOKUP_SECONDS", 0.05)
        with monkeypatch.context() as patch:
            patch.setattr(tree.Tree, "read", lambda *_: hangs.wait(60) and (tree.ABSENT, b""))
            agent.write("a.txt", "edited\n")
    hangs.set()
    plan = agent.plan()
    assert ([file.path for file in plan.certain], plan.turn.notes) == (["b.txt"], (history.NOT_ALL_RECORDED,))
    assert [each.by for each in listed(agent.undo.turns.values()) if each.kind == "note"] == [history.NOT_ALL_RECORDED]


async def test_turns_are_undone_one_after_the_other(root, agent):
    before = files_in(root)
    for text in ("1\n", "2\n"):
        async with agent:
            agent.write("a.txt", text)
            agent.write(f"new-{text.strip()}", text)
    assert agent.undo.plan(1, OpenDocuments()).skipped == (("a.txt", "it has changed since"),)
    for number in (2, 1):
        plan = agent.undo.plan(number, OpenDocuments())
        assert agent.undo.restore(plan, plan.certain).skipped == ()
    assert files_in(root) == before


async def test_the_oldest_turns_are_forgotten(agent, monkeypatch):
    monkeypatch.setattr(history, "MAX_TURNS", 2)
    for number in range(3):
        async with agent:
            agent.write("a.txt", f"{number}")
    assert list(agent.undo.turns) == [2, 3]
