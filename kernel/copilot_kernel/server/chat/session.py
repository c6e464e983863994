"""One conversation behind sockets: it continues while nobody is connected, and runs one prompt at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from ...acp.messages import Block, TextBlock
from ...acp.results import short_name
from ...chat import Chat, Turn
from ...chat.attachments import mentions
from ...chat.turn_record import footer_bundles
from ...config import Settings
from ...conversation.model import Conversation
from ...errors import CopilotError, UsageError
from ...frontend.chat_runner import CLOSE_LIMIT
from ...frontend.command_context import CommandContext
from ...rendering.changes import TurnChanges
from ...rendering.footer import Footer, render_footer
from ...rendering.plain import one_line
from ..catalogue import choose
from ..limits import Limits
from ..pool import CHAT_PLACE, AgentPool
from . import commands
from .broadcaster import Broadcaster, Subscriber
from .encoder import MAX_HISTORY_MESSAGES, Line, SaveFile, as_context, last_lines, last_messages
from .wire import Done, Event, Failure, SessionCreated

MAX_WAITING = 20
"""Messages behind the one that runs."""
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
    """What conversations need of their server: they run on agents of `pool`, under the rules of `settings`."""

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
        self._publish = self.broadcaster.publish
        self.id, self.last_used = "", time.monotonic()
        self._services, self._limits, self._on_renamed = services, limits, on_renamed
        # Its session began elsewhere, and the agent can load it again.
        self._is_loaded = False
        # Messages from before this session, which the agent does not show.
        self._earlier: tuple[Line, ...] = ()
        # They go with the next prompt.
        self._needs_context = False
        self._queue: deque[str] = deque()
        # Messages that waited when the turn was stopped; each gets its `Done`, in its turn.
        self._dropped = 0
        # Before the prompt that runs next had reached the agent.
        self._stopped = False
        self._work: asyncio.Task[None] | None = None
        self._immediate: set[asyncio.Task[None]] = set()

    def conversation(self) -> Conversation:
        """As it stands."""
        chat = self.context.chat_runner.chat
        return chat.conversation if chat else Conversation()

    # -- its life ---------------------------------------------------------------------------------------------------

    async def begin(self, earlier: tuple[Line, ...] = ()) -> None:
        """Open a new session; what was said earlier goes with its first prompt. Raises CopilotError."""
        await self.context.do(self._services.open_session)
        state = await self.context.ready()
        self.id, self._earlier, self._needs_context = (state.id if state else ""), earlier, bool(earlier)

    async def resume(self, session_id: str, earlier: tuple[Line, ...] = ()) -> None:
        """Have the agent load a session; it may not show what was said `earlier`. Raises CopilotError."""
        self.broadcaster.replays = True
        try:
            await self.context.do(lambda chat: chat.resume(session_id, self.broadcaster))
        finally:
            self.broadcaster.replays = False
        self.id, self._is_loaded = session_id, True
        self._earlier = earlier if not last_messages(self.conversation()) else ()

    async def close(self) -> None:
        """End what runs, in bounded time."""
        for task in (self._work, *self._immediate):
            if task is not None:
                task.cancel()
        await self.context.chat_runner.close(CLOSE_LIMIT)

    async def release(self) -> None:
        """The same; the agent may also forget what it does not keep on disk."""
        await self._services.pool.end_session(self.context.chat_runner)

    @property
    def is_running(self) -> bool:
        """A message runs, or waits."""
        return self._work is not None and not self._work.done()

    @property
    def is_idle(self) -> bool:
        """Nobody is connected, and nothing runs."""
        return not self.broadcaster.subscribers and not self.is_running

    @property
    def idle_seconds(self) -> float:
        """Seconds after which it is released when idle."""
        return min(self._limits.idle, self._limits.loaded_idle) if self._is_loaded else self._limits.idle

    @property
    def last(self) -> tuple[Line, ...]:
        """The last messages of both sides."""
        return (*self._earlier, *last_lines(self.conversation()))[-MAX_HISTORY_MESSAGES:]

    # -- subscribers ------------------------------------------------------------------------------------------------

    def join(self, subscriber: Subscriber, resumed: str = "") -> None:
        """Send what `subscriber` missed, and everything from now on."""
        self.last_used = time.monotonic()
        subscriber.receive(self._created(resumed))
        self.broadcaster.join(subscriber, self.last, self._earlier, self.is_running)
        if self._needs_context:
            subscriber.receive(Event("notice", {"severity": "info", "title": CONTEXT_NEXT, "description": ""}))

    def leave(self, subscriber: Subscriber) -> None:
        """Send nothing more to `subscriber`; the conversation continues."""
        self.last_used = time.monotonic()
        self.broadcaster.subscribers.discard(subscriber)

    def _created(self, resumed: str) -> SessionCreated:
        chat, state = self.context.chat_runner.chat, self.conversation().state
        info = chat.info if chat else None
        agent = one_line(info.title or info.name) if info else ""
        model = short_name((state.model if state else None) or "")
        return SessionCreated(self.id, resumed, self.is_running, agent, model)

    # -- what subscribers send --------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Queue a prompt or a command. Raises UsageError when too many wait."""
        if not text.strip():
            raise UsageError("The prompt is empty.", "Write a prompt, or /help.")
        if len(self._queue) >= MAX_WAITING:
            raise UsageError(f"{MAX_WAITING} messages are already waiting.", "Wait for the turn to end, or stop it.")
        if self.is_running and commands.is_immediate(text):
            task = asyncio.create_task(self._handle(text))
            self._immediate.add(task)
            task.add_done_callback(self._immediate.discard)
            return
        self._queue.append(text)
        if self.is_running:
            self._publish(Event("queued", {"waiting": len(self._queue)}))
        else:
            self._work = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Cancel the turn that runs, and drop what waits."""
        if self._queue:
            self.broadcaster.notice("warning", f"Not sent because the turn was stopped: {len(self._queue)} waiting")
            self._dropped += len(self._queue)
            self._queue.clear()
        if not self.context.chat_runner.cancel():
            self._stopped = True
            asyncio.get_running_loop().call_soon(self._stop_again)

    def _stop_again(self) -> None:
        """Cancel a prompt that was on its way to the agent."""
        if self._stopped and self.context.chat_runner.cancel():
            self._stopped = False

    async def _run(self) -> None:
        if not self._queue:  # it was stopped before it could begin
            self._publish(Event("running", {"running": False}))
        self._end_dropped()
        while self._queue:
            text, self._stopped = self._queue.popleft(), False
            self._publish(Event("running", {"running": True}))
            await self._handle(text)
            self._end_dropped()
        self.last_used = time.monotonic()

    def _end_dropped(self) -> None:
        for _ in range(self._dropped):
            self._publish(Done("cancelled"))
        self._dropped = 0

    async def _handle(self, text: str) -> None:
        done = Done("error")
        try:
            done = await self._respond(text)
        except CopilotError as error:
            self._fail(error)
        except Exception:
            _log.exception("a message to the chat failed")
            self._publish(Failure(INTERNAL_ERROR))
        finally:
            self.broadcaster.settle()
            if not self._queue and asyncio.current_task() is self._work:
                self._publish(Event("running", {"running": False}))
            self._publish(done)

    def _fail(self, error: CopilotError) -> None:
        self.broadcaster.settle()  # what was said before stands above it
        self._publish(commands.failure(error))

    async def _respond(self, text: str) -> Done:
        names = tuple(command.name for command in self.conversation().commands)
        command = commands.parse(text, names)
        if command is None:
            return await self._prompt(commands.to_agent(text))
        self._publish(Event("command", {"content": text}))
        self._publish(await commands.run(self.context, command))
        return Done("command")

    async def _prompt(self, text: str) -> Done:
        await self._ensure_session()
        if self._stopped:
            return Done("cancelled")
        blocks: list[Block] = [TextBlock(text), *mentions(text, self.context.settings.folder)]
        if self._needs_context:
            blocks.insert(0, TextBlock(as_context(self._earlier)))
        with self._services.limits.turn():
            self._needs_context = False
            turn = await self.context.chat_runner.ask(blocks, self.broadcaster)
        if turn.failure is not None:
            self._fail(turn.failure)
        return await self._done(turn)

    async def _done(self, turn: Turn) -> Done:
        changes = await self.context.chat_runner.changes(turn) or TurnChanges()
        footer = render_footer(Footer(unasked=turn.unasked_calls, standing=turn.standing, changes=changes)) or {}
        shown = footer_bundles(replace(turn, undo=""), changes, timed=True)
        html = self.broadcaster.summaries[turn.number] = "".join(each["text/html"] for each in shown)
        return Done(turn.stop_reason, turn.usage, footer.get("text/plain"), html)

    async def _ensure_session(self) -> None:
        """An agent that was restarted may not remember; then what was said goes with the prompt."""
        last = self.last
        state = await self.context.ready()
        if state is None or state.id == self.id:
            return
        await self.context.do(self._services.open_session)
        self.id, self._is_loaded = state.id, False
        self._earlier, self._needs_context = last, bool(last)
        self._on_renamed(self)
        self._publish(self._created("context"))
        if last:
            self.broadcaster.notice("warning", CONTEXT_NOW)
