"""The answer to one request while it comes: pieces of text for a reader that may be slow. Nobody is asked anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..chat import Turn
from ..conversation.model import Entry, Message
from ..permissions import policy
from ..permissions.question import Answer as Decision
from ..permissions.question import Question

NOBODY = "nobody can be asked over HTTP"
BETWEEN = "\n\n"
FINISH = {"max_tokens": "length", "max_turn_requests": "length", "refusal": "content_filter"}


class Answer:
    """A view of one turn: what the agent says goes to `pieces`, its questions are rejected.

    `on_text` is called once, when the first text comes.
    """

    def __init__(self, on_text: Callable[[], None] = lambda: None) -> None:
        self._on_text: Callable[[], None] | None = on_text
        self._read: dict[int, int] = {}
        self._waiting: list[str] = []
        self._news = asyncio.Event()
        self._over = False

    # -- what the chat shows ----------------------------------------------------------------------------------------

    def show(self, entry: Entry) -> None:
        """See `View`. Of what the agent shows, only what it says is text of the answer."""
        if not isinstance(entry, Message) or entry.speaker != "agent" or self._over:
            return
        begins = entry.id not in self._read and bool(self._read)
        said = [*entry.text.parts(self._read.get(entry.id, 0))]
        self._waiting += [BETWEEN] * begins + said
        self._read[entry.id] = entry.text.count
        self._news.set()
        if self._on_text is not None and any(said):
            self._on_text()
            self._on_text = None

    def status(self, words: str) -> None:
        """Nobody would read it."""

    async def ask(self, question: Question) -> Decision:
        """No."""
        return Decision(policy.reject(question.options), "nobody", NOBODY)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """No."""
        return ElicitationAnswer("decline", reason=NOBODY)

    # -- what the client reads --------------------------------------------------------------------------------------

    def end(self) -> None:
        """Nothing more comes."""
        self._over = True
        self._news.set()

    async def pieces(self, patience: float) -> AsyncIterator[str]:
        """What came since the last piece, joined; an empty one after so many seconds of silence."""
        while True:
            await self._wait(patience)
            said, self._waiting = "".join(self._waiting), []
            if said or not self._over:
                yield said
            elif self._over:
                return

    async def first(self, patience: float) -> None:
        """Until there is something to read, or the end, or the patience has ended."""
        await self._wait(patience)

    async def _wait(self, patience: float) -> None:
        if not self._waiting and not self._over:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), patience)
            except TimeoutError:
                return


def finish_reason(turn: Turn) -> str:
    """OpenAI's word for how a turn ended."""
    return FINISH.get(turn.stop_reason, "stop")
