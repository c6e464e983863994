"""Whose change it is: what the user wrote is never taken for the agent's."""

from __future__ import annotations

from functools import partial

import pytest
from copilot_kernel.acp.messages import Diff, ToolCallUpdate
from copilot_kernel.conversation.calls import merged, with_answer, with_question
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.undo import attribution as module
from copilot_kernel.undo.attribution import Change, Edit, Verdict, author_of, describes, given_edits, meanwhile, verdict
from copilot_kernel.undo.tree import ABSENT, FileState

from .project import Agent, commit

pytestmark = pytest.mark.anyio

A, B, C = (FileState("file", 0o644, each) for each in "abc")


@pytest.mark.parametrize(("is_described", "was_asked", "expected"), [
    (True, False, "agent"),
    (False, False, "unknown"),
    (False, True, "others"),
])  # fmt: skip
def test_whose_a_change_is(is_described, was_asked, expected):
    assert author_of(is_described=is_described, was_asked=was_asked) == expected


@pytest.mark.parametrize(("changes", "expected"), [
    pytest.param([(A, B, "agent")], Verdict(A, True), id="the agent's"),
    pytest.param([(A, B, "agent"), (B, C, "agent")], Verdict(A, True), id="twice the agent's"),
    pytest.param([(ABSENT, B, "agent")], Verdict(ABSENT, True), id="new"),
    pytest.param([(A, B, "unknown")], Verdict(A, False), id="perhaps a command's"),
    pytest.param([(A, B, "others")], Verdict(B, False), id="the user's"),
    pytest.param([(A, B, "others"), (B, C, "agent")], Verdict(B, False), id="first the user's, which is kept"),
    pytest.param([(A, B, "agent"), (B, C, "others")], Verdict(A, False), id="then the user's"),
    pytest.param([(A, B, "agent"), (B, C, "unknown")], Verdict(A, False), id="then perhaps another's"),
    pytest.param([(A, B, "unknown"), (B, C, "agent")], Verdict(A, False), id="first perhaps another's"),
])  # fmt: skip
def test_what_undoing_puts_back(changes, expected):
    assert verdict([Change(*each) for each in changes]) == expected


PENDING = ToolCall(1, 1, "one", kind="edit")
ASKED = with_question(PENDING)
ALLOWED, REFUSED, STOPPED = (with_answer(ASKED, answer, "") for answer in (True, False, None))
OTHER = ToolCall(2, 1, "two", kind="edit")


def done(call: ToolCall, status: str = "completed") -> ToolCall:
    return merged(call, ToolCallUpdate(call.call_id, status=status))


@pytest.mark.parametrize(("calls", "now", "expected"), [
    pytest.param([], PENDING, ([], False), id="it is new"),
    pytest.param([], done(PENDING), ([1], False), id="it is new and done"),
    pytest.param([PENDING], done(PENDING), ([1], False), id="it ran"),
    pytest.param([PENDING], done(PENDING, "failed"), ([1], False), id="it failed"),
    pytest.param([PENDING], ASKED, ([1], False), id="it did not wait"),
    pytest.param([ASKED], ALLOWED, ([], True), id="it was allowed"),
    pytest.param([ASKED], REFUSED, ([], True), id="it was refused"),
    pytest.param([ASKED], STOPPED, ([], True), id="the turn was stopped"),
    pytest.param([ASKED], done(ASKED), ([1], False), id="it did not wait for the answer"),
    pytest.param([ALLOWED], done(ALLOWED), ([1], False), id="it ran when it was allowed"),
    pytest.param([REFUSED], None, ([], False), id="after a refusal"),
    pytest.param([REFUSED], done(REFUSED), ([1], False), id="it ran although it was refused"),
    pytest.param([done(PENDING)], None, ([], False), id="after its end"),
    pytest.param([PENDING], None, ([1], False), id="it never ended"),
    pytest.param([ASKED, OTHER], ALLOWED, ([2], False), id="another ran meanwhile"),
    pytest.param([ASKED, done(OTHER)], ALLOWED, ([], True), id="another ran before"),
])  # fmt: skip
def test_which_calls_may_have_run_between_two_looks(calls, now, expected):
    assert meanwhile({call.id: call for call in calls}, now) == expected


TEXT = "one\ntwo\nthree\ntwo\n"


