"""A kernel leaves the broker, or an agent takes no more of them: what of its work ends, and what goes on, in memory."""

import pytest
from copilot_kernel.acp.jsonrpc import AUTH_REQUIRED, CANCELLED
from copilot_kernel.agentd.broker import ASKED_TO_END, CLOSE_SECONDS, HUNG, WITHDRAWN

from .peers import NOBODY, Agent, Kernel, refused


@pytest.fixture
def agent() -> Agent:
    return Agent()


def test_the_turns_of_a_kernel_that_leaves_are_cancelled_then_its_sessions_closed(agent: Agent) -> None:
    left, right = agent.joined("a"), agent.joined("b")
    for kernel, id in ((left, "a"), (right, "b")):
        kernel.request("session/prompt", sessionId=id)
    prompt = agent.take()[0]
    agent.ask(1, "a")
    agent.ask(2, "b")
    left.leave()
    cancel, answer = agent.take()
    assert cancel == {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "a"}}
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": NOBODY}
    agent.answer(prompt, stopReason="cancelled")
    (close,) = agent.take()
    assert (close["method"], close["params"]) == ("session/close", {"sessionId": "a"})
    agent.answer(close)
    agent.ask(3, "a")
    assert agent.take() == [{"jsonrpc": "2.0", "id": 3, "result": NOBODY}]
    agent.pass_time()
    assert (agent.ended, agent.socket_given_up, right.disconnected) == ("", False, "")
    assert [each.get("id") for each in right.take()] == [2]


def test_an_agent_without_session_close_keeps_the_session(agent: Agent) -> None:
    kernel = Kernel(agent.broker)
    agent.answer(agent.asked(kernel, "initialize"), agentCapabilities={})
    agent.answer(agent.asked(kernel, "session/new"), sessionId="s")
    kernel.leave()
    assert agent.take() == []


def test_a_session_whose_kernel_left_before_it_had_an_id_is_closed(agent: Agent) -> None:
    kernel = agent.joined()
    agent.joined()
    request = agent.asked(kernel, "session/new")
    kernel.leave()
    agent.answer(request, sessionId="s")
    assert [(each["method"], each["params"]) for each in agent.take()] == [("session/close", {"sessionId": "s"})]


def test_a_restarted_kernel_gets_its_session_when_that_is_closed(agent: Agent) -> None:
    before = agent.joined("s")
    prompt = agent.asked(before, "session/prompt", sessionId="s")
    before.leave()
    after = agent.joined()
    after.request("session/load", sessionId="s")
    assert agent.take("session/load") == []
    agent.answer(prompt, stopReason="cancelled")
    agent.answer(agent.take("session/close")[0])
    assert [each["params"] for each in agent.take("session/load")] == [{"sessionId": "s"}]
    assert after.take() == []


def test_a_turn_that_does_not_stop_costs_new_kernels_this_agent_and_others_nothing(agent: Agent) -> None:
    hung, other = agent.joined("a"), agent.joined("b")
    hung.request("session/prompt", sessionId="a")
    hung.leave()
    again = agent.joined()
    again.request("session/load", sessionId="a")
    agent.pass_time()
    assert (agent.ended, agent.socket_given_up) == ("", True)
    assert (again.disconnected, other.disconnected) == (HUNG, "")
    other.request("session/prompt", sessionId="b")
    assert len(agent.take("session/prompt")) == 1


@pytest.mark.parametrize("waits", [False, True])
def test_a_turn_that_does_not_stop_ends_an_agent_that_nobody_else_uses(agent: Agent, waits: bool) -> None:
    hung = agent.joined("a")
    hung.request("session/prompt", sessionId="a")
    hung.leave()
    if waits:
        agent.joined().request("session/load", sessionId="a")
    agent.pass_time()
    assert agent.ended == HUNG


def test_an_agent_that_is_not_ready_yet_is_there_for_those_who_still_wait_and_ends_with_the_last(agent: Agent) -> None:
    first, second = Kernel(agent.broker), Kernel(agent.broker)
    for kernel in (first, second):
        kernel.request("initialize")
    first.leave()
    assert (agent.socket_given_up, agent.ended) == (False, "")
    second.leave()
    assert agent.ended == ASKED_TO_END


