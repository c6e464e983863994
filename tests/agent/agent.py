"""The test agent's side of one connection: the demo agent behind a front that has the faults of the switches."""

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup
from copilot_kernel.acp.connection import RpcConnection
from copilot_kernel.acp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RequestFailed, method_not_found
from copilot_kernel.acp.transport import Transport
from copilot_kernel.demo import agent as demo
from copilot_kernel.demo.demo_session import MENU, Json
from copilot_kernel.demo.stage import Stage

from .directives import find_script, perform
from .faults import Switches, trips
from .menu import choices
from .scripts import DIRECTIVES
from .signin import SignIn

OPENING = ("session/new", "session/load", "session/resume")
CHOOSING = {"session/set_mode": "modes", "session/set_model": "models", "session/set_config_option": "configOptions"}
"""Methods by what of the session's description they change."""


async def serve(transport: Transport, switches: Switches | None = None) -> None:
    """Be the agent of one client until it closes the connection."""
    await demo.serve(
        transport, lambda connection, tasks: FaultyAgent(connection, tasks, Client(connection, transport), switches)
    )


class Client:
    """The connection, with what directives need beside it. `capabilities` are the client's."""

    def __init__(self, connection: RpcConnection, transport: Transport) -> None:
        self.request, self.closed, self.transport = connection.request, connection.closed, transport
        self.capabilities: Json = {}
        self.has_options = True
        self._notify = connection.notify

    async def notify(self, method: str, params: Json) -> None:
        update = params.get("update")
        if isinstance(update, dict) and update.get("sessionUpdate") == "config_option_update" and not self.has_options:
            return
        await self._notify(method, params)


class FaultyAgent(demo.DemoAgent):
    """The faults of the `switches` are described in `faults.py`."""

    def __init__(
        self, connection: RpcConnection, tasks: TaskGroup, client: Client, switches: Switches | None = None
    ) -> None:
        self._switches = switches or {}
        self._sign_in = SignIn(self._switches)
        usual = {"no-modes": "modes", "no-options": "configOptions"}
        self._described = {name for switch, name in usual.items() if switch not in self._switches}
        self._described |= {"models"} & self._switches.keys()
        client.has_options = "configOptions" in self._described
        menu = partial(choices, self._switches, client.capabilities)
        super().__init__(client, tasks, menu)
        self._faulty: Mapping[str, Callable[[Json], Awaitable[Any]]] = {
            "initialize": self._introduce,
            "authenticate": self._sign_in.authenticate,
            "logout": self._sign_in.logout,
            "session/list": self._page,
            "session/set_model": self._set_model,
            "session/set_config_option": self._set_named,
            **{method: partial(self._open, method) for method in OPENING},
        }

    async def act(self, stage: Stage) -> None:
        """Run the prompt's script, if it has one."""
        script = find_script(stage.blocks)
        await (super().act(stage) if script is None else perform(stage, script, DIRECTIVES))

    def on_request(self, method: str, params: Any) -> Any:
        if "never-answers" in self._switches:
            return anyio.sleep_forever()
        if not self._has(method):
            raise method_not_found(method)
        if method in self._faulty and isinstance(params, dict):
            return self._faulty[method](params)
        return super().on_request(method, params)

    def _has(self, method: str) -> bool:
        """A method that is not advertised is not there either."""
        if method in CHOOSING:
            return CHOOSING[method] in self._described
        return f"no-{method.rpartition('/')[2]}" not in self._switches

    async def _introduce(self, params: Json) -> Json:
        self._client.capabilities |= params.get("clientCapabilities") or {}
        answer = copy.deepcopy(await super().on_request("initialize", params))
        if name := self._switches.get("name"):
            answer["agentInfo"] |= {"name": name, "title": name}
        can = answer["agentCapabilities"]
        can["auth"] = {"logout": {}}
        can["loadSession"] = "no-load" not in self._switches
        can["mcpCapabilities"]["http"] = "mcp-http" in self._switches
        can["sessionCapabilities"] = {
            name: {} for name in can["sessionCapabilities"] if f"no-{name}" not in self._switches
        }
        return {**answer, "authMethods": self._sign_in.offered(self._client.capabilities)}

    # -- sessions -------------------------------------------------------------------------------------------------

    async def _open(self, method: str, params: Json) -> Json:
        self._sign_in.require()
        await self._serve(params.get("mcpServers") or [])
        fault = f"{method.rpartition('/')[2]}-fails"
        if trips(self._switches, fault, "1" if method == "session/new" else "inf"):
            details = {"details": f"demo agent: {fault}, as I was asked"}
            raise RequestFailed(INTERNAL_ERROR, "Internal error", details)
        answer = await super().on_request(method, params)
        if "models" in self._switches:
            model = next(option for option in answer["configOptions"] if option["id"] == "model")
            models = [{"modelId": each["value"], "name": each["name"]} for each in MENU[1]["options"]]
            answer["models"] = {"currentModelId": model["currentValue"], "availableModels": models}
        hidden = set(CHOOSING.values()) - self._described
        return {name: value for name, value in answer.items() if name not in hidden}

    async def _serve(self, servers: Sequence[Json]) -> None:
        """Fail or hang, as an agent may that cannot reach the servers."""
        if servers and "mcp-fails" in self._switches:
            names = ", ".join(server["name"] for server in servers)
            raise RequestFailed(INTERNAL_ERROR, f"demo agent: cannot reach the MCP server {names}")
        if servers and "mcp-hangs" in self._switches:
            await anyio.sleep_forever()

    async def _page(self, params: Json) -> Json:
        """The cursor is the last id of the page before."""
        answer = await super().on_request("session/list", params)
        if "page" not in self._switches:
            return answer
        size, ids = int(self._switches["page"]), [session["sessionId"] for session in answer["sessions"]]
        start = ids.index(params["cursor"]) + 1 if "cursor" in params else 0
        page = answer["sessions"][start : start + size]
        return {"sessions": page, **({"nextCursor": page[-1]["sessionId"]} if len(ids) > start + size else {})}

    async def _set_model(self, params: Json) -> Json:
        more = {"configId": "model", "value": params.get("modelId")}
        await super().on_request("session/set_config_option", {**params, **more})
        return {}

    async def _set_named(self, params: Json) -> Json:
        if "option-id" in self._switches:
            if "optionId" not in params:
                raise RequestFailed(INVALID_PARAMS, "Invalid params: missing field `optionId`")
            params = {**params, "configId": params["optionId"]}
        return await super().on_request("session/set_config_option", params)
