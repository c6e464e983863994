"""Whose change it is: what the user wrote is never taken for the agent's."""

from functools import partial

import pytest
from copilot_kernel.acp.messages import Diff, ToolCallUpdate
from copilot_kernel.conversation.calls import merged, with_answer

from .project import Agent, commit

DIFF = Diff("a.txt", "two", "2")
WAS, MINE = "one\ntwo\n", "1\ntwo\n"


@pytest.fixture(params=[False, True], ids=["plain", "git"])
def root(request, root):
    if request.param:
        commit(root)
    return root


def edit(agent: Agent, old: str, new: str, name: str = "a.txt") -> None:
    path = agent.root / name
    path.write_text(path.read_text().replace(old, new))


def asked(agent: Agent, *, allowed: bool | None = True, meanwhile=lambda: None, then=lambda: None) -> None:
    """An edit of a.txt that is asked about; what the user does until the answer, and until it ends."""
    call = agent.ask("a.txt", DIFF)
    meanwhile()
    agent.answer(call, allowed, lambda: (edit(agent, "two", "2"), then()))


def in_parts(agent: Agent) -> None:
    """The call says something new while it writes."""
    call = with_answer(agent.ask("a.txt", DIFF), True, "")
    agent.observe(call)
    for text in ("", "one\n", "one\n2\n"):
        (agent.root / "a.txt").write_text(text)
        agent.observe(merged(call, ToolCallUpdate("id", raw_input={"done": text})))
    agent.observe(merged(call, ToolCallUpdate("id", status="completed")))


def together(agent: Agent) -> None:
    """Two calls that run at the same time."""
    agent.call("edit", lambda: agent.call("edit", partial(edit, agent, "two", "2"), "a.txt"), "a.txt")


def mine(agent: Agent) -> None:
    edit(agent, "one", "1")


CASES = {
    "allowed": (asked, {"a.txt": WAS}, {}),
    "says nothing of its content": (lambda agent: agent.call("edit", partial(edit, agent, "two", "2"), "a.txt"),
                                    {"a.txt": WAS}, {}),
    "never ends": (lambda agent: (agent.observe(agent._new("edit", "a.txt")), edit(agent, "two", "2")),
                   {"a.txt": WAS}, {}),
    "in parts": (in_parts, {"a.txt": WAS}, {}),
    "two at once": (together, {"a.txt": WAS}, {}),
    "the user during the question": (lambda agent: asked(agent, meanwhile=partial(mine, agent)), {"a.txt": MINE}, {}),
    "the user writes what was asked": (lambda agent: asked(agent, meanwhile=partial(edit, agent, "two", "2")), {}, {}),
    "refused": (lambda agent: asked(agent, allowed=False, meanwhile=partial(mine, agent)), {}, {}),
    "stopped": (lambda agent: asked(agent, allowed=None, meanwhile=partial(mine, agent)), {}, {}),
    "the user after it": (lambda agent: (asked(agent), mine(agent)), {}, {"a.txt": WAS}),
    "the user before it": (lambda agent: (mine(agent), asked(agent)), {}, {"a.txt": WAS}),
    "the user between two": (lambda agent: (asked(agent), mine(agent), agent.write("a.txt", "x")), {}, {"a.txt": WAS}),
    "reported when it is done": (lambda agent: (edit(agent, "two", "2"), agent.report("edit", "a.txt")),
                                 {}, {"a.txt": WAS}),
    "a command": (lambda agent: agent.command(partial(mine, agent)), {}, {"a.txt": WAS}),
    "no call": (mine, {}, {"a.txt": WAS}),
    "nothing": (lambda agent: agent.call("edit", lambda: None, "a.txt"), {}, {}),
}  # fmt: skip
"""What is done, and what then is restored in files that are the agent's, and that may not be."""


@pytest.mark.parametrize("case", CASES)
async def test_whose_a_change_is_and_what_undoing_restores(agent, case):
    work, certain, uncertain = CASES[case]
    async with agent:
        work(agent)
    plan = agent.plan()
    found = ({file.path: agent.undo.content_before(file).decode() for file in files}
             for files in (plan.certain, plan.uncertain))  # fmt: skip
    assert tuple(found) == (certain, uncertain)
    assert agent.undo.restore(plan, (*plan.certain, *plan.uncertain)).skipped == ()
    for name, text in {**certain, **uncertain}.items():
        assert (agent.root / name).read_text() == text
