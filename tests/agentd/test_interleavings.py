"""In whatever order kernels and the agent act: nobody gets what is another's, and each question is answered."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ..limits import examples
from .peers import Agent, Json, Kernel

PICK = st.integers(0, 99)


class Interleavings(RuleBasedStateMachine):
    """The agent begins sessions `0`, `1` and so on, speaks of them at once, and answers when it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.agent = Agent()
        self.kernels: list[Kernel] = []
        self.sent: dict[int, list[tuple[int, str]]] = {}
        self.answered: dict[int, list[int]] = {}
        self.to_answer: list[Json] = []
        self.asked: set[int] = set()
        self.owners: dict[str, Kernel] = {}
        self.beginning: list[Kernel] = []
        self.begun: list[str] = []
        self.sessions = self.questions = 0
        self._look()

    # -- kernels ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.kernels) < 4)
    @rule()
    def join(self) -> None:
        kernel = Kernel(self.agent.broker)
        self.kernels.append(kernel)
        self.sent[id(kernel)], self.answered[id(kernel)] = [], []
        self._request(kernel, "initialize")

    @precondition(lambda self: self.kernels)
    @rule(pick=PICK)
    def begin(self, pick: int) -> None:
        self._request(self._kernel(pick), "session/new")

    @precondition(lambda self: self.owners)
    @rule(pick=PICK, method=st.sampled_from(["session/prompt", "session/close", "session/set_mode"]))
    def use(self, pick: int, method: str) -> None:
        session = self._owned(pick)
        self._request(self.owners[session], method, sessionId=session)

    @precondition(lambda self: self.kernels and self.begun)
    @rule(pick=PICK, which=PICK)
    def load(self, pick: int, which: int) -> None:
        self._request(self._kernel(pick), "session/load", sessionId=self.begun[which % len(self.begun)])

    @precondition(lambda self: self.kernels)
    @rule(pick=PICK)
    def leave(self, pick: int) -> None:
        kernel = self._kernel(pick)
        self.kernels.remove(kernel)
        self.owners = {session: each for session, each in self.owners.items() if each is not kernel}
        kernel.take()
        kernel.leave()
        self._look()
        assert kernel.take() == []

    @precondition(lambda self: self.kernels)
    @rule(pick=PICK)
    def answer_question(self, pick: int) -> None:
        kernel = self._kernel(pick)
        for message in kernel.got:
            if message.get("method") == "session/request_permission":
                kernel.write(id=message["id"], result={"by": "kernel"})
        self._look()

    # -- the agent --------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.to_answer)
    @rule(pick=PICK, fails=st.booleans())
    def answer(self, pick: int, fails: bool) -> None:
        request = self.to_answer.pop(pick % len(self.to_answer))
        if fails:
            self.agent.fail(request, -32603)
        elif request["method"] == "session/new":
            self.begun.append(request["session"])
            self.agent.answer(request, sessionId=request["session"])
        elif request["method"] == "initialize":
            self.agent.answer(request, agentCapabilities={"sessionCapabilities": {"close": {}}})
        else:
            self.agent.answer(request)
        self._look()

    @rule(which=PICK)
    def update(self, which: int) -> None:
        self.agent.update(self._named(which))
        self._look()

    @rule(which=PICK)
    def ask(self, which: int) -> None:
        self.questions += 1
        self.asked.add(self.questions)
        self.agent.ask(self.questions, self._named(which))
        self._look()

    @rule()
    def pass_time(self) -> None:
        self.agent.pass_time()
        self._look()

    # -- what must hold ---------------------------------------------------------------------------------------------

    @invariant()
    def a_session_that_has_begun_is_its_owners_alone(self) -> None:
        for kernel in self.kernels:
            for message in kernel.take():
                session = message.get("params", {}).get("sessionId")
                if "method" not in message:
                    self._answer(kernel, message)
                elif session in self.owners:
                    assert self.owners[session] is kernel
                if message.get("method") == "session/request_permission":
                    kernel.got.append(message)

    @invariant()
    def only_open_questions_are_with_a_kernel_or_kept(self) -> None:
        if not self.kernels and not self.to_answer:
            assert not self.asked

    def teardown(self) -> None:
        while self.kernels:
            self.leave(0)
        self.pass_time()
        assert not self.asked
        for kernel, sent in self.sent.items():
            assert len(set(self.answered[kernel])) == len(self.answered[kernel]) <= len(sent)

    def _answer(self, kernel: Kernel, message: Json) -> None:
        self.answered[id(kernel)].append(message["id"])
        method, session = dict(self.sent[id(kernel)])[message["id"]].split(" ")
        if "error" in message:
            return
        if method == "session/new":
            self.owners[message["result"]["sessionId"]] = kernel
        elif method == "session/load":
            assert self.owners.get(session, kernel) is kernel
            self.owners[session] = kernel
        elif method == "session/close":
            self.owners.pop(session, None)

    def _request(self, kernel: Kernel, method: str, **params: Any) -> None:
        self.sent[id(kernel)].append((kernel.request(method, **params), f"{method} {params.get('sessionId', '')}"))
        self._look()

    def _look(self) -> None:
        """At what the agent got."""
        for message in self.agent.take():
            if "method" not in message:
                assert message["id"] in self.asked
                self.asked.remove(message["id"])
            elif "id" in message:
                self.to_answer.append({**message, "session": str(self.sessions)})
                self.sessions += message["method"] == "session/new"

    def _kernel(self, pick: int) -> Kernel:
        return self.kernels[pick % len(self.kernels)]

    def _named(self, which: int) -> str:
        """A session of the agent's, or one that never begins."""
        return str(which) if (which := which % (self.sessions + 1)) < self.sessions else "never"

    def _owned(self, pick: int) -> str:
        return sorted(self.owners)[pick % len(self.owners)]


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=examples(60), stateful_step_count=40, derandomize=True)
