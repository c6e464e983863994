"""`copilot-kernel export`: a past conversation as a notebook, as the agent replays it or from Copilot's event log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..acp.messages import SessionState
from ..chat import Chat, Unattended
from ..config import Settings
from ..conversation.model import Attachment, Conversation, Entries, Entry, Message
from ..errors import CopilotError
from ..rendering.plain import clean
from ..store.session_logs import folders, stored
from ..store.turns import PastTurn, turns
from . import notebook
from .notebook import Past
from .sessions import IndexedSession, find_session, session_index, settings_with, where, with_chat

NO_QUESTIONS = "an export asks no questions"
EMPTY = "This session is empty; no notebook was written."
REPLAY_SECONDS = 300.0
"""Time that an agent may take to replay a conversation."""


def run(arguments: argparse.Namespace) -> int:
    """Find the session, get its conversation, write it."""
    settings = settings_with(arguments.agent)
    target = Path(arguments.output)
    notebook.refuse_existing(target, arguments.force)
    session = _find(settings, arguments)
    past = None if arguments.from_log else _replay(settings, session)
    past, origin = (past, "replayed by the agent") if past else _logged(session)
    written = notebook.write(target, past, arguments.force)
    if not written:
        raise CopilotError(EMPTY)
    print(clean(f"{target}: {written} prompt{'s' * (written != 1)}, {origin}"))
    return 0


def _find(settings: Settings, arguments: argparse.Namespace) -> IndexedSession:
    """An id that is on disk needs no agent to be found."""
    places = folders(settings.environment, arguments.config_dir)
    logs = stored(places)
    ask = not arguments.from_log and arguments.session not in {log.id for log in logs}
    sessions, problem = session_index(logs, settings, ask=ask)
    looked_in = where(places) + (f"\n{problem}" if problem else ", and asked the agent" if ask else "")
    return find_session(sessions, arguments.session, looked_in)


def _logged(session: IndexedSession) -> tuple[Past, str]:
    """Return the conversation of Copilot's event log; without a log, it was replayed, or the export has failed."""
    assert session.log is not None
    past = Past(session.id, "Copilot", "log", session.cwd, session.title, turns(session.log.path))
    return past, f"from {session.log.path}"


# -- as the agent replays it ----------------------------------------------------------------------------------------


def _replay(settings: Settings, session: IndexedSession) -> Past | None:
    """Replay a conversation; None if only the log has it. Raises CopilotError if there is no log either."""
    if session.cwd and Path(session.cwd).is_dir():
        settings = replace(settings, cwd=session.cwd)

    async def resume(chat: Chat) -> Past:
        turn = await chat.resume(session.id, Unattended(NO_QUESTIONS))
        is_copilot = chat.info is not None and chat.info.is_copilot
        replayed = tuple(split(chat.conversation.entries, session.id, one_chunk_each=is_copilot))
        if not replayed:
            raise CopilotError("The agent loaded the session, but replayed nothing.")
        return Past(session.id, turn.agent, "replay", session.cwd, session.title, replayed)

    try:
        late = f"The agent did not load the session within {REPLAY_SECONDS:g} s."
        return with_chat(settings, REPLAY_SECONDS, late, resume)
    except CopilotError as error:
        if session.log is None:
            raise
        print(clean(f"copilot-kernel: reading the event log instead: {error}"), file=sys.stderr)
        return None


def split(entries: Sequence[Entry], session: str, *, one_chunk_each: bool = False) -> Iterator[PastTurn]:
    """A turn for each time that the user began to speak; what comes before the first is one without a prompt.

    Mode and model of a turn are unknown. Consecutive prompts, without an answer between them, are separable only
    if the agent sends `one_chunk_each`.
    """
    starts = [at for at, entry in enumerate(entries) if at == 0 or (_by_user(entry) and not _by_user(entries[at - 1]))]
    number = 0
    for start, end in zip(starts, [*starts[1:], len(entries)], strict=False):
        part = tuple(entries[start:end])
        *unanswered, answered = _prompts(part, one_chunk_each)
        for prompt in unanswered:
            number += 1
            yield PastTurn(prompt, Conversation(turn=number), SessionState(session), "end_turn")
        number += 1
        yield PastTurn(answered, Conversation(Entries(part), turn=number), SessionState(session), "end_turn")


def _prompts(entries: Sequence[Entry], one_chunk_each: bool) -> list[str]:
    texts = [entry.text for entry in entries if isinstance(entry, Message) and entry.speaker == "user"]
    if one_chunk_each:
        return [part for text in texts for part in text.parts()] or [""]
    return ["\n\n".join(map(str, texts))]


def _by_user(entry: Entry) -> bool:
    return isinstance(entry, Message | Attachment) and entry.speaker == "user"
