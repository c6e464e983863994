"""A `/` at the start of a prompt: agents take what follows it for a command, so it must be meant as one.

What a command changes that we rely on is asked about, or refused. So is a command of which nobody knows what it
changes; see `permissions/agent_changes.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ..acp.agent_connection import Session
from ..acp.messages import Block, Json, PermissionOption, SessionState, TextBlock
from ..acp.results import short_name
from ..errors import UsageError
from ..permissions.paths import agents_named, policy_data
from ..permissions.question import OwnSubject, Question
from ..rendering.plain import visible_line
from .agent import RunningAgent
from .state import ConversationState, SessionUpdates
from .turn import View

COMMANDS_SECONDS = 1.0
"""Time that a prompt with `/` at its start waits for an agent that has not said which commands it has."""
# What is shown of changes, by their kinds.
STANDING: dict[Kind, str] = {"questions": "does not ask", "turns": "runs without a prompt"}

UNKNOWN = "It is not known what this changes, perhaps beyond this session. Your answer counts for this conversation"
AS_TEXT = "What follows is text, not a command:\n"
ANSWERS = PermissionOption("send", "Send it", "allow_once"), PermissionOption("refuse", "Don't send", "reject_once")
_SLASH = re.compile(r"[\s\ufeff]*/")


def has_slash(blocks: Sequence[Block]) -> bool:
    """Return True if an agent could take the prompt for a command."""
    return bool(blocks) and isinstance(blocks[0], TextBlock) and _SLASH.match(blocks[0].text) is not None


def as_text(text: str) -> str:
    """`text`, with words before it if an agent could take it for a command."""
    return AS_TEXT + text if has_slash([TextBlock(text)]) else text


def is_one_of(line: str, names: Iterable[str]) -> bool:
    """Return True if `line` is a command with one of the names. Names may hold spaces."""
    rests = (line.removeprefix(f"/{name}") for name in names)
    return any(rest != line and (not rest or rest[0].isspace()) for rest in rests)


class AgentCommands:
    """The agent's own commands in prompts, and what those, its options and its modes change that we rely on.

    `agent` is the agent's command line.
    """

    def __init__(self, agent: str, running: RunningAgent, updates: SessionUpdates, state: ConversationState) -> None:
        self._agent, self._running, self._updates, self._state = agent or "copilot", running, updates, state
        # Those that were sent: kind of change, command, session, and its options until then.
        self._sent: list[tuple[Kind, str, Session, tuple[Json, ...]]] = []
        # Lines and names that are in no list, and were allowed in a session.
        self._allowed: list[tuple[Session, str]] = []

    @property
    def changes(self) -> tuple[AgentChange, ...]:
        """Rows about commands, options and modes of this agent."""
        return changes_of(self._name)

    @property
    def _name(self) -> str:
        return f"{self._agent} {self._running.info.name if self._running.info else ''}"

    @property
    def standing(self) -> tuple[str, ...]:
        """Changes in force in the open session, whoever made them, as lines for the user.

        A command that ends questions counts until the agent reports its options again.
        """
        if (session := self._updates.current) is None or (state := self._state.conversation.state) is None:
            return ()
        sent = [each for each in self._sent if each[2] is session and (each[0] == "turns" or each[3] is state.options)]
        known = [*(each[:2] for each in sent), *(("questions", each) for each in unasking(self.changes, state))]
        names = ((what, ", ".join(each for of, each in known if of == kind)) for kind, what in STANDING.items())
        return tuple(f"{what}: {each}" for what, each in names if each)

    async def admit(self, blocks: Sequence[Block], session: Session, view: View) -> Sequence[Block]:
        """Return the prompt as it may be sent: a `/` that begins none of the agent's commands is marked as text.

        Raises UsageError if the user does not let a command change what we rely on.
        """
        if not has_slash(blocks) or not isinstance(blocks[0], TextBlock):
            return blocks
        line = blocks[0].text.strip()
        names = [command.name for command in await self._state.commands_within(COMMANDS_SECONDS)]
        if not is_one_of(line, names):
            return (TextBlock(as_text(blocks[0].text)), *blocks[1:])
        command = visible_line(" ".join(line.split()))
        rows = [row for row in self.changes if row.command and is_one_of(line, [row.command])]
        made = [row for row in rows if row.applies(" ".join(line.removeprefix(f"/{row.command}").split()))]
        if not rows:
            await self._admit_unlisted(line, session, view)
        for row in made:
            await _confirm(command, row, view)
        options = (self._state.conversation.state or session.state).options
        self._sent += [(row.kind, f"{command[:60]}…" if command[60:] else command, session, options) for row in made]
        self._state.advance(self._state.conversation)  # session observers look at `standing`
        return blocks

    async def _admit_unlisted(self, line: str, session: Session, view: View) -> None:
        """Ask once about a line whose effect is not known, or about the name of a skill or prompt.

        Raises UsageError if it is not to be sent.
        """
        plain, listed = " ".join(line.split()), harmless(self._name)
        asked = (
            plain if is_one_of(plain, (each.split()[0] for each in listed)) else f"{plain.split()[0]} with any words"
        )
        if (session, asked) not in self._allowed and not any(_is_covered(plain, each) for each in listed):
            await _confirm(visible_line(asked), AgentChange("", "unknown", says=UNKNOWN), view)
            self._allowed.append((session, asked))


async def _confirm(command: str, row: AgentChange, view: View) -> None:
    """Ask about the change that a command makes. Raises UsageError if it is not to be sent."""
    if row.kind == "place":
        raise UsageError(f"{command} was not sent: it would change where the agent works.", f"{row.says}.")
    question = Question(OwnSubject(f"Send {command}?", widens=True), ANSWERS, f"{row.says}.")
    if row.kind != "turns" and not (answer := await view.ask(question)).allows:
        raise UsageError(f"{command} was not sent: {answer.words(ANSWERS)}.")


# -- commands, options and modes that change what we rely on (`agent_changes.toml`) -----------------------------------


Kind = Literal["place", "questions", "session", "turns", "unknown"]


@dataclass(frozen=True, slots=True)
class AgentChange:
    """A row of the list, which describes its members."""

    agent: str
    kind: Kind
    command: str = ""
    option: str = ""
    says: str = ""
    only: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    def applies(self, words: str) -> bool:
        """Return True if these words behind the command, or this value of the option, make the change."""
        return words in self.only if self.only else words not in self.unless


@cache
def changes_of(agent: str) -> tuple[AgentChange, ...]:
    """The rows of the agent with this command line and name; all of them, if it is unknown."""
    known, rows = agents_named(agent), policy_data("agent_changes.toml")["row"]
    return tuple(AgentChange(**row) for row in rows if not known or row["agent"] in known)


@cache
def harmless(agent: str) -> tuple[str, ...]:
    """Commands of the agent with this command line and name that change nothing; none, if it is unknown."""
    listed = policy_data("agent_changes.toml")["harmless"]
    return tuple(each for name in agents_named(agent, listed) for each in listed[name])


def _is_covered(line: str, listed: str) -> bool:
    return line == f"/{listed}" or (listed.endswith(" *") and is_one_of(line, [listed[:-2]]))


def unasking(rows: tuple[AgentChange, ...], state: SessionState) -> list[str]:
    """The options and the mode of the session, with their values, that end questions."""
    words = {"True": "on", "False": "off"}
    reported = {str(each.get("id")): words.get(value := str(each.get("currentValue")), value) for each in state.options}
    values = {**reported, "mode": short_name(state.mode or "")}.items()
    found = (f"{name} {value}" for row in rows for name, value in values if row.option == name and row.applies(value))
    return list(dict.fromkeys(found))
