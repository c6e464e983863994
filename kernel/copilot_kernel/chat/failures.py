"""Messages of GitHub Copilot CLI itself in the text of an answer: its model failed, or it tries again.

Each comes as one chunk, `Error: ` or `Info: ` and the message. After a failure, Copilot CLI ends the turn with
`end_turn`, so a chunk of this form that ends a turn is its failure. A model's own text comes in smaller pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..acp.agent_errors import ADVICE, failure_reason
from ..acp.messages import Chunk, PlanUpdate, TextBlock, ToolCallUpdate, Update
from ..conversation.model import Conversation
from ..errors import FailureReason, ModelFailed
from .agent import RunningAgent

MODEL_HINTS: Mapping[FailureReason, str] = {
    **ADVICE,
    "sign-in": "In a terminal, with an account that may use Copilot:\n    copilot login\nThen run this cell again.",
    "quota": f"{ADVICE['quota']} Your usage of Copilot: https://github.com/settings/copilot/features",
    "bug": "Choose another model, or report this to https://github.com/github/copilot-cli/issues",
}

# Updates that make an entry of the conversation.
SHOWN = (Chunk, ToolCallUpdate, PlanUpdate)

# One line; those below it are indented.
_FAILURE = re.compile(r"\s*Error: (Execution failed: (Error: )?)?(?P<message>\S[^\n]*)(?P<more>(\n[ \t]+\S[^\n]*)*)\s*")
_OUTER = re.compile(r"Failed to get response from the AI model;.*Last error: (CAPIError: )?|CAPIError: ")
_RETRY = re.compile(r"\s*Info: (?P<message>[^\n]*\bretrying\b[^\n]*?)\s*", re.IGNORECASE)


def reported(text: str) -> ModelFailed | None:
    """The failure that a whole chunk of Copilot's reports; None if it is something else."""
    found = _FAILURE.fullmatch(text)
    if found is None:
        return None
    reason = failure_reason(found["message"])
    advice = (*(line.strip() for line in found["more"].splitlines()), MODEL_HINTS[reason])
    report = text.strip().removeprefix("Error: ")
    return ModelFailed(_OUTER.sub("", found["message"]), "\n".join(filter(None, advice)), reason, report)


def _agent_text(update: Update) -> str:
    if isinstance(update, Chunk) and update.speaker == "agent" and isinstance(update.block, TextBlock):
        return update.block.text
    return ""


class FailureFilter:
    """Withholds a chunk that may be the failure of the turn: it is one only if the turn ends with it."""

    def __init__(self, agent: RunningAgent) -> None:
        self._agent = agent
        self._chunk: Chunk | None = None
        self.progress = ""
        """Copilot's own words about a request that it tries again, until it goes on."""

    def filter(self, update: Update, before: Conversation) -> Iterable[Update]:
        """The updates to show now that `update` has come."""
        if not (self._agent.is_copilot and before.live and isinstance(update, SHOWN)):
            return (update,)
        text = _agent_text(update)
        retry = _RETRY.fullmatch(text)
        self.progress = retry["message"] if retry else ""
        if retry:
            return ()
        released = self.release()
        if not (isinstance(update, Chunk) and reported(text)):
            return (*released, update)
        self._chunk = update
        return released

    def release(self) -> tuple[Update, ...]:
        """The withheld chunk, which was not a failure."""
        chunk, self._chunk = self._chunk, None
        return (chunk,) if chunk else ()

    def check(self, stop_reason: str) -> None:
        """Raises ModelFailed, once, if the turn ended with a failure."""
        failure = reported(_agent_text(self._chunk)) if self._chunk and stop_reason == "end_turn" else None
        if failure is not None:
            self._chunk = None
            raise failure
