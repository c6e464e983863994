"""An open session: prompts, one at a time, and what the session can be set to.

Spec: prompt-turn, session-modes, session-config-options, session-setup (close).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import anyio

from ..errors import AgentRefused, ResourceNotFound
from .compose import compose_block, compose_value
from .connection import WireLog
from .jsonrpc import INVALID_PARAMS
from .lenient import as_dict
from .messages import AgentInfo, Block, Json, PromptResult, SessionState
from .parse import read_options
from .results import parse_prompt_result

OPTIONS_DELAY = 1.0
"""Seconds: some agents answer `session/new` with an id alone, and send modes and models right after it."""


class SessionConnection(Protocol):
    """What a session needs of its `AgentConnection`."""

    info: AgentInfo
    option_member: str
    has_no_options: bool

    @property
    def closed(self) -> anyio.Event: ...
    @property
    def log(self) -> WireLog: ...
    async def request(self, method: str, params: Json, **more: Any) -> Any: ...
    def post(self, method: str, params: Json) -> None: ...
    def require(self, name: str) -> None: ...


class Session:
    """`state` is what the agent sent when the session was opened; later changes come as updates, or as results here."""

    def __init__(self, connection: SessionConnection, state: SessionState) -> None:
        self.state = state
        self._connection = connection
        self._turn = anyio.Lock(fast_acquire=True)
        self._running = False
        self._opened = anyio.current_time()

    @property
    def id(self) -> str:
        return self.state.id

    @property
    def info(self) -> AgentInfo:
        return self._connection.info

    @property
    def closed(self) -> anyio.Event:
        """Set when the connection has ended."""
        return self._connection.closed

    @property
    def log(self) -> WireLog:
        return self._connection.log

    # -- turns ----------------------------------------------------------------------------------------------------

    async def prompt(self, blocks: Sequence[Block]) -> PromptResult:
        """Run one turn; a second call waits for the first. Cancelling the call cancels the turn, without waiting.

        Raises AgentExited, AgentRefused, AuthRequired.
        """
        params = {"sessionId": self.id, "prompt": [compose_block(block) for block in blocks]}
        async with self._turn:
            self._running = True
            try:
                answer = await self._connection.request(
                    "session/prompt", params, cancel=False, answered=self._set_answered
                )
            except anyio.get_cancelled_exc_class():
                self._cancel()
                raise
            return parse_prompt_result(answer)

    async def cancel(self) -> None:
        """End the running turn; its prompt then returns. Does nothing while no turn runs."""
        self._cancel()

    def _cancel(self) -> None:
        """Sent once a turn, and never after its answer came: agents apply a late cancel to the next turn."""
        if self._running:
            self._running = False
            self._connection.post("session/cancel", {"sessionId": self.id})

    def _set_answered(self) -> None:
        self._running = False

    # -- what it can be set to ------------------------------------------------------------------------------------

    async def set_mode(self, mode_id: str) -> None:
        """`session/set_mode`, for agents that offer modes but no options. Raises AgentRefused, AgentExited."""
        await self._request("session/set_mode", modeId=mode_id)

    async def set_model(self, model_id: str) -> None:
        """`session/set_model`, removed from the specification; agents that list `models` support it."""
        await self._request("session/set_model", modelId=model_id)

    async def set_option(self, option_id: str, value: str | bool) -> tuple[Json, ...] | None:
        """`session/set_config_option`; returns the whole new list of options, or None if the answer has none.

        Older agents expect `optionId` for `configId`, and not all of them say so: after "invalid params", that is tried
        once. If it works, it is used from then on; otherwise the first error is raised.
        """
        try:
            answer = await self._set_option(self._connection.option_member, option_id, value)
        except AgentRefused as error:
            if self._connection.option_member != "configId" or error.code != INVALID_PARAMS:
                raise
            answer = await self._set_by_option_id(option_id, value, error)
        options = as_dict(answer).get("configOptions")
        return read_options(options) if isinstance(options, list) else None

    async def close(self) -> None:
        """`session/close`: the agent ends what runs and frees its memory; an unknown session counts as closed.

        Raises UsageError if the agent does not offer it, AgentRefused, AgentExited.
        """
        self._connection.require("close")
        with suppress(ResourceNotFound):
            await self._request("session/close")

    @property
    def options_delay(self) -> float:
        """Seconds in which options may still arrive, if there were none in the answer that opened the session."""
        state = self.state
        if self._connection.has_no_options or state.modes or state.models or state.options:
            return 0
        return max(0, self._opened + OPTIONS_DELAY - anyio.current_time())

    def set_no_options(self) -> None:
        """Do not wait for this agent's options again."""
        self._connection.has_no_options = True

    async def _set_by_option_id(self, option_id: str, value: str | bool, first: AgentRefused) -> Any:
        names_it = "optionId" in f"{first} {json.dumps(first.data)}"
        try:
            answer = await self._set_option("optionId", option_id, value)
        except AgentRefused as second:
            raise (second if names_it else first) from None
        self._connection.option_member = "optionId"
        return answer

    async def _set_option(self, member: str, option_id: str, value: str | bool) -> Any:
        return await self._request("session/set_config_option", **{member: option_id, **compose_value(value)})

    async def _request(self, method: str, **more: Any) -> Any:
        return await self._connection.request(method, {"sessionId": self.id, **more})
