"""An open session: prompts, one at a time, and what the session can be set to.

Spec: prompt-turn, session-modes, session-config-options, session-setup (close).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from ..errors import AgentRefused, ResourceNotFound
from .compose import compose_block, compose_value
from .jsonrpc import INVALID_PARAMS
from .lenient import members
from .messages import AgentInfo, Block, Json, PromptResult, SessionState
from .options import read_options
from .parse import parse_prompt_result
from .wirelog import WireLog

if TYPE_CHECKING:
    from .agent_connection import AgentConnection

OPTIONS_DELAY = 1.0
"""Seconds: some agents answer `session/new` with an id alone, and tell modes and models right after it."""


class Session:
    """`state` is what the agent told when it was opened; what changes later comes as updates, or as answers here."""

    def __init__(self, link: AgentConnection, state: SessionState) -> None:
        self.state = state
        self._link = link
        self._turn = anyio.Lock(fast_acquire=True)
        self._running = False
        self._opened = anyio.current_time()

    @property
    def id(self) -> str:
        return self.state.id

    @property
    def info(self) -> AgentInfo:
        return self._link.info

    @property
    def closed(self) -> anyio.Event:
        """Set when the connection has ended."""
        return self._link.closed

    @property
    def log(self) -> WireLog:
        return self._link.log

    def last_words(self) -> str:
        return self._link.last_words()

    # -- turns ----------------------------------------------------------------------------------------------------

    async def prompt(self, blocks: Sequence[Block]) -> PromptResult:
        """One turn; a second call waits for the first. Cancelling the call cancels the turn, without waiting for it.

        Raises AgentExited, AgentRefused, AuthRequired.
        """
        params = {"sessionId": self.id, "prompt": [compose_block(block) for block in blocks]}
        async with self._turn:
            self._running = True
            try:
                answer = await self._link.request("session/prompt", params, cancel=False, answered=self._answered)
            except anyio.get_cancelled_exc_class():
                self._cancel()
                raise
            return parse_prompt_result(answer)

    async def cancel(self) -> None:
        """End the running turn; its prompt then returns. Does nothing while no turn runs."""
        self._cancel()

    def _cancel(self) -> None:
        """Once a turn, and never after its answer came: agents take a cancel that comes late for the next turn's."""
        if self._running:
            self._running = False
            self._link.post("session/cancel", {"sessionId": self.id})

    def _answered(self) -> None:
        self._running = False

    # -- what it can be set to ------------------------------------------------------------------------------------

    async def set_mode(self, mode_id: str) -> None:
        """`session/set_mode`, for agents that tell modes but no options. Raises AgentRefused, AgentExited."""
        await self._request("session/set_mode", modeId=mode_id)

    async def set_model(self, model_id: str) -> None:
        """`session/set_model`, which the specification has no more; agents that told `models` know it."""
        await self._request("session/set_model", modelId=model_id)

    async def set_option(self, option_id: str, value: str | bool) -> tuple[Json, ...] | None:
        """`session/set_config_option`: the whole new list of options; None if the answer has none.

        Older agents expect `optionId` for `configId`, and do not all say so: invalid parameters are sent once more that
        way. If that is right, it is used as long as the agent lives; otherwise the first error is raised.
        """
        link = self._link
        try:
            answer = await self._set_option(link.option_member, option_id, value)
        except AgentRefused as error:
            if link.option_member != "configId" or error.code != INVALID_PARAMS:
                raise
            answer = await self._set_by_option_id(option_id, value, error)
        options = members(answer).get("configOptions")
        return read_options(options) if isinstance(options, list) else None

    async def close(self) -> None:
        """`session/close`: the agent ends what runs and forgets it in memory; one that is unknown is closed already.

        Raises UsageError where it is not offered, AgentRefused, AgentExited.
        """
        self._link.require("close")
        with suppress(ResourceNotFound):
            await self._request("session/close")

    @property
    def options_delay(self) -> float:
        """Seconds within which the agent may still tell what can be set, if it did not when the session was opened."""
        state = self.state
        if self._link.tells_no_options or state.modes or state.models or state.options:
            return 0
        return max(0, self._opened + OPTIONS_DELAY - anyio.current_time())

    def told_no_options(self) -> None:
        """The agent is not waited for again."""
        self._link.tells_no_options = True

    async def _set_by_option_id(self, option_id: str, value: str | bool, first: AgentRefused) -> Any:
        wants_it = _names_option_id(first)
        try:
            answer = await self._set_option("optionId", option_id, value)
        except AgentRefused as second:
            raise (second if wants_it else first) from None
        self._link.option_member = "optionId"
        return answer

    async def _set_option(self, member: str, option_id: str, value: str | bool) -> Any:
        return await self._request("session/set_config_option", **{member: option_id, **compose_value(value)})

    async def _request(self, method: str, **more: Any) -> Any:
        return await self._link.request(method, {"sessionId": self.id, **more})


def _names_option_id(error: AgentRefused) -> bool:
    return "optionId" in f"{error} {json.dumps(error.data)}"
