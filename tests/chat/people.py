"""Who sits before the cells of these tests, and how they ask."""

from collections.abc import Callable
from typing import Any

import anyio
from copilot_kernel.acp.elicitation import Elicitation, ElicitationAnswer
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import Chat, TurnOutcome
from copilot_kernel.conversation.model import Entry, Message, Notice, ToolCall
from copilot_kernel.permissions.ledger import Ledger
from copilot_kernel.permissions.question import PermissionAnswer, Question

from ..limits import LIMIT


class Person:
    """A view that remembers the newest look of each entry, and answers by kind; without a kind it waits for ever."""

    attended = True

    def __init__(self, kind: str | None = "allow_once") -> None:
        self.kind = kind
        self.entries: dict[int, Entry] = {}
        self.questions: list[Question] = []
        self.statuses: list[str] = []
        self.elicitations: list[Elicitation] = []
        self.answer = ElicitationAnswer("decline")
        self.begun = anyio.Event()
        self.asked = anyio.Event()
        self.heard = anyio.Event()

    def show(self, entry: Entry) -> None:
        self.entries[entry.id] = entry
        self.begun.set()
        if isinstance(entry, Message) and entry.speaker == "agent":
            self.heard.set()

    def status(self, words: str) -> None:
        self.statuses.append(words)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        self.elicitations.append(request)
        return self.answer

    async def ask(self, question: Question) -> PermissionAnswer:
        self.questions.append(question)
        self.asked.set()
        if self.kind is None:
            await anyio.sleep_forever()
        return PermissionAnswer(next(option for option in question.options if option.kind == self.kind), "you", "you")

    def of(self, kind: type[Entry]) -> list[Any]:
        return [entry for _, entry in sorted(self.entries.items()) if isinstance(entry, kind)]

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [(call.status, call.decision) for call in self.of(ToolCall)]

    @property
    def notices(self) -> list[str]:
        return [entry.title for entry in self.of(Notice)]

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(entry.speaker, str(entry.text)) for entry in self.of(Message)]


async def ask(chat: Chat, prompt: str, person: Person | None = None) -> TurnOutcome:
    """Raises what the turn ended with."""
    with anyio.fail_after(LIMIT):
        turn = await chat.ask([TextBlock(prompt)], person or Person())
    if turn.failure is not None:
        raise turn.failure
    return turn


async def cancelled(
    chat: Chat, prompt: str, person: Person, when: Callable[[], anyio.Event], presses: int = 1, apart: float = 1.0
) -> TurnOutcome:
    """The turn, cancelled as soon as the event `when` has come; the presses are so many seconds apart."""
    turns: list[TurnOutcome] = []

    async def run() -> None:
        turns.append(await ask(chat, prompt, person))

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await when().wait()
            for number in range(presses):
                chat.cancel(at=1_000.0 + number * apart)
    return turns[0]


def ledger_of(chat: Chat) -> Ledger:
    """What was decided so far."""
    return chat.permissions.approvals.ledger
