"""A client's conversation with the agent: for one request, or kept by name for those that follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from ..acp.messages import Json
from ..chat import Chat, Turn
from ..errors import UsageError
from ..frontend.chat_runner import ChatRunner
from . import prompt, usage
from .answer import Answer
from .catalogue import Model, choose
from .errors import ApiError
from .identifiers import sanitised
from .pool import AT_ENDPOINT
from .schema import Message

if TYPE_CHECKING:
    from .app import CopilotApp


class ApiConversation:
    """One session of the agent. `told` are digests of the messages that it has heard and said; None: unknown."""

    def __init__(self, app: CopilotApp, home: ChatRunner) -> None:
        self.turns = asyncio.Lock()
        self.used = asyncio.get_running_loop().time()
        self.begun = True
        """The agent knows nothing of what came before this request."""
        self._app, self._home = app, home
        self._told: list[str] | None = []
        self._tokens: Json | None = {}
        self._session = ""

    async def open(self, wanted: str) -> Model:
        """The session, set to the mode of the settings and the model that is wanted. Raises CopilotError."""
        return await self._home.do(lambda chat: self._open(chat, wanted))

    async def ask(self, messages: Sequence[Message], answer: Answer, param: str) -> tuple[Turn, Json | None]:
        """One turn, and its tokens. Raises CopilotError, ApiError (about `param`)."""
        fresh = self._fresh(messages)
        blocks = prompt.blocks(fresh, param)
        if prompt.has_images(blocks):
            await self._home.do(lambda chat: _require_images(chat, param))
        told, self._told = self._told, None
        turn = await self._home.ask(blocks, answer)
        self.used = asyncio.get_running_loop().time()
        tokens, self._tokens = usage.of_turn(turn.usage, self._tokens), turn.usage
        if turn.stop_reason != "cancelled" and told is not None:
            said = Message(role="assistant", content=turn.text)
            self._told = [*told, *map(prompt.digest, [*fresh, said])]
        return turn, tokens

    async def prepare(self, messages: Sequence[Message]) -> None:
        """Begin anew, where the client's history is not the one that the agent has."""
        if not self._goes_on(messages):
            await self._home.do(lambda chat: chat.new())
            self._session = ""

    def cancel(self) -> bool:
        """Stop the turn that runs; False if none is at the agent."""
        return self._home.cancel()

    async def close(self) -> None:
        """The agent may forget it."""
        await self._app.pool.leave(self._home)

    async def delete(self) -> None:
        """Nobody can go on with it, so it need not be in the list of the user's sessions."""
        await self._app.pool.forget(self._home)

    # -- what is new ------------------------------------------------------------------------------------------------

    def _goes_on(self, messages: Sequence[Message]) -> bool:
        """The history repeats what the agent has, or leaves it to the agent: then no answer of it is in there."""
        return self._repeats(messages) or all(message.role != "assistant" for message in messages)

    def _repeats(self, messages: Sequence[Message]) -> bool:
        told = self._told
        if told is None:
            return False
        return len(messages) > len(told) and [prompt.digest(each) for each in messages[: len(told)]] == told

    def _fresh(self, messages: Sequence[Message]) -> Sequence[Message]:
        return messages[len(self._told or ()) :] if self._repeats(messages) else messages

    # -- the session ------------------------------------------------------------------------------------------------

    async def _open(self, chat: Chat, wanted: str) -> Model:
        await self._app.meet(chat)
        state = chat.conversation.state
        assert state is not None
        self.begun = state.id != self._session
        if self.begun:
            self._session, self._told, self._tokens = state.id, [], {}
            await self._set_mode(chat)
        model = choose(self._app.catalogue.models, sanitised(wanted) or self._app.defaultModel)
        if state.models and model.agent_id != state.model:
            await chat.set_model(model.agent_id)
        return model

    async def _set_mode(self, chat: Chat) -> None:
        """An agent without such a mode stays in its own."""
        if self._app.agent_mode:
            with suppress(UsageError):
                await chat.set_mode(self._app.agent_mode)


class ConversationCache:
    """All that are kept, by the client's names for them."""

    def __init__(self, app: CopilotApp) -> None:
        self._app = app
        self._kept: dict[str, ApiConversation] = {}
        self._making = asyncio.Lock()

    @asynccontextmanager
    async def of(self, key: str, after: AsyncExitStack) -> AsyncIterator[ApiConversation]:
        """The conversation of this name, one request at a time; without a name, one for this request alone.

        That one is deleted `after` the request was answered: an agent may take its time for it.
        """
        dialogue = await self._find(key)
        if not key:
            after.push_async_callback(dialogue.delete)
        async with dialogue.turns:
            yield dialogue

    async def sweep(self, seconds: float) -> None:
        """Close those that nobody has used for so long."""
        now = asyncio.get_running_loop().time()
        old = [key for key, each in self._kept.items() if not each.turns.locked() and now - each.used > seconds]
        for key in old:
            await self._kept.pop(key).close()

    async def close(self) -> None:
        """Close all of them."""
        kept, self._kept = self._kept, {}
        await asyncio.gather(*(dialogue.close() for dialogue in kept.values()))

    async def _find(self, key: str) -> ApiConversation:
        async with self._making:
            dialogue = self._kept.get(key) if key else None
            if dialogue is None:
                dialogue = ApiConversation(self._app, await self._app.pool.home(self._app.http_settings, AT_ENDPOINT))
                if key:
                    await self._keep(key, dialogue)
            return dialogue

    async def _keep(self, key: str, dialogue: ApiConversation) -> None:
        self._kept[key] = dialogue
        idle = sorted((each.used, name) for name, each in self._kept.items() if name != key and not each.turns.locked())
        if len(self._kept) > self._app.kept_sessions:
            if not idle:
                del self._kept[key]
                raise ApiError(429, "Too many conversations are kept (CopilotApp.kept_sessions).", Retry_After="10")
            await self._kept.pop(idle[0][1]).close()


async def _require_images(chat: Chat, param: str) -> None:
    if chat.info is not None and "image" not in chat.info.prompt:
        raise ApiError(400, "This agent takes no images.", param)
