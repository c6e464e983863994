"""An answer as a value: `_copilot` in the user's namespace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ..acp.messages import Diff
from ..conversation.model import ToolCall
from ..errors import UsageError

if TYPE_CHECKING:
    from ..chat import TurnOutcome
    from ..conversation.changes import FileChange
    from ..undo.record import ListedChange


class CodeBlock(NamedTuple):
    """A block of code in an answer. `language` is the first word after the fence; empty if there is none."""

    language: str
    code: str


@dataclass(frozen=True, eq=False)
class Turn:
    """One prompt and its outcome. `str` gives the text; IPython shows it like a Copilot cell."""

    _turn: TurnOutcome
    # Changes of the session; None if they are not recorded.
    _session_changes: tuple[ListedChange, ...] | None = ()

    @property
    def text(self) -> str:
        """The agent's answer as markdown."""
        return self._turn.text

    @cached_property
    def code_blocks(self) -> tuple[CodeBlock, ...]:
        """The blocks of code in `text`, in their order."""
        from markdown_it import MarkdownIt

        tokens = [each for each in MarkdownIt("commonmark").parse(self.text) if each.type in ("fence", "code_block")]
        return tuple(CodeBlock(next(iter(each.info.split()), ""), each.content) for each in tokens)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The agent's tool calls: title, kind, status, content, decision."""
        return self._turn.tool_calls

    @property
    def diffs(self) -> tuple[Diff, ...]:
        """Changes of files in those tool calls that were completed: path, old_text (None: a new file), new_text."""
        done = (call for call in self.tool_calls if call.status == "completed")
        return tuple(part for call in done for part in call.content if isinstance(part, Diff))

    @property
    def changes(self) -> tuple[ListedChange, ...]:
        """Rows of `%changes` after the turn, from the session's first turn on: turn (its number), kind (file, cell,
        command, note), path, what (new, changed, deleted), by. Raises UsageError where undo is off.
        """
        if self._session_changes is None:
            from ..chat.undo import UNDO_OFF

            raise UsageError(UNDO_OFF)
        return self._session_changes

    @cached_property
    def file_changes(self) -> tuple[FileChange, ...]:
        """Net change of each file, as the tool calls of this turn report it: path, what (new, changed, deleted, moved),
        added, removed (lines).
        """
        from ..conversation.changes import changes_of

        return changes_of(self.tool_calls).files

    @property
    def usage(self) -> dict[str, Any] | None:
        """Tokens, as the agent reported them at the end of the turn; None if it did not."""
        return self._turn.usage

    @property
    def stop_reason(self) -> str:
        """Why the turn ended (spec: prompt-turn): `end_turn`, `cancelled`, `refusal`, `max_tokens` …"""
        return self._turn.stop_reason

    @property
    def model(self) -> str:
        """The agent's model; empty if unknown."""
        return self._turn.model

    @property
    def session_id(self) -> str:
        """The id of the agent's session."""
        return self._turn.session_id

    def cancelled(self) -> Turn:
        """This turn with the stop reason `cancelled`."""
        return replace(self, _turn=replace(self._turn, stop_reason="cancelled"))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        counts = {"code block": self.code_blocks, "tool call": self.tool_calls, "diff": self.diffs}
        parts = [f"{len(each)} {name}{'s' * (len(each) != 1)}" for name, each in counts.items() if each]
        return f"<Turn {', '.join([self.stop_reason, f'{len(self.text)} characters', *parts])}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The text as a Copilot cell shows it; `repr` summarises the rest."""
        from ..rendering.entry import render_text

        return render_text("agent", self.text) if self.text.strip() else {"text/plain": repr(self)}
