"""One conversation behind sockets: it continues while nobody is connected, and runs one prompt at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ...acp.messages import Block, TextBlock
from ...acp.results import short_name
from ...chat import Chat, TurnEnd, TurnOutcome
from ...chat.attachments import mentions
from ...commands.command_context import CommandContext
from ...config import Settings
from ...conversation.model import Conversation
from ...errors import CopilotError, UsageError
from ...rendering.plain import one_line
from ..catalogue import choose
from ..limits import Limits
from ..pool import CHAT_PLACE, AgentPool
from . import chat_commands
from .broadcaster import Broadcaster, Subscriber
from .feed import SaveFile
from .history import MAX_HISTORY_MESSAGES, Line, as_context, last_lines, last_messages
from .prompts import PromptQueue
from .wire import SocketMessage, done, event, failure, notice

INTERNAL_ERROR = "The server failed; see its log."
CONTEXT_NEXT = "The agent does not remember this conversation; its last messages go with the next prompt"
CONTEXT_NOW = "The agent has forgotten this conversation; its last messages go with this prompt"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChatLimits:
    """Seconds that a question stays open, seconds after which an idle conversation is released, and how many
    conversations there may be.

    `loaded_idle` replaces `idle` if that is longer, for a session that began elsewhere: its notebook needs the lock.
    """

    question: float = 300.0
    idle: float = 1800.0
    conversations: int = 100
    loaded_idle: float = 15.0


@dataclass(frozen=True, slots=True)
class ChatServices:
    """Services of the server for conversations: they run on agents of `pool`, under the rules of `settings`."""

    pool: AgentPool
    limits: Limits
    settings: Settings
    save_file: SaveFile
    default_model: str = ""

    def new_context(self) -> CommandContext:
        """The context of a new conversation."""
        return CommandContext(self.pool.runner(self.settings, CHAT_PLACE), lambda: self.settings)

    async def open_session(self, chat: Chat) -> None:
        """Open the session of a conversation, with the default model. Raises CopilotError."""
        await self.pool.open_session(chat)
        if self.default_model and (await chat.options.offered("models")).models:
            with suppress(UsageError):
                await chat.options.set_model(choose(self.pool.catalogue.models, self.default_model))


class ChatSession:
    """`id` is the agent's session, empty until `begin` or `resume` has ended. All methods belong to the loop.

    `on_renamed` is called when the agent has forgotten the session and another one took its place.
    """

    def __init__(
        self,
        context: CommandContext,
        services: ChatServices,
        limits: ChatLimits,
        on_renamed: Callable[[ChatSession], None],
    ) -> None:
        self.context = context
        self.broadcaster = Broadcaster(self.conversation, services.save_file, context.settings.folder, limits.question)
        self.prompts = PromptQueue(self._respond, context.chat_runner.cancel, self.broadcaster.publish)
        self.id, self.last_used = "", time.monotonic()
        self.idle_seconds = limits.idle
        """Seconds after which it is released when idle."""
        self._services, self._limits, self._on_renamed = services, limits, on_renamed
        # Messages from before this session, which the agent does not show.
        self._earlier: tuple[Line, ...] = ()
        # They go with the next prompt.
        self._needs_context = False

    def conversation(self) -> Conversation:
        """Conversation as it stands."""
        chat = self.context.chat_runner.chat
        return chat.conversation if chat else Conversation()

    # -- its life ---------------------------------------------------------------------------------------------------

    async def begin(self, earlier: tuple[Line, ...] = ()) -> None:
        """Open a new session; what was said earlier goes with its first prompt. Raises CopilotError."""
        await self.context.chat_runner.do(self._services.open_session)
        state = await self.context.ready()
        self.id, self._earlier, self._needs_context = (state.id if state else ""), earlier, bool(earlier)
        self.idle_seconds = self._limits.idle

    async def resume(self, session_id: str, earlier: tuple[Line, ...] = ()) -> None:
        """Have the agent load a session; it may not show what was said `earlier`. Raises CopilotError."""
        await self.context.chat_runner.do(lambda chat: chat.resume(session_id, self.broadcaster))
        self.id, self.idle_seconds = session_id, min(self._limits.idle, self._limits.loaded_idle)
        self._earlier = earlier if not last_messages(self.conversation()) else ()

    async def close(self) -> None:
        """End what runs, in bounded time. The agent may forget what it does not keep on disk."""
        self.prompts.close()
        await self._services.pool.end_session(self.context.chat_runner)

    @property
    def is_idle(self) -> bool:
        """Nobody is connected, and nothing runs."""
        return not self.broadcaster.subscribers and not self.prompts.is_running

    @property
    def last(self) -> tuple[Line, ...]:
        """The last messages of both sides."""
        return (*self._earlier, *last_lines(self.conversation()))[-MAX_HISTORY_MESSAGES:]

    # -- subscribers ------------------------------------------------------------------------------------------------

    def join(self, subscriber: Subscriber, resumed: str = "") -> None:
        """Send what `subscriber` missed, and everything from now on.

        `resumed` says how the session continues: `live` (it is still open), `loaded` (by the agent) or `context` (its
        last messages go with the next prompt); empty for a new one.
        """
        self.last_used = time.monotonic()
        subscriber.receive(self._created(resumed))
        self.broadcaster.join(subscriber, self.last, self._earlier, self.prompts.is_running)
        if self._needs_context:
            subscriber.receive(notice("info", CONTEXT_NEXT))

    def leave(self, subscriber: Subscriber) -> None:
        """Send nothing more to `subscriber`; the conversation continues."""
        self.last_used = time.monotonic()
        self.broadcaster.subscribers.discard(subscriber)

    def _created(self, resumed: str) -> SocketMessage:
        chat, state = self.context.chat_runner.chat, self.conversation().state
        info = chat.info if chat else None
        members = {
            "session_id": self.id,
            "resumed": resumed,
            "running": self.prompts.is_running,
            "agent": one_line(info.title or info.name) if info else "",
            "model": short_name((state.model if state else None) or ""),
        }
        return SocketMessage("session_created", members)

    # -- responses --------------------------------------------------------------------------------------------------

    async def _respond(self, text: str) -> SocketMessage:
        """Return what ends the response."""
        end = done("error")
        try:
            end = await self._run(text)
        except CopilotError as error:
            self._fail(error)
        except Exception:
            _log.exception("a message to the chat failed")
            self.broadcaster.publish(failure(INTERNAL_ERROR))
        finally:
            self.broadcaster.settle()
            self.last_used = time.monotonic()
        return end

    def _fail(self, error: CopilotError) -> None:
        self.broadcaster.settle()  # what was said before stands above it
        self.broadcaster.publish(chat_commands.failure(error))

    async def _run(self, text: str) -> SocketMessage:
        names = tuple(command.name for command in self.conversation().commands)
        command = chat_commands.parse(text, names)
        if command is None:
            return await self._prompt(chat_commands.to_agent(text))
        self.broadcaster.publish(event("command", content=text))
        self.broadcaster.publish(await chat_commands.run(self.context, command))
        return done("command")

    async def _prompt(self, text: str) -> SocketMessage:
        await self._ensure_session()
        if self.prompts.is_stopped:
            return done("cancelled")
        blocks: list[Block] = [TextBlock(text), *mentions(text, self.context.settings.folder)]
        if self._needs_context:
            blocks.insert(0, TextBlock(as_context(self._earlier)))
        with self._services.limits.turn():
            self._needs_context = False
            turn = await self.context.chat_runner.ask(blocks, self.broadcaster)
        if turn.failure is not None:
            self._fail(turn.failure)
        return await self._done(turn)

    async def _done(self, turn: TurnOutcome) -> SocketMessage:
        chat = self.context.chat_runner.chat
        end = await chat.end_of(turn) if chat else TurnEnd.reported(turn, self.context.settings.folder)
        html = self.broadcaster.summaries[turn.number] = end.footer()
        return done(turn.stop_reason, html, usage=turn.usage, changes=end.changes_in_words())

    async def _ensure_session(self) -> None:
        """An agent that was restarted may not remember; then what was said goes with the prompt."""
        last = self.last
        state = await self.context.ready()
        if state is None or state.id == self.id:
            return
        await self.begin(last)
        self._on_renamed(self)
        self.broadcaster.publish(self._created("context"))
        if last:
            self.broadcaster.publish(notice("warning", CONTEXT_NOW))
