"""A past conversation as the agent tells it again when its session is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import anyio

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..acp.messages import SessionState
from ..chat import Chat
from ..config import Settings
from ..conversation.model import Attachment, Conversation, Entry, Message
from ..errors import AgentStartFailed, CopilotError
from ..permissions.question import Answer, Question
from ..store.past import Past
from .shelf import at_once

LIMIT = 300.0
"""Seconds that an agent may take to tell a conversation again."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What the agent told, and its own name."""

    agent: str
    turns: tuple[Past, ...]


async def replayed(settings: Settings, session: str) -> Replay | CopilotError:
    """The conversation of a session of the agent's; the error as a value."""
    outcome: Replay | CopilotError
    outcome = AgentStartFailed(f"The agent did not load the session within {LIMIT:g} s.")
    with anyio.move_on_after(LIMIT):
        async with Chat(settings, retry=at_once()) as chat:
            try:
                turn = await chat.resume(session, _Nobody())
            except CopilotError as error:
                outcome = error  # not raised here: a task group would wrap it in a group
            else:
                outcome = Replay(turn.agent, tuple(split(chat.conversation.entries, session, _is_copilot(chat))))
    return outcome


def split(entries: Sequence[Entry], session: str, one_chunk_each: bool = False) -> Iterator[Past]:
    """A turn for each time that the user began to speak; what comes before the first is one without a prompt.

    Nobody tells in which mode or by which model a turn was. Prompts in a row, without an answer between them, can be
    told apart only if the agent tells each one in one chunk.
    """
    starts = [at for at, entry in enumerate(entries) if _of_user(entry) and (at == 0 or not _of_user(entries[at - 1]))]
    if not entries:
        return
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    spoken = (entries[start:end] for start, end in zip(starts, [*starts[1:], len(entries)], strict=True))
    told = (each for part in spoken for each in _told(tuple(part), one_chunk_each))
    for number, (prompt, part) in enumerate(told, 1):
        yield Past(prompt, Conversation(part, turn=number), SessionState(session), "end_turn")


def _told(part: tuple[Entry, ...], one_chunk_each: bool) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    """The last prompt is the one that was answered."""
    *unanswered, prompt = _prompts(part, one_chunk_each)
    yield from ((each, ()) for each in unanswered)
    yield prompt, part


def _prompts(entries: Sequence[Entry], one_chunk_each: bool) -> list[str]:
    said = [entry.text for entry in entries if isinstance(entry, Message) and entry.speaker == "user"]
    return [part for text in said for part in text.parts()] or [""] if one_chunk_each else ["\n\n".join(map(str, said))]


def _is_copilot(chat: Chat) -> bool:
    return chat.info is not None and chat.info.name == "Copilot"


def _of_user(entry: Entry) -> bool:
    return isinstance(entry, Message | Attachment) and entry.speaker == "user"


class _Nobody:
    """A view without a reader: the conversation is read when it is whole, and nothing is allowed meanwhile."""

    def show(self, entry: Entry) -> None: ...

    def status(self, words: str) -> None: ...

    async def ask(self, question: Question) -> Answer:
        return Answer(None, "nobody", "nothing runs while a conversation is exported")

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        return ElicitationAnswer("decline", reason="nobody can be asked here")
