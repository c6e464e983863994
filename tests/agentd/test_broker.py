"""Who gets what: routing between one agent and several kernels, in memory."""

import pytest
from copilot_kernel.acp.jsonrpc import IN_USE, IN_USE_MESSAGE, NOT_FOUND
from copilot_kernel.agentd.broker import NOT_OPEN
from copilot_kernel.agentd.pending_questions import EARLY_SECONDS, LEFT, MAX_EARLY_BYTES

from .peers import NOBODY, Agent, Kernel, refused


@pytest.fixture
def agent() -> Agent:
    return Agent()


# -- requests of kernels ------------------------------------------------------------------------------------------


def test_the_agent_is_initialized_once_and_each_kernel_gets_its_answer_under_its_own_id(agent: Agent) -> None:
    early, also_early = Kernel(agent.broker), Kernel(agent.broker)
    ids = [kernel.request("initialize", protocolVersion=1) for kernel in (early, also_early)]
    (request,) = agent.take()
    agent.answer(request, protocolVersion=1)
    late = Kernel(agent.broker)
    ids.append(late.request("initialize", protocolVersion=1))
    for kernel, id in zip((early, also_early, late), ids, strict=True):
        assert kernel.take() == [{"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": 1}}]
    assert agent.take() == []


def test_an_agent_that_refuses_to_be_initialized_is_asked_again(agent: Agent) -> None:
    kernel = Kernel(agent.broker)
    id = kernel.request("initialize")
    agent.fail(agent.take()[0], -32603)
    assert kernel.take() == [refused(id, -32603, "no")]
    kernel.request("initialize")
    assert len(agent.take("initialize")) == 1


def test_an_agent_that_says_nothing_of_itself_is_used_all_the_same(agent: Agent) -> None:
    kernel = Kernel(agent.broker)
    id = kernel.request("initialize")
    agent.write(id=agent.take()[0]["id"])
    assert kernel.take() == [{"jsonrpc": "2.0", "id": id, "result": None}]


def test_kernels_may_use_the_same_ids(agent: Agent) -> None:
    left, right = agent.joined(), agent.joined()
    ids = [kernel.request("session/list", cwd="/") for kernel in (left, right)]
    assert ids[0] == ids[1]
    first, second = agent.take()
    assert (first["method"], first["params"]) == ("session/list", {"cwd": "/"})
    agent.answer(second, sessions=["b"])
    agent.answer(first, sessions=["a"])
    assert [each["result"] for each in left.take()] == [{"sessions": ["a"]}]
    assert [each["result"] for each in right.take()] == [{"sessions": ["b"]}]


def test_an_answer_under_the_number_as_a_string_counts(agent: Agent) -> None:
    kernel = agent.joined()
    id = kernel.request("session/list")
    agent.write(id=str(agent.take()[0]["id"]), result={})
    agent.write(id="x", result={})
    agent.write(id=[1], result={})
    assert kernel.take() == [{"jsonrpc": "2.0", "id": id, "result": {}}]


def test_an_error_passes_with_its_data_and_a_null_error_is_none(agent: Agent) -> None:
    kernel = agent.joined()
    ids = [kernel.request("session/list"), kernel.request("session/list")]
    first, second = agent.take()
    agent.write(id=first["id"], error={"code": 1, "message": "m", "data": {"a": [1]}})
    agent.write(id=second["id"], result={"sessions": []}, error=None)
    assert kernel.take() == [
        {"jsonrpc": "2.0", "id": ids[0], "error": {"code": 1, "message": "m", "data": {"a": [1]}}},
        {"jsonrpc": "2.0", "id": ids[1], "result": {"sessions": []}},
    ]