def test_a_session_that_is_slowly_loaded_as_its_kernel_leaves_costs_nobody_the_agent(agent: Agent) -> None:
    other, kernel = agent.joined("b"), agent.joined()
    load = agent.asked(kernel, "session/load", sessionId="a")
    kernel.leave()
    agent.pass_time()
    agent.pass_time()
    assert (agent.socket_given_up, agent.ended, agent.take(), other.disconnected) == (False, "", [], "")
    agent.answer(load)
    assert [each["method"] for each in agent.take()] == ["session/close"]
    assert [seconds for seconds, _ in agent.timers] == [CLOSE_SECONDS]
    agent.pass_time()
    assert (agent.socket_given_up, agent.ended) == (True, "")


def test_a_turn_that_stops_in_time_is_not_hung_because_the_session_is_not_closed_yet(agent: Agent) -> None:
    agent.joined("b")
    kernel = agent.joined("a")
    prompt = agent.asked(kernel, "session/prompt", sessionId="a")
    kernel.leave()
    agent.answer(prompt, stopReason="cancelled")
    (_, stop) = agent.timers.pop(0)
    stop()
    assert agent.socket_given_up is False
    agent.answer(agent.take("session/close")[0])
    agent.pass_time()
    assert (agent.socket_given_up, agent.ended) == (False, "")


def test_the_answer_to_a_turn_of_a_session_that_was_closed_and_opened_again_is_not_counted_there(agent: Agent) -> None:
    agent.joined("b")
    kernel = agent.joined("a")
    kernel.request("session/prompt", sessionId="a")
    kernel.request("session/close", sessionId="a")
    prompt, close = agent.take()
    agent.answer(close)
    agent.answer(agent.asked(kernel, "session/resume", sessionId="a"))
    agent.answer(prompt, stopReason="cancelled")
    agent.asked(kernel, "session/prompt", sessionId="a")
    kernel.leave()
    assert [each["method"] for each in agent.take()] == ["session/cancel"]


def test_a_kernel_may_give_up_waiting_for_a_session_that_is_being_closed(agent: Agent) -> None:
    before = agent.joined("s")
    before.leave()
    (close,) = agent.take()
    after = agent.joined()
    id = after.request("session/load", sessionId="s")
    after.notify("$/cancel_request", requestId=id)
    assert after.take() == [refused(id, CANCELLED, WITHDRAWN)]
    agent.answer(close)
    assert agent.take() == []


def test_each_kernel_knows_how_many_there_are(agent: Agent) -> None:
    left, right = Kernel(agent.broker), Kernel(agent.broker)
    right.leave()
    assert [each["params"]["count"] for each in left.got] == [1, 2, 1]


# -- retiring -----------------------------------------------------------------------------------------------------


def test_the_only_kernel_may_end_the_agent(agent: Agent) -> None:
    agent.joined("a").notify("_copilot_kernel/retire")
    assert (agent.ended, agent.socket_given_up) == (ASKED_TO_END, True)


def test_with_others_the_agent_only_takes_no_more_kernels_and_ends_with_the_last(agent: Agent) -> None:
    left, right = agent.joined("a"), agent.joined("b")
    left.notify("_copilot_kernel/retire")
    assert (agent.ended, agent.socket_given_up, left.disconnected, right.disconnected) == ("", True, ASKED_TO_END, "")
    left.leave()
    assert agent.ended == ""
    right.leave()
    assert agent.ended == ASKED_TO_END


def test_an_agent_that_wants_a_sign_in_takes_no_more_kernels(agent: Agent) -> None:
    kernel = agent.joined()
    agent.fail(agent.asked(kernel, "session/new"), AUTH_REQUIRED, "Authentication required")
    assert (agent.socket_given_up, agent.ended) == (True, "")
    assert [each["error"]["code"] for each in kernel.take()] == [AUTH_REQUIRED]
    kernel.request("authenticate", methodId="x")
    assert len(agent.take("authenticate")) == 1
