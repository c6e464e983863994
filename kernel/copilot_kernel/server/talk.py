"""One conversation behind sockets: it goes on while nobody is connected, and its prompts run one after the other."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from ..acp.messages import Block, Text
from ..acp.options import short_name
from ..chat import Chat
from ..chat.attachments import mentions
from ..conversation.model import Conversation
from ..errors import CopilotError, UsageError
from ..frontend.chat_runner import CLOSE_LIMIT, ChatRunner
from ..frontend.context import CommandContext
from ..rendering.failure import render_failure
from . import history, slash
from .history import Line
from .telling import Keep
from .voice import Broadcaster, Reader
from .wire import Done, Event, Failed, Message, SessionCreated

MOST_WAITING = 20
"""Prompts behind the one that runs."""
BROKEN = "Something in this server broke; its log says what."
CONTEXT = "The agent does not remember this conversation; its last messages go with the next prompt"
RENAMED = "The agent has forgotten this conversation; its last messages go with this prompt"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a question stays open; seconds after which a conversation without readers is let go of; how many
    conversations there may be.

    `loaded_idle` replaces `idle` where that is longer, for a session that began elsewhere: its notebook needs the lock.
    """

    question: float = 300.0
    idle: float = 1800.0
    talks: int = 100
    loaded_idle: float = 15.0


@dataclass(frozen=True, slots=True)
class Host:
    """What a conversation needs of its server: a desk, what to do with a chat whose session was opened, what to do
    with a home that is not needed any more, where files go, and leave for one turn (raises CopilotError)."""

    command_context: Callable[[], Awaitable[CommandContext]]
    meet: Callable[[Chat], Coroutine[Any, Any, None]]
    leave: Callable[[ChatRunner], Awaitable[None]]
    keep: Keep
    turn: Callable[[], AbstractContextManager[None]] = nullcontext


