"""A client for the demo agent, in memory."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.connection import RpcConnection
from copilot_kernel.acp.jsonrpc import method_not_found
from copilot_kernel.acp.transport import Transport
from copilot_kernel.demo import scenes
from copilot_kernel.demo.agent import serve

from ..acp import conftest as acp
from ..acp.memory import memory_pair
from ..limits import LIMIT

typescript_sdk, schema, valid = acp.typescript_sdk, acp.schema, acp.valid
Answer = str | None | Callable[[], Any]


class Client:
    """Sends prompts and answers questions. `received` are the updates and questions in order, without the session id.

    `answers` are used up one by one, then everything is allowed once: an option's id, None for `cancelled`, or an async
    function that returns one of these. `asked` are the methods of the requests by their ids.
    """

    def __init__(self, transport: Transport, cwd: Path) -> None:
        self.connection = RpcConnection(transport, on_notification=self._receive, on_request=self._answer)
        self.received: list[Any] = []
        self.answers: list[Answer] = []
        self.asked: list[str] = []
        self.session_id = ""
        self._cwd, self._more = cwd, anyio.Event()

    async def begin(self) -> Any:
        """Open a session; what came before its answer stays in `received`."""
        await self.request("initialize", {"protocolVersion": 1})
        new = await self.request("session/new", {"cwd": str(self._cwd), "mcpServers": []})
        self.session_id = new["sessionId"]
        return new

    async def restore(self, method: str, session_id: str) -> tuple[list[Any], Any]:
        """What comes before the answer to `session/load` or `session/resume`, and the answer."""
        before, self.session_id = len(self.received), session_id
        answer = await self.request(method, {"cwd": str(self._cwd), "mcpServers": []})
        return self.received[before:], answer

    async def request(self, method: str, params: Any) -> Any:
        """The answer to a request about the session, unless `params` name another one."""
        self.asked.append(method)
        with anyio.fail_after(LIMIT):
            return await self.connection.request(method, {"sessionId": self.session_id, **params})

    async def prompt(self, *blocks: Any) -> Any:
        """The prompt's answer; texts may be given as they are."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        return await self.request("session/prompt", {"prompt": content})

    async def play(self, *blocks: Any) -> list[Any]:
        """All about the conversation that comes between the prompt and its answer, which is the last."""
        before, answer = len(self.received), await self.prompt(*blocks)
        others = ("usage_update", "session_info_update")
        return [each for each in self.received[before:] if each.get("sessionUpdate") not in others] + [answer]

    async def cancel(self) -> None:
        await self.connection.notify("session/cancel", {"sessionId": self.session_id})

    async def until(self, found: Callable[[Any], bool]) -> Any:
        """The first of `received`, old or new, for which `found` is true."""
        with anyio.fail_after(LIMIT):
            while True:
                more = self._more = anyio.Event()
                for received in self.received:
                    if found(received):
                        return received
                await more.wait()

    def _receive(self, method: str, params: Any) -> None:
        self._keep(params["update"])

    def _keep(self, received: Any) -> None:
        self.received.append(received)
        self._more.set()

    async def _answer(self, method: str, params: Any) -> Any:
        if method != "session/request_permission":
            raise method_not_found(method)
        self._keep({name: value for name, value in params.items() if name != "sessionId"})
        answer = self.answers.pop(0) if self.answers else "allow_once"
        chosen = await answer() if callable(answer) else answer
        return {"outcome": {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}}


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo agent keeps its sessions in a folder of the test's own."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("COPILOT_KERNEL_DEMO_HOME", str(folder))
    return folder


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """`acts([name, argument, …], …)` is a prompt that plays these."""
    usual = scenes.choose
    monkeypatch.setattr(scenes, "choose", lambda text: json.loads(text) if text.startswith("{") else usual(text))
    return lambda *acts: json.dumps({"acts": acts})


Connected = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def connected(tmp_path: Path) -> Connected:
    """`async with connected() as client`: a session with the demo agent in memory, in a folder of its own."""

    @asynccontextmanager
    async def connect(cwd: Path = tmp_path) -> AsyncIterator[Client]:
        near, far = memory_pair()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, far)
            client = Client(near, cwd)
            async with client.connection:
                await client.begin()
                yield client

    return connect