def test_a_payload_passes_byte_for_byte(agent: Agent) -> None:
    kernel, lines = agent.joined("s"), list[bytes]()
    kernel.send = lines.append  # type: ignore[method-assign]
    line = (
        b'{ "params": {"sessionId": "s","n":1e400,"big":12345678901234567890,"u":"\\ud800"} ,"method":"session/update"}'
    )
    agent.broker.take_from_agent(line)
    id = kernel.request("session/prompt", sessionId="s")
    number = agent.take()[0]["id"]
    agent.broker.take_from_agent(b'{"id":%d,"result":{"big":12345678901234567890.10}}' % number)
    answer = b'{"jsonrpc":"2.0","id":%d,"result":{"big":12345678901234567890.10}}\n' % id
    assert lines == [line + b"\n", answer]


def test_what_is_no_message_concerns_nobody(agent: Agent) -> None:
    kernel = agent.joined("s")
    for line in (b"", b"log: started", b"[]", b"{}", b"null", b'{"id":true,"result":1}', b'{"method":7}', b"\xff\xfe"):
        agent.broker.take_from_agent(line)
        agent.broker.take(kernel, line)
    assert (kernel.take(), agent.take()) == ([], [])


def test_a_kernel_cancels_only_its_own_request(agent: Agent) -> None:
    left, right = agent.joined(), agent.joined()
    id = left.request("authenticate", methodId="x")
    right.notify("$/cancel_request", requestId=id)
    left.notify("$/cancel_request", requestId=id)
    request, cancel = agent.take()
    assert cancel == {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": request["id"]}}


# -- sessions -----------------------------------------------------------------------------------------------------


def test_each_kernel_gets_what_belongs_to_its_session(agent: Agent) -> None:
    left, right = agent.joined("a"), agent.joined("b")
    messages = [agent.update("a"), agent.update("b"), agent.ask(7, "b"), agent.ask("7", "a", "fs/read_text_file")]
    assert left.take() == [messages[0], messages[3]]
    assert right.take() == [messages[1], messages[2]]


@pytest.mark.parametrize(
    "method", ["session/load", "session/resume", "session/prompt", "session/close", "session/delete"]
)
def test_a_session_that_another_kernel_has_is_in_use(agent: Agent, method: str) -> None:
    agent.joined("s")
    other = agent.joined()
    id = other.request(method, sessionId="s")
    assert other.take() == [refused(id, IN_USE, IN_USE_MESSAGE)]
    other.notify("session/cancel", sessionId="s")
    assert agent.take() == []


def test_a_session_that_nobody_has_must_be_opened_first(agent: Agent) -> None:
    kernel = agent.joined()
    id = kernel.request("session/prompt", sessionId="s")
    assert kernel.take() == [refused(id, NOT_FOUND, NOT_OPEN)]
    assert agent.asked(kernel, "session/delete", sessionId="s")["method"] == "session/delete"


def test_a_session_is_owned_from_the_moment_it_is_loaded_and_free_if_that_fails(agent: Agent) -> None:
    left, right = agent.joined(), agent.joined()
    request = agent.asked(left, "session/load", sessionId="s")
    replay = agent.update("s")
    assert left.take() == [replay]
    right.request("session/load", sessionId="s")
    agent.fail(request, NOT_FOUND)
    assert [each["error"]["code"] for each in (*left.take(), *right.take())] == [NOT_FOUND, IN_USE]
    assert agent.asked(right, "session/load", sessionId="s")["method"] == "session/load"


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
@pytest.mark.parametrize("code", [None, NOT_FOUND])
def test_a_session_that_was_closed_is_free(agent: Agent, method: str, code: int | None) -> None:
    left, right = agent.joined("s"), agent.joined()
    request = agent.asked(left, method, sessionId="s")
    agent.answer(request) if code is None else agent.fail(request, code)
    assert agent.asked(right, "session/resume", sessionId="s")["method"] == "session/resume"


def test_what_comes_before_the_id_of_a_new_session_waits_for_it(agent: Agent) -> None:
    bystander, kernel = agent.joined("a"), agent.joined()
    id = kernel.request("session/new")
    (request,) = agent.take()
    messages = [agent.update("b"), agent.ask(3, "b", "fs/read_text_file")]
    assert kernel.take() == []
    agent.answer(request, sessionId="b")
    assert kernel.take() == [*messages, {"jsonrpc": "2.0", "id": id, "result": {"sessionId": "b"}}]
    agent.pass_time()
    assert (bystander.take(), agent.take()) == ([], [])


METHODS = ["session/request_permission", "fs/read_text_file", "fs/write_text_file", "terminal/create"]


@pytest.mark.parametrize("method", METHODS)
def test_a_question_of_a_session_whose_kernel_left_before_it_had_an_id_is_nobodys(agent: Agent, method: str) -> None:
    gone, other = agent.joined(), agent.joined()
    request = agent.asked(gone, "session/new")
    gone.leave()
    others = agent.asked(other, "session/new")
    agent.ask(3, "s", method)
    agent.answer(request, sessionId="s")
    refusal, close = agent.take()
    assert (refusal["id"], close["method"], close["params"]) == (3, "session/close", {"sessionId": "s"})
    assert refusal.get("result") == NOBODY or refusal["error"] == {"code": NOT_FOUND, "message": LEFT}
    agent.answer(others, sessionId="t")
    assert [each.get("id") for each in other.take()] == [100 + 1]


def test_a_question_of_a_session_that_never_gets_an_id_is_refused_in_the_end(agent: Agent) -> None:
    """Such an agent may wait for its answer before it sends the id."""
    kernel = agent.joined()
    request = agent.asked(kernel, "session/new")
    agent.ask(3, "s")
    assert [seconds for seconds, _ in agent.timers] == [EARLY_SECONDS]
    agent.pass_time()
    assert agent.take() == [{"jsonrpc": "2.0", "id": 3, "result": NOBODY}]
    agent.ask(4, "s")
    agent.answer(request, sessionId="t")
    assert agent.take() == [{"jsonrpc": "2.0", "id": 4, "result": NOBODY}]
    assert [each.get("id") for each in kernel.take()] == [100 + 1]


def test_what_comes_early_waits_where_several_begin_a_session(agent: Agent) -> None:
    left, right = agent.joined(), agent.joined()
    ids = [left.request("session/new"), right.request("session/new")]
    first, second = agent.take()
    early = [agent.update("b"), agent.ask(3, "b"), agent.update("a")]
    assert (left.take(), right.take()) == ([], [])
    agent.answer(second, sessionId="b")
    agent.answer(first, sessionId="a")
    assert right.take() == [*early[:2], {"jsonrpc": "2.0", "id": ids[1], "result": {"sessionId": "b"}}]
    assert left.take() == [early[2], {"jsonrpc": "2.0", "id": ids[0], "result": {"sessionId": "a"}}]


def test_what_waits_is_bounded_and_a_question_without_room_is_cancelled(agent: Agent) -> None:
    kernels = agent.joined(), agent.joined()
    for kernel in kernels:
        kernel.request("session/new")
    agent.take()
    agent.update("b", "x" * MAX_EARLY_BYTES)
    for _ in range(3):
        agent.update("b", "x" * (MAX_EARLY_BYTES // 2))
    agent.write(id=3, method="session/request_permission", params={"sessionId": "b", "x": "x" * MAX_EARLY_BYTES})
    assert agent.take() == [{"jsonrpc": "2.0", "id": 3, "result": NOBODY}]


def test_a_question_that_waits_is_cancelled_when_it_turns_out_to_be_nobodys(agent: Agent) -> None:
    kernels = agent.joined(), agent.joined()
    for kernel in kernels:
        kernel.request("session/new")
    agent.take()
    agent.ask(3, "b")
    agent.ask(4, "b")
    agent.write(method="$/cancel_request", params={"requestId": 3})
    assert [each["id"] for each in agent.take()] == [3]
    for kernel in kernels:
        kernel.leave()
    agent.pass_time()
    assert [each for each in agent.take() if each.get("id") == 4] == [{"jsonrpc": "2.0", "id": 4, "result": NOBODY}]


# -- what the agent says and asks ---------------------------------------------------------------------------------


def test_only_the_kernel_that_was_asked_answers_and_once(agent: Agent) -> None:
    left, right = agent.joined("a"), agent.joined("b")
    agent.ask("q", "a")
    for kernel, outcome in ((right, "wrong"), (left, "right"), (left, "again")):
        kernel.write(id="q", result={"outcome": outcome})
    assert agent.take() == [{"jsonrpc": "2.0", "id": "q", "result": {"outcome": "right"}}]


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("session/request_permission", {"result": NOBODY}),
        ("elicitation/create", {"result": {"action": "cancel"}}),
        ("terminal/create", {"error": {"code": NOT_FOUND, "message": LEFT}}),
    ],
)
def test_a_question_in_a_session_that_nobody_has_is_cancelled(agent: Agent, method: str, answer: object) -> None:
    agent.joined("a")
    agent.ask(1, "gone", method)
    assert agent.take() == [{"jsonrpc": "2.0", "id": 1, **answer}]  # type: ignore[dict-item]


def test_a_dialects_form_of_the_answer_is_used() -> None:
    agent = Agent("flat")
    agent.ask(1, "gone")
    assert agent.take() == [{"jsonrpc": "2.0", "id": 1, "result": {"outcome": "cancelled"}}]


def test_what_names_no_session_is_for_the_only_kernel_with_a_turn(agent: Agent) -> None:
    left, right = agent.joined("a"), agent.joined("b")
    agent.asked(left, "session/prompt", sessionId="a")
    messages = [agent.ask(1, ""), agent.update("")]
    assert (left.take(), right.take()) == (messages, [])
    agent.asked(right, "session/prompt", sessionId="b")
    agent.ask(2, "")
    agent.update("")
    assert (left.take(), right.take()) == ([], [])
    assert agent.take() == [{"jsonrpc": "2.0", "id": 2, "result": NOBODY}]


def test_what_names_no_session_is_nobodys_while_a_kernel_that_left_has_a_request(agent: Agent) -> None:
    left, right = agent.joined("a"), agent.joined("b")
    left.request("session/prompt", sessionId="a")
    left.leave()
    agent.take()
    agent.ask(1, "")
    right.request("session/prompt", sessionId="b")
    agent.take("session/prompt")
    agent.ask(2, "")
    assert (right.take(), agent.take()) == ([], [{"jsonrpc": "2.0", "id": 2, "result": NOBODY}])


def test_a_question_about_a_request_is_for_the_kernel_that_made_it(agent: Agent) -> None:
    left, right = agent.joined("a"), agent.joined("b")
    right.request("session/prompt", sessionId="b")
    left.request("authenticate", methodId="x")
    number = agent.take()[-1]["id"]
    agent.write(id=5, method="elicitation/create", params={"requestId": number, "mode": "url"})
    assert [each["id"] for each in left.take()] == [5]
    left.leave()
    agent.take()
    agent.write(id=6, method="elicitation/create", params={"requestId": number, "mode": "url"})
    assert agent.take() == [{"jsonrpc": "2.0", "id": 6, "result": {"action": "cancel"}}]


def test_a_notification_of_no_session_is_for_everybody(agent: Agent) -> None:
    kernels = [agent.joined("a"), agent.joined()]
    agent.write(method="elicitation/complete", params={"elicitationId": "e"})
    assert [[each["method"] for each in kernel.take()] for kernel in kernels] == [["elicitation/complete"]] * 2


def test_the_agent_takes_a_question_back(agent: Agent) -> None:
    left, right = agent.joined("a"), agent.joined("b")
    agent.ask(1, "a")
    left.take()
    agent.write(method="$/cancel_request", params={"requestId": 1})
    assert ([each["method"] for each in left.take()], right.take()) == (["$/cancel_request"], [])
