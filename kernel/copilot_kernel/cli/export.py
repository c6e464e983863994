"""`copilot-kernel export`: a past conversation as a notebook, as the agent replays it or from Copilot's event log."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..acp.messages import SessionInfo, SessionState
from ..chat import Chat
from ..config import Settings
from ..conversation.model import Attachment, Conversation, Entry, Message
from ..errors import CopilotError
from ..permissions.question import PermissionAnswer, Question
from ..rendering.plain import clean
from ..store.log import ReadStats
from ..store.sessions import StoredSession, folders, stored
from ..store.turns import PastTurn, turns
from . import notebook
from .notebook import About
from .sessions import IndexedSession, find_session, list_by_agent, load_settings, session_index, where, with_chat

LOG_AGENT = "Copilot"
"""The agent that wrote the logs."""
REPLAY_SECONDS = 300.0
"""How long an agent may take to replay a conversation."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What the agent replayed, and its own name."""

    agent: str
    turns: tuple[PastTurn, ...]


def run(arguments: argparse.Namespace) -> int:
    """Find the session, get its conversation, write it."""
    settings = load_settings(arguments.agent)
    target = Path(arguments.output)
    notebook.refuse_existing(target, arguments.force)
    session = _find(settings, arguments)
    played = None if arguments.from_log else _replay(settings, session)
    if played is not None:
        about = About(session.id, played.agent, "replay", session.cwd, session.title)
        _report(target, notebook.write(target, played.turns, about, arguments.force), "replayed by the agent")
    elif session.log is not None:
        _export_log(session, session.log, target, arguments.force)
    return 0


def _find(settings: Settings, arguments: argparse.Namespace) -> IndexedSession:
    """An id that is on disk needs no agent to be found."""
    places = folders(os.environ, arguments.config_dir)
    logs = stored(places)
    infos: tuple[SessionInfo, ...] = ()
    looked_in = where(places)
    if not arguments.from_log and arguments.session not in {log.id for log in logs}:
        try:
            infos = list_by_agent(settings, here=False)
            looked_in += ", and asked the agent"
        except CopilotError as error:
            looked_in += f"\nThe agent could not list its sessions: {error}"
    return find_session(session_index(logs, infos), arguments.session, looked_in)


def _export_log(session: IndexedSession, log: StoredSession, target: Path, force: bool) -> None:
    tally = ReadStats()
    about = About(session.id, LOG_AGENT, "log", session.cwd, session.title)
    written = notebook.write(target, turns(log.path, tally), about, force)
    lines = "line was" if tally.damaged == 1 else "lines were"
    damage = f"; {tally.damaged:,} damaged {lines} left out" if tally.damaged else ""
    _report(target, written, f"from {log.path}{damage}")


def _report(target: Path, written: int, how: str) -> None:
    if not written:
        raise CopilotError("This session is empty; no notebook was written.")
    print(clean(f"{target}: {written} prompt{'s' * (written != 1)}, {how}"))


# -- as the agent replays it ----------------------------------------------------------------------------------------


def _replay(settings: Settings, session: IndexedSession) -> Replay | None:
    """None if only the log has it. Raises CopilotError if there is no log either."""
    if session.cwd and Path(session.cwd).is_dir():
        settings = replace(settings, cwd=session.cwd)

    async def resume(chat: Chat) -> Replay:
        turn = await chat.resume(session.id, _Unattended())
        is_copilot = chat.info is not None and chat.info.name == "Copilot"
        return Replay(turn.agent, tuple(split(chat.conversation.entries, session.id, one_chunk_each=is_copilot)))

    try:
        late = f"The agent did not load the session within {REPLAY_SECONDS:g} s."
        played = with_chat(settings, REPLAY_SECONDS, late, resume)
        if not played.turns:
            raise CopilotError("The agent loaded the session, but replayed nothing.")
    except CopilotError as error:
        if session.log is None:
            raise
        print(clean(f"copilot-kernel: reading the event log instead: {error}"), file=sys.stderr)
        return None
    return played


def split(entries: Sequence[Entry], session: str, *, one_chunk_each: bool = False) -> Iterator[PastTurn]:
    """A turn for each time that the user began to speak; what comes before the first is one without a prompt.

    Mode and model of a turn are unknown. Consecutive prompts, without an answer between them, can be told apart only
    if the agent sends `one_chunk_each`.
    """
    starts = [at for at, entry in enumerate(entries) if at == 0 or (_by_user(entry) and not _by_user(entries[at - 1]))]
    number = 0
    for start, end in zip(starts, [*starts[1:], len(entries)], strict=False):
        part = tuple(entries[start:end])
        *unanswered, answered = _prompts(part, one_chunk_each)
        for prompt in unanswered:
            number += 1
            yield PastTurn(prompt, Conversation((), turn=number), SessionState(session), "end_turn")
        number += 1
        yield PastTurn(answered, Conversation(part, turn=number), SessionState(session), "end_turn")


def _prompts(entries: Sequence[Entry], one_chunk_each: bool) -> list[str]:
    texts = [entry.text for entry in entries if isinstance(entry, Message) and entry.speaker == "user"]
    if one_chunk_each:
        return [part for text in texts for part in text.parts()] or [""]
    return ["\n\n".join(map(str, texts))]


def _by_user(entry: Entry) -> bool:
    return isinstance(entry, Message | Attachment) and entry.speaker == "user"


class _Unattended:
    """A view without a reader: the conversation is read when it is whole, and nothing is allowed meanwhile."""

    def show(self, entry: Entry) -> None: ...

    def status(self, words: str) -> None: ...

    async def ask(self, question: Question) -> PermissionAnswer:
        return PermissionAnswer(None, "nobody", "nothing runs while a conversation is exported")

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        return ElicitationAnswer("decline", reason="nobody can be asked here")
