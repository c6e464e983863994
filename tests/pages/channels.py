"""Connections to pages in memory."""

import asyncio
from collections.abc import Callable
from typing import Any

from copilot_kernel.output.cell import Request

Message = dict[str, Any]


class Channel:
    """The connection to a page, which answers as long as it is one of `answering`, and calls with
    `results`, or what those functions of the arguments return."""

    def __init__(self, session: str, answering: set[str], **results: Any) -> None:
        self.session, self._answering, self._results = session, answering, results
        self.sent: list[Message] = []

    def send(self, data: Message) -> None:
        self.sent.append(data)
        for each in data.get("calls", ()):
            result = self._results.get(each["op"], {})
            self.says(replies=[{"call": each["call"], "result": result(each["args"]) if callable(result) else result}])

    def receive(self, received: Callable[[Message, Request | None], None], closed: Callable[[], None]) -> None:
        self.received, self.closed = received, closed

    def says(self, request: Request | None = None, **data: Any) -> None:
        if self.session in self._answering:
            asyncio.get_running_loop().call_soon(lambda: self.received(data, request))

    def close(self) -> None:
        pass
