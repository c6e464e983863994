"""Kernels and an agent for a broker in memory: lines in, lines out."""

import json
from collections.abc import Callable
from typing import Any

from copilot_kernel.agentd.broker import Broker

Json = dict[str, Any]
NOBODY = {"outcome": {"outcome": "cancelled"}}
"""The answer to a permission request that nobody is there to answer."""
CAPABILITIES = {"sessionCapabilities": {"close": {}}}


def refused(id: int, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


class Kernel:
    """Remembers what it gets. Its request ids begin at 100 for each, as different kernels may use the same."""

    grace = 5.0

    def __init__(self, broker: Broker) -> None:
        self.got: list[Json] = []
        self.disconnected = ""
        self._broker, self._number = broker, 99
        broker.join(self)

    def send(self, line: bytes) -> None:
        self.got.append(json.loads(line))

    def disconnect(self, why: str) -> None:
        self.disconnected = why

    def write(self, **message: Any) -> None:
        self._broker.take(self, json.dumps({"jsonrpc": "2.0", **message}).encode())

    def request(self, method: str, **params: Any) -> int:
        self._number += 1
        self.write(id=self._number, method=method, params=params)
        return self._number

    def notify(self, method: str, **params: Any) -> None:
        self.write(method=method, params=params)

    def leave(self) -> None:
        self._broker.leave(self)

    def take(self) -> list[Json]:
        """What came since the last time, without the number of kernels."""
        got, self.got = self.got, []
        return [each for each in got if each.get("method") != "_copilot_kernel/clients"]


class Agent:
    """The `Host` of a broker, and the agent behind it."""

    def __init__(self, answer_form: str = "nested") -> None:
        self.got: list[Json] = []
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.socket_given_up = False
        self.ended = ""
        self.broker = Broker(self, answer_form)

    def send(self, line: bytes) -> None:
        self.got.append(json.loads(line))

    def later(self, seconds: float, work: Callable[[], None]) -> None:
        self.timers.append((seconds, work))

    def give_up_socket(self) -> None:
        self.socket_given_up = True

    def end(self, why: str) -> None:
        self.ended = self.ended or why

    def pass_time(self) -> None:
        """All timers run out."""
        timers, self.timers = self.timers, []
        for _, work in timers:
            work()

    def write(self, **message: Any) -> None:
        self.broker.take_from_agent(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def update(self, session: str, text: str = "x") -> Json:
        message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "text": text}}
        self.broker.take_from_agent(json.dumps(message).encode())
        return message

    def ask(self, id: int | str, session: str, method: str = "session/request_permission") -> Json:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"sessionId": session}}
        self.broker.take_from_agent(json.dumps(message).encode())
        return message

    def take(self, method: str = "") -> list[Json]:
        """What came since the last time, or of it the messages with this method."""
        got, self.got = self.got, []
        return [each for each in got if method in ("", each.get("method"))]

    def asked(self, kernel: Kernel, method: str, **params: Any) -> Json:
        """All that comes of this request."""
        kernel.request(method, **params)
        (request,) = self.take()
        return request

    def answer(self, request: Json, **result: Any) -> None:
        self.write(id=request["id"], result=result)

    def fail(self, request: Json, code: int, message: str = "no") -> None:
        self.write(id=request["id"], error={"code": code, "message": message})

    def joined(self, session: str = "") -> Kernel:
        """A kernel that has introduced itself, with a session of this id."""
        kernel = Kernel(self.broker)
        kernel.request("initialize")
        for request in self.take("initialize"):
            self.answer(request, agentCapabilities=CAPABILITIES)
        if session:
            kernel.request("session/new")
            (request,) = self.take("session/new")
            self.answer(request, sessionId=session)
        kernel.take()
        return kernel
