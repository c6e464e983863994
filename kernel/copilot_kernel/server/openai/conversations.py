"""A client's conversation with the agent: for one request, or kept by name for those that follow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace

from ...acp.messages import Json
from ...acp.results import lists_modes
from ...chat import Chat, TurnOutcome, View
from ...commands.chat_runner import ChatRunner
from ...config import Settings
from ...errors import UsageError
from ..catalogue import ModelObject, choose
from ..errors import ApiError, LimitExceeded
from ..pool import API_PLACE, AgentPool
from ..store import ConversationStore
from . import prompt
from .schema import ChatMessage, ImagePart, tokens_of_turn

NO_IMAGES = "messages.{}.content: this agent does not accept images."


class ApiConversation:
    """One session of the agent, for one request at a time (`lock`)."""

    def __init__(self, pool: AgentPool, runner: ChatRunner, agent_mode: str, idle_seconds: float) -> None:
        self.lock = asyncio.Lock()
        self.last_used = time.monotonic()
        self.idle_seconds = idle_seconds
        self.is_new = True
        """The agent knows nothing of what came before this request."""
        self.runner = runner
        self._pool, self._agent_mode = pool, agent_mode
        # Digests of the messages that the agent has heard and said; None: unknown.
        self._history: list[str] | None = []
        self._tokens: Json | None = {}
        self._session = ""

    @property
    def is_idle(self) -> bool:
        """No request uses it."""
        return not self.lock.locked()

    async def open(self, messages: Sequence[ChatMessage], wanted: str) -> ModelObject:
        """Open the session for these messages, and set the model that is `wanted`. Raises CopilotError.

        The session is a new one if the client's history is not the agent's. Messages without any answer of an
        assistant leave the history to the agent.
        """
        has_answers = any(message.role == "assistant" for message in messages)
        if has_answers and not self._continues(messages):
            await self.runner.do(lambda chat: chat.new())
            self._session = ""
        return await self.runner.do(lambda chat: self._open(chat, wanted))

    async def ask(self, messages: Sequence[ChatMessage], view: View) -> TurnOutcome:
        """One turn, whose `usage` is its own. Raises CopilotError, ApiError."""
        known = len(self._history or ()) if self._continues(messages) else 0
        images = await self.runner.do(_takes_images)
        if not images and any(isinstance(part, ImagePart) for part in messages[-1].content or ()):
            raise ApiError(400, NO_IMAGES.format(len(messages) - 1), "messages")
        blocks = prompt.blocks(messages[known:], images=images)
        history, self._history = self._history, None
        turn = await self.runner.ask(blocks, view)
        if turn.failure is not None:
            raise turn.failure
        self.last_used = time.monotonic()
        tokens, self._tokens = tokens_of_turn(turn.usage, self._tokens), turn.usage
        if turn.stop_reason != "cancelled" and history is not None:
            answer = ChatMessage(role="assistant", content=turn.text)
            self._history = [*history, *map(prompt.digest, [*messages[known:], answer])]
        return replace(turn, usage=tokens)

    def _continues(self, messages: Sequence[ChatMessage]) -> bool:
        """The messages begin with all that the agent knows, and go on."""
        history = self._history
        if history is None or len(messages) <= len(history):
            return False
        return [prompt.digest(each) for each in messages[: len(history)]] == history

    async def _open(self, chat: Chat, wanted: str) -> ModelObject:
        await self._pool.open_session(chat)
        state = chat.conversation.state
        assert state is not None
        self.is_new = state.id != self._session
        if self.is_new:
            self._session, self._history, self._tokens = state.id, [], {}
            if self._agent_mode and lists_modes(await chat.options.offered("modes")):
                with suppress(UsageError):  # an agent without such a mode stays in its own
                    await chat.options.set_mode(self._agent_mode)
        models = self._pool.catalogue.models
        own_id = choose(models, wanted)
        if state.models and own_id != state.model:
            await chat.options.set_model(own_id)
        return models[own_id]


class ConversationCache:
    """The conversations over HTTP, by the clients' names for them; `settings` are those of new ones."""

    def __init__(self, pool: AgentPool, settings: Settings, agent_mode: str, size: int, idle_seconds: float) -> None:
        self.settings = settings
        self.store: ConversationStore[ApiConversation] = ConversationStore(
            size, lambda each, names: pool.end_session(each.runner)
        )
        self._pool, self._agent_mode, self._idle_seconds = pool, agent_mode, idle_seconds
        self._creating = asyncio.Lock()

    @asynccontextmanager
    async def use(self, name: str, after: AsyncExitStack) -> AsyncIterator[ApiConversation]:
        """The conversation of this name, for one request at a time; without a name, one for this request alone.

        That one is deleted `after` the request was answered: an agent may take its time for it. Raises LimitExceeded.
        """
        async with self._creating:
            conversation = self.store.find(name) if name else None
            if conversation is None:
                conversation = await self._create(name)
        if not name:
            after.push_async_callback(self._pool.end_session, conversation.runner, delete=True)
        async with conversation.lock:
            yield conversation

    async def _create(self, name: str) -> ApiConversation:
        if name and not await self.store.make_room():
            raise LimitExceeded("Too many conversations are open (CopilotApp.kept_sessions).", 10)
        runner = self._pool.runner(self.settings, API_PLACE)
        conversation = ApiConversation(self._pool, runner, self._agent_mode, self._idle_seconds)
        if name:
            self.store.add(name, conversation)
        return conversation


async def _takes_images(chat: Chat) -> bool:
    return chat.info is None or "image" in chat.info.prompt
