"""A client for the demo agent, in memory; whatever the agent sends it is held against the official schema."""

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from copilot_kernel.acp.connection import RpcConnection
from copilot_kernel.acp.jsonrpc import method_not_found
from copilot_kernel.acp.transport import Transport
from copilot_kernel.demo import agent as demo

from ..acp.memory import memory_pair
from ..agent import agent as tested
from ..agent.faults import read_switches

SCHEMA = Path(__file__).parents[1] / "peers/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json"
RESULTS = {
    "initialize": "InitializeResponse",
    "authenticate": "AuthenticateResponse",
    "logout": "LogoutResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/close": "CloseSessionResponse",
    "session/delete": "DeleteSessionResponse",
    "session/prompt": "PromptResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
    "session/set_model": "SetSessionModeResponse",
}
SENT = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "$/cancel_request": "CancelRequestNotification",
    "elicitation/create": "CreateElicitationRequest",
    "elicitation/complete": "CompleteElicitationNotification",
    "fs/read_text_file": "ReadTextFileRequest",
    "fs/write_text_file": "WriteTextFileRequest",
    "terminal/create": "CreateTerminalRequest",
    "terminal/output": "TerminalOutputRequest",
    "terminal/wait_for_exit": "WaitForTerminalExitRequest",
    "terminal/kill": "KillTerminalRequest",
    "terminal/release": "ReleaseTerminalRequest",
}
Answer = str | None | Callable[[], Any]


class Client:
    """Says prompts and answers questions. `heard` holds updates and questions (without the session id), as they came.

    `answers` are used up one by one, then everything is allowed once: an option's id, None for `cancelled`, or an async
    function that returns one of these. `services` answer other requests; these are kept in `served`.
    """

    def __init__(self, transport: Transport, cwd: Path) -> None:
        self.connection = RpcConnection(transport, on_notification=self._hear, on_request=self._answer)
        self.heard: list[Any] = []
        self.answers: list[Answer] = []
        self.services: dict[str, Callable[[Any], Any]] = {}
        self.served: list[Any] = []
        self.asked: list[str] = []
        self.lawful = True
        self.session_id = ""
        self.capabilities: dict[str, Any] = {}
        self._cwd, self._more = cwd, anyio.Event()

    async def begin(self) -> None:
        """A session; what came before its answer stays in `heard`."""
        await self.initialize()
        self.session_id = (await self.new())["sessionId"]

    async def initialize(self) -> Any:
        return await self.request("initialize", {"protocolVersion": 1, "clientCapabilities": self.capabilities})

    async def new(self, *servers: Any) -> Any:
        return await self.request("session/new", {"cwd": str(self._cwd), "mcpServers": list(servers)})

    async def come_back(self, method: str, session_id: str) -> tuple[list[Any], Any]:
        """What `session/load` or `session/resume` tells before its answer, and the answer."""
        before = len(self.heard)
        params = {"sessionId": session_id, "cwd": str(self._cwd), "mcpServers": []}
        answer = await self.request(method, params)
        self.session_id = session_id
        return self.heard[before:], answer

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        self.asked.append(method)
        with anyio.fail_after(10):
            return await self.connection.request(method, params)

    async def prompt(self, *blocks: Any) -> Any:
        """The prompt's answer; texts may be given as they are."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        return await self.request("session/prompt", {"sessionId": self.session_id, "prompt": content})

    async def play(self, *blocks: Any) -> list[Any]:
        """Everything that comes between the prompt and its answer, which is the last; without the usage update."""
        before = len(self.heard)
        answer = await self.prompt(*blocks)
        return [heard for heard in self.heard[before:] if not _is_usage(heard)] + [answer]

    async def cancel(self) -> None:
        await self.connection.notify("session/cancel", {"sessionId": self.session_id})

    async def until(self, found: Callable[[Any], bool]) -> Any:
        """The first of `heard`, old or new, for which `found` is true."""
        with anyio.fail_after(10):
            while True:
                more = self._more = anyio.Event()
                for heard in self.heard:
                    if found(heard):
                        return heard
                await more.wait()

    def _hear(self, method: str, params: Any) -> None:
        self._keep(params["update"] if method == "session/update" else {"method": method, "params": params})

    def _keep(self, heard: Any) -> None:
        self.heard.append(heard)
        self._more.set()

    async def _answer(self, method: str, params: Any) -> Any:
        if method in self.services:
            return await self._serve(method, params)
        if method != "session/request_permission":
            raise method_not_found(method)
        self._keep({name: value for name, value in params.items() if name != "sessionId"})
        answer = self.answers.pop(0) if self.answers else "allow_once"
        try:
            chosen = await answer() if callable(answer) else answer
        except anyio.get_cancelled_exc_class():
            self._keep({"withdrawn": params["toolCall"]["toolCallId"]})
            raise
        return {"outcome": {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}}

    async def _serve(self, method: str, params: Any) -> Any:
        assert params.pop("sessionId", self.session_id) == self.session_id
        self.served.append((method, params))
        try:
            answer = self.services[method](params)
            return await answer if isawaitable(answer) else answer
        except anyio.get_cancelled_exc_class():
            self._keep({"withdrawn": method})
            raise

    def validate(self, validators: Callable[[str], Any]) -> None:
        """All that the agent sent, by the official schema."""
        for message in (json.loads(line) for direction, line in self.connection.log.lines if direction == "<"):
            if "method" in message:
                validators(SENT[message["method"]]).validate(message["params"])
            elif "error" in message:
                validators("Error").validate(message["error"])
            else:
                validators(RESULTS[self.asked[message["id"]]]).validate(message["result"])


def _is_usage(heard: Any) -> bool:
    return isinstance(heard, dict) and heard.get("sessionUpdate") == "usage_update"


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the demo agent remembers, it remembers in a folder of the test's own."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("COPILOT_KERNEL_DEMO_HOME", str(folder))
    return folder


Talking = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def talking(tmp_path: Path) -> Talking:
    """`async with talking() as client`: a session with the demo agent in memory, in a folder of its own.

    With `switches`, and be it an empty one, it is the test agent.
    """

    @asynccontextmanager
    async def talk(
        *switches: str, cwd: Path = tmp_path, begins: bool = True, **capabilities: Any
    ) -> AsyncIterator[Client]:
        run = partial(tested.serve, switches=read_switches(",".join(switches))) if switches else demo.serve
        near, far = memory_pair()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, far)
            client = Client(near, cwd)
            client.capabilities = capabilities
            async with client.connection:
                if begins:
                    await client.begin()
                yield client
            if client.lawful and SCHEMA.exists():
                client.validate(validator)

    return talk


def validator(name: str) -> Any:
    """A validator for one definition of the official schema; skips where that is not installed, fails in CI."""
    if name not in _validators:
        schema = {**official_schema(), "anyOf": [{"$ref": f"#/$defs/{name}"}]}
        _validators[name] = jsonschema.Draft202012Validator(schema)
    return _validators[name]


def official_schema() -> Any:
    if not SCHEMA.exists():
        reason = "the official schema is not installed: npm install --prefix tests/peers"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return json.loads(SCHEMA.read_text("utf-8"))


_validators: dict[str, Any] = {}