@pytest.mark.parametrize(("edits", "before", "after", "expected"), [
    pytest.param([(TEXT, "x\n")], TEXT, "x\n", True, id="the whole text"),
    pytest.param([("one", "1")], TEXT, "1\ntwo\nthree\ntwo\n", True, id="a part"),
    pytest.param([("two", "2")], TEXT, "one\n2\nthree\ntwo\n", True, id="the first of several"),
    pytest.param([("two", "2")], TEXT, "one\ntwo\nthree\n2\n", True, id="the last of several"),
    pytest.param([("two", "2")], TEXT, "one\n2\nthree\n2\n", True, id="all"),
    pytest.param([("two\n", "")], TEXT, "one\ntwo\nthree\n", True, id="removed"),
    pytest.param([("one", "1"), ("three", "3")], TEXT, "1\ntwo\n3\ntwo\n", True, id="two parts"),
    pytest.param([("three", "3"), ("one", "1")], TEXT, "1\ntwo\n3\ntwo\n", True, id="two parts, the lower one first"),
    pytest.param([("one", "two"), ("two\ntwo", "x")], TEXT, "x\nthree\ntwo\n", True, id="one part after the other"),
    pytest.param([("two\nthree", "2\nthree"), ("two", "2")], TEXT, "one\n2\nthree\n2\n", True, id="in places"),
    pytest.param([("", "x")], "", "x", True, id="a new file"),
    pytest.param([("", "x\n")], TEXT, "x\n", True, id="written over"),
    pytest.param([("one", "1")], "one\r\ntwo\r\n", "1\r\ntwo\r\n", True, id="other line endings"),
    pytest.param([("one", "1")], "one", "1\n", True, id="a line end more"),
    pytest.param([("one", "1")], TEXT, "1\ntwo\nthree\ntwo\nmine\n", False, id="something else, too"),
    pytest.param([("one", "1")], TEXT, "one\ntwo\nthree\ntwo\nmine\n", False, id="only something else"),
    pytest.param([("two", "2")], TEXT, "one\n2\nthree\ntwo\nmine\n", False, id="the first, and something else"),
    pytest.param([("four", "4")], TEXT, "4\n", False, id="what was not there"),
    pytest.param([("one", "1")], TEXT, TEXT, False, id="nothing"),
    pytest.param([], TEXT, "x\n", False, id="nothing is said"),
    pytest.param([("", "x")], TEXT, f"x{TEXT}", False, id="put in somewhere"),
    pytest.param([("o", "0")] * 51, TEXT, "0ne\ntw0\nthree\ntw0\n", False, id="too many edits"),
])  # fmt: skip
def test_what_edits_say_is_found_in_the_file(edits, before, after, expected):
    said = tuple(Edit(*each) for each in edits)
    assert describes(said, before.encode(), after.encode()) is expected


def test_an_edit_of_the_whole_file_counts_only_if_the_file_was_just_looked_at():
    edits = (Edit(None, "mine, and more\n"),)
    assert not describes(edits, b"one\n", b"mine, and more\n", is_watched=False)
    assert describes(edits, b"", b"mine, and more\n", is_watched=False)


def test_edits_that_would_take_too_long_are_not_looked_for(monkeypatch):
    large = 1_000_000
    assert not describes((Edit("a", "b" * large),), b"a" * large, b"b" * large)
    monkeypatch.setattr(module, "MAX_TRIED_BYTES", 2000)
    assert not describes((Edit("ab", ""),), b"ab" * 20 + b"c", b"ab" * 19 + b"d")