class ChatSession:
    """`id` is the agent's session, empty until `begin` or `resume` has ended. All methods belong to the loop."""

    def __init__(
        self, command_context: CommandContext, host: Host, limits: Limits, renamed: Callable[[ChatSession, str], None]
    ) -> None:
        self.command_context, self._host, self._limits, self._renamed = command_context, host, limits, renamed
        self.voice = Broadcaster(self.conversation, host.keep, command_context.settings.folder, limits.question)
        self.id, self.used = "", time.monotonic()
        self.loaded = False
        """Its session began elsewhere, and the agent can load it again."""
        self._earlier: tuple[Line, ...] = ()
        """Messages from before this talk, which the agent does not show."""
        self._due = False
        """They go with the next prompt."""
        self._queue: deque[str] = deque()
        self._dropped = 0
        """Of what waited, when it was stopped; each is told its end, in its turn."""
        self._stopped = False
        """Before the prompt that is about to go to the agent was there."""
        self._work: asyncio.Task[None] | None = None
        self._quick: set[asyncio.Task[None]] = set()

    def conversation(self) -> Conversation:
        """As it stands."""
        chat = self.command_context.home.chat
        return chat.conversation if chat else Conversation()

    # -- where it begins and ends -----------------------------------------------------------------------------------

    async def begin(self, earlier: tuple[Line, ...] = ()) -> None:
        """A new session of the agent's; what was said earlier goes with its first prompt. Raises CopilotError."""
        await self.command_context.do(self._host.meet)
        state = await self.command_context.ready()
        self.id, self._earlier, self._due = (state.id if state else ""), earlier, bool(earlier)

    async def resume(self, session_id: str, earlier: tuple[Line, ...] = ()) -> None:
        """Go on with a session by the agent, which may not show what was said `earlier`. Raises CopilotError."""
        self.voice.replays = True
        try:
            await self.command_context.do(lambda chat: chat.resume(session_id, self.voice))
        finally:
            self.voice.replays = False
        self.id, self.loaded = session_id, True
        self._earlier = earlier if not history.messages(self.conversation()) else ()

    async def close(self) -> None:
        """End what runs, in bounded time."""
        for task in (self._work, *self._quick):
            if task is not None:
                task.cancel()
        await self.command_context.home.close(CLOSE_LIMIT)

    async def leave_agent(self) -> None:
        """The same, and the agent may forget what it does not keep on disk."""
        await self._host.leave(self.command_context.home)

    @property
    def running(self) -> bool:
        """A prompt runs, or waits."""
        return self._work is not None and not self._work.done()

    @property
    def last(self) -> tuple[Line, ...]:
        """The last messages of both."""
        return (*self._earlier, *history.recent(self.conversation()))[-history.MOST :]

    @property
    def idle_limit(self) -> float:
        """Seconds after which it is let go of, where nobody listens."""
        return min(self._limits.idle, self._limits.loaded_idle) if self.loaded else self._limits.idle

    def idle(self, seconds: float) -> bool:
        """Nobody has listened or asked for so long."""
        return not self.voice.readers and not self.running and time.monotonic() - self.used > seconds

    # -- readers ----------------------------------------------------------------------------------------------------

    def join(self, reader: Reader, resumed: str = "") -> None:
        """`reader` hears everything from now on, after what it missed."""
        self.used = time.monotonic()
        reader.hear(self.created(resumed))
        self.voice.join(reader, self.last, self._earlier, self.running)
        if self._due:
            reader.hear(Event("notice", {"severity": "info", "title": CONTEXT, "description": ""}))

    def leave(self, reader: Reader) -> None:
        """It hears nothing more; the conversation goes on."""
        self.used = time.monotonic()
        self.voice.readers.discard(reader)

    def created(self, resumed: str = "") -> SessionCreated:
        """Which session this is."""
        chat, state = self.command_context.home.chat, self.conversation().state
        info = chat.info if chat else None
        agent = (info.title or info.name) if info else ""
        return SessionCreated(self.id, resumed, self.running, agent, short_name((state.model if state else None) or ""))

    # -- what readers want ------------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """A prompt or a command; it waits for those before it. Raises UsageError when too many wait."""
        if not text.strip():
            raise UsageError("There is nothing to send.", "Write a prompt, or /help.")
        if len(self._queue) >= MOST_WAITING:
            raise UsageError(f"{MOST_WAITING} messages wait already.", "Wait for the turn to end, or stop it.")
        if self.running and slash.is_quick(text):
            self._spawn_quick(text)
            return
        self._queue.append(text)
        if not self.running:
            self._work = asyncio.create_task(self._run())
        else:
            self._tell_waiting()

    def stop(self) -> None:
        """Cancel the turn that runs, and forget what waits."""
        if self._queue:
            self.voice.notice("warning", f"Not sent, since the turn was stopped: {len(self._queue)} that waited")
            self._dropped += len(self._queue)
            self._queue.clear()
        if not self.command_context.home.cancel():
            self._stopped = True
            asyncio.get_running_loop().call_soon(self._stop_again)

    def _stop_again(self) -> None:
        """A prompt that was just on its way to the agent is there now."""
        if self._stopped and self.command_context.home.cancel():
            self._stopped = False

    def _spawn_quick(self, text: str) -> None:
        task = asyncio.create_task(self._one(text))
        self._quick.add(task)
        task.add_done_callback(self._quick.discard)

    def _tell_waiting(self) -> None:
        self.voice.publish(Event("queued", {"waiting": len(self._queue)}))

    async def _run(self) -> None:
        if not self._queue:  # it was stopped before it could begin
            self._tell(Event("running", {"running": False}))
        self._end_dropped()
        while self._queue:
            text, self._stopped = self._queue.popleft(), False
            self._tell(Event("running", {"running": True}))
            await self._one(text)
            self._end_dropped()
        self.used = time.monotonic()

    def _end_dropped(self) -> None:
        for _ in range(self._dropped):
            self._tell(Done("cancelled"))
        self._dropped = 0

    async def _one(self, text: str) -> None:
        done = Done("error")
        try:
            done = await self._respond(text)
        except CopilotError as error:
            self._tell(failed(error))
        except Exception:
            _log.exception("a message to the chat failed")
            self._tell(Failed(BROKEN))
        finally:
            self.voice.settle()
            if not self._queue and asyncio.current_task() is self._work:
                self._tell(Event("running", {"running": False}))
            self._tell(done)

    async def _respond(self, text: str) -> Done:
        names = tuple(command.name for command in self.conversation().commands)
        command = slash.parse(text, names)
        if command is None:
            return await self._prompt(slash.to_agent(text))
        self._tell(Event("command", {"content": text}))
        self._tell(await slash.run(self.command_context, command))
        return Done("command")

    async def _prompt(self, text: str) -> Done:
        await self._ensure_session()
        if self._stopped:
            return Done("cancelled")
        due, self._due = self._due, False
        context = [Text(history.as_context(self._earlier))] if due else []
        blocks: list[Block] = [*context, Text(text), *mentions(text, self.command_context.settings.folder)]
        with self._host.turn():
            turn = await self.command_context.home.ask(blocks, self.voice)
        return Done(turn.stop_reason, turn.usage)

    async def _ensure_session(self) -> None:
        """An agent that was started again may not remember; then what was said goes with the prompt."""
        last = self.last
        state = await self.command_context.ready()
        if state is None or state.id == self.id:
            return
        await self.command_context.do(self._host.meet)
        before, self.id, self.loaded = self.id, state.id, False
        self._earlier, self._due = last, bool(last)
        self._renamed(self, before)
        self._tell(self.created("context"))
        if last:
            self.voice.notice("warning", RENAMED)

    def _tell(self, message: Message) -> None:
        self.voice.publish(message)


def failed(error: CopilotError) -> Failed:
    """The one form of an error: what happened and what to do, as text and as a picture."""
    text = "\n".join(filter(None, (str(error), error.hint)))
    html = render_failure(error)["text/html"].replace("run this cell again", "try again")
    return Failed(slash.ours(text), slash.ours(html))
