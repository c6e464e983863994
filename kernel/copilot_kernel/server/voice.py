"""What the readers of one conversation hear: each change of it once, and all that matters to who joins later."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..conversation.model import Conversation, Entry
from ..errors import trace
from ..permissions.question import Answer, Question
from ..rendering.markdown import to_html
from ..rendering.markup import escape
from . import history
from .asked import Asked
from .drawing import HtmlBatcher
from .history import Line
from .outbox import newest
from .telling import EntryEncoder, Keep, Names
from .wire import ApproveTool, Delta, Drawn, Event, Message, SandboxResult

NOT_HERE = "The agent wants to have a form filled in, which this chat cannot show; it was declined"
MOST_AGAIN = 500
"""Entries that are told again to who joins."""
_DRAWN_ANYWAY = frozenset({"thought", "plan", "prompt", "notice", "resource_link"} | {"tool_start", "tool_update"})
"""Events that readers of pictures see as pictures."""

_log = logging.getLogger(__name__)


class Reader(Protocol):
    """One socket. `pictures`: it wants entries as HTML, not as deltas."""

    pictures: bool

    def hear(self, message: Message) -> None:
        """Send it when there is time; never waits."""


class Broadcaster:
    """A `chat.View`. `now` gives the conversation as it stands; while `replays`, what is told was said before."""

    def __init__(self, now: Callable[[], Conversation], keep: Keep, cwd: str, limit: float) -> None:
        names = Names()
        self._now, self.replays = now, False
        self._telling = EntryEncoder(names, keep)
        self._drawing = HtmlBatcher(self.publish, lambda: any(each.pictures for each in self.readers), cwd)
        self._asked = Asked(names, self.publish, limit)
        self.readers: set[Reader] = set()
        self._state: dict[str, Any] = {}
        self._status = ""

    # -- readers ----------------------------------------------------------------------------------------------------

    def join(self, reader: Reader, last: Sequence[Line], earlier: Sequence[Line], live: bool) -> None:
        """`reader` gets the last messages, what the turn that runs (`live`) did so far, and its open questions.

        `earlier` are those of the last that are no entries of the conversation, and so have no other picture.
        """
        self._drawing.draw()
        talk = self._now()
        if lines := earlier if reader.pictures else last:
            reader.hear(Event("history", {"messages": [_line(each, reader.pictures) for each in lines]}))
        if reader.pictures:
            self._show_again(reader, talk)
        elif live:
            self._tell_again(reader, talk)
        self._state = _states(talk)
        for name, fields in self._state.items():
            reader.hear(Event(name, fields))
        for request in self._asked.requests:
            reader.hear(request)
        self.readers.add(reader)

    def publish(self, message: Message) -> None:
        """To every reader, in the form that it wants."""
        for reader in tuple(self.readers):
            if _is_for(message, reader.pictures):
                reader.hear(message)

    def asks(self, call_id: str) -> bool:
        """This question is open."""
        return any(request.call_id == call_id for request in self._asked.requests)

    def answer(self, action: ApproveTool) -> None:
        """See `Asked.answer`."""
        self._asked.answer(action)

    def settle(self) -> None:
        """The response is over: send what waits."""
        self._drawing.settle()
        self._tell_state()

    def _show_again(self, reader: Reader, talk: Conversation) -> None:
        first = next((each.id for each in history.messages(talk)), 0)
        entries = talk.entries[max(first, len(talk.entries) - MOST_AGAIN) :]
        for picture in self._drawing.whole(entries):
            reader.hear(picture)
        for entry in entries:
            for message in self._telling.kept.get(entry.id, ()):
                reader.hear(message)

    def _tell_again(self, reader: Reader, talk: Conversation) -> None:
        entries = talk.of_turn(talk.turn)[-MOST_AGAIN:]
        for message in newest(message for entry in entries for message in self._telling.again(entry)):
            reader.hear(message)

    # -- the view ---------------------------------------------------------------------------------------------------

    def show(self, entry: Entry) -> None:
        """`entry` is new or changed."""
        try:
            told = tuple(self._telling.tell(entry))
            if not self.replays:
                self._drawing.put(entry)
                self._tell_all(told)
        # As in a cell: a bug in telling one entry must not end the turn, nor the connection that it came by.
        except Exception as error:
            _log.error("an entry could not be told: %s %d: %s", type(entry).__name__, entry.id, trace(error))

    def status(self, words: str) -> None:
        """A passing line."""
        if words != self._status:
            self._status = words
            self.publish(Event("status", {"content": words}))

    async def ask(self, question: Question) -> Answer:
        """What was answered on any socket."""
        self._drawing.draw()
        return await self._asked.ask(question)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """There is no message for it: declined, and said so."""
        self.notice("warning", NOT_HERE, request.message)
        return ElicitationAnswer("decline", reason="this chat cannot ask for it")

    def notice(self, severity: str, title: str, description: str = "") -> None:
        """A line that is no entry of the conversation; readers of pictures get it, too."""
        said = {"severity": severity, "title": title, "description": description}
        for reader in tuple(self.readers):
            reader.hear(Event("notice", said))

    def _tell_all(self, told: tuple[Message, ...]) -> None:
        for message in told:
            self.publish(message)
        self._tell_state()

    def _tell_state(self) -> None:
        for name, fields in _states(self._now()).items():
            if self._state.get(name) != fields:
                self._state[name] = fields
                self.publish(Event(name, fields))


def _is_for(message: Message, pictures: bool) -> bool:
    if isinstance(message, Drawn):
        return pictures
    if isinstance(message, Delta | SandboxResult):
        return not pictures
    return not (pictures and isinstance(message, Event) and message.event in _DRAWN_ANYWAY)


def _line(line: Line, pictures: bool) -> dict[str, str]:
    html = escape(line.content) if line.role == "user" else to_html(line.content)
    return {"role": line.role, "content": line.content, **({"html": html} if pictures else {})}


def _states(talk: Conversation) -> dict[str, dict[str, Any]]:
    """Events that say how the session is now, as far as the agent tells."""
    found: dict[str, dict[str, Any]] = {}
    if talk.state is not None and (talk.state.mode or talk.state.model):
        found["mode"] = {"mode": talk.state.mode or "", "model": talk.state.model or ""}
    if talk.usage is not None:
        found["usage"] = {"used": talk.usage.used, "size": talk.usage.size, "cost": talk.usage.cost}
    return found