@pytest.mark.parametrize(("raw", "expected"), [
    ({"path": "a", "file_text": "x"}, (Edit(None, "x"),)),
    ({"filePath": "a", "oldString": "x", "newString": "y"}, (Edit("x", "y"),)),
    ({"edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "y", "new_string": "z"}]},
     (Edit("x", "y"), Edit("y", "z"))),
    ({"edits": [1, {"old_string": 1}]}, ()),
    ({"path": "a"}, ()),
    (None, ()),
])  # fmt: skip
def test_edits_are_read_from_the_input_where_there_is_no_diff(raw, expected):
    assert given_edits(raw) == expected


# -- in a turn ----------------------------------------------------------------------------------------------


@pytest.fixture(params=[False, True], ids=["plain", "git"])
def root(request, root):
    if request.param:
        commit(root)
    return root


DIFF = Diff("a.txt", "two", "2")


def seen(agent: Agent) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """By path: what would be restored in the files that are the agent's, and in those that may not be."""
    plan = agent.plan()

    def contents(files):
        return {
            file.path: (agent.undo._store.get(file.before.content) or b"").decode(errors="replace") for file in files
        }

    return contents(plan.certain), contents(plan.uncertain)


def edit(agent: Agent, old: str, new: str, name: str = "a.txt") -> None:
    path = agent.root / name
    path.write_text(path.read_text().replace(old, new))


async def test_an_edit_that_was_asked_about_is_the_agents(agent):
    async with agent:
        agent.answer(agent.ask("a.txt", DIFF), True, partial(edit, agent, "two", "2"))
    assert seen(agent) == ({"a.txt": "one\ntwo\n"}, {})


async def test_what_the_user_edits_during_the_question_is_kept_whatever_the_agent_writes_then(agent):
    async with agent:
        for name in ("a.txt", "new.txt"):
            call = agent.ask(name, Diff(name, "two", "2"))
            (agent.root / name).write_text("one\ntwo\nmine\n")
            agent.answer(call, True, partial(edit, agent, "two", "2", name))
    kept = {"a.txt": "one\ntwo\nmine\n", "new.txt": "one\ntwo\nmine\n"}
    assert seen(agent) == ({}, kept)
    plan = agent.plan()
    assert agent.undo.restore(plan, plan.uncertain).skipped == ()
    assert {name: (agent.root / name).read_text() for name in kept} == kept


@pytest.mark.parametrize("allowed", [False, None])
async def test_what_the_user_edits_instead_is_not_the_agents(agent, allowed):
    async with agent:
        call = agent.ask("a.txt", DIFF)
        edit(agent, "one", "1")
        agent.answer(call, allowed)
        refused = agent.ask("b.txt", Diff("b.txt", None, "mine\n"))
        agent.answer(refused, allowed)
        (agent.root / "b.txt").write_text("mine\n")
        agent.command(lambda: None)
    assert agent.plan().certain == ()
    assert "a.txt" not in seen(agent)[1]


async def test_what_the_user_writes_between_the_answer_and_the_end_of_the_call_is_not_selected(agent):
    async with agent:
        agent.answer(agent.ask("a.txt", DIFF), True, lambda: (edit(agent, "two", "2"), edit(agent, "one", "mine")))
    assert seen(agent) == ({}, {"a.txt": "one\ntwo\n"})


async def test_the_users_own_edit_is_not_the_agents_even_if_it_is_what_the_agent_asked_for(agent):
    async with agent:
        call = agent.ask("a.txt", DIFF)
        edit(agent, "two", "2")
        agent.answer(call, True)
    assert seen(agent) == ({}, {})


async def test_an_edit_that_says_nothing_of_its_content_is_not_selected(agent):
    async with agent:
        agent.call("edit", partial(edit, agent, "two", "2"), "a.txt")
    assert seen(agent) == ({}, {"a.txt": "one\ntwo\n"})


def write_in_parts(agent: Agent, *texts: str) -> None:
    """An edit of a.txt that is allowed; the call says something new after each text but the last."""
    call = agent.ask("a.txt", DIFF)

    def work() -> None:
        for text in texts:
            (agent.root / "a.txt").write_text(text)
            if text != texts[-1]:
                agent.undo.observe(merged(with_answer(call, True, ""), ToolCallUpdate("id", raw_input={"done": text})))

    agent.answer(call, True, work)


@pytest.mark.parametrize("halves", [[""], ["", "one\n"]])
async def test_an_edit_that_was_looked_at_while_it_was_being_written_is_the_agents(agent, halves):
    async with agent:
        write_in_parts(agent, *halves, "one\n2\n")
    assert seen(agent) == ({"a.txt": "one\ntwo\n"}, {})


async def test_what_the_user_writes_while_an_edit_is_being_written_is_not_selected(agent):
    async with agent:
        write_in_parts(agent, "mine\n", "one\n2\n")
    assert seen(agent) == ({}, {"a.txt": "one\ntwo\n"})


async def test_edits_of_one_file_that_run_together_are_the_agents(agent):
    async with agent:
        first, second = (agent.ask("a.txt", Diff("a.txt", *each)) for each in (("one", "1"), ("two", "2")))
        agent.answer(first, True, partial(edit, agent, "one", "1"))
        agent.answer(second, True, partial(edit, agent, "two", "2"))
        agent.call(
            "edit",
            lambda: agent.call("edit", lambda: (edit(agent, "1", "x"), edit(agent, "2", "y")), "a.txt",
                               content=(Diff("a.txt", "1", "x"),)),
            "a.txt", content=(Diff("a.txt", "2", "y"),),
        )  # fmt: skip
    assert seen(agent) == ({"a.txt": "one\ntwo\n"}, {})


async def test_an_edit_that_is_reported_when_it_is_done_is_the_agents_only_if_nothing_else_changed(agent, request):
    async with agent:
        edit(agent, "two", "2")
        edit(agent, "1", "mine", "src/c.py")
        edit(agent, "c", "d", "src/c.py")
        agent.report("edit", "a.txt", content=(DIFF,))
        agent.report("edit", "src/c.py", content=(Diff("src/c.py", "c", "d"),))
        (agent.root / "b.txt").write_text("mine, and the agent's")
        agent.report("edit", "b.txt", content=(Diff("b.txt", None, "mine, and the agent's"),))
    if "git" in request.node.callspec.id:
        assert (seen(agent)[0], sorted(seen(agent)[1])) == ({"a.txt": "one\ntwo\n"}, ["b.txt", "src/c.py"])
    else:
        late = "it was changed before it could be saved"
        assert agent.plan().skipped == (("a.txt", late), ("b.txt", late), ("src/c.py", late))
