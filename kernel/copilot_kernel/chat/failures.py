"""Failures of the model that GitHub Copilot CLI reports as text.

When its model cannot answer, Copilot CLI sends `Error: ` and the message as one chunk, the last of the turn, and ends
the turn with `end_turn`. The forms were recorded with Copilot CLI 1.0.102 and a model that refuses, or come from its
issue tracker. Anything else is an answer: a model may talk about errors, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..acp.messages import Chunk, PlanUpdate, TextBlock, ToolCallUpdate, Update
from ..errors import FailureReason, ModelFailed

HINTS: Mapping[FailureReason, str] = {
    "sign-in": "Run `copilot login` in a terminal, with an account that has access to Copilot, then try again.",
    "key": "Set them in the environment in which Jupyter is started, and restart it.",
    "quota": "Wait until the limit is reset, or choose another model.\n"
    "Your usage of Copilot: https://github.com/settings/copilot/features",
    "network": "Check the network and the proxy of this machine, and whether the model's service runs; then try again.",
    "context": "Begin a new conversation, or send less.",
    "bug": "Try again. If it fails again, choose another model, or report it with the words above:\n"
    "https://github.com/github/copilot-cli/issues",
}


# How the message of a failure begins, in the order in which they are tried. Without a reason, the HTTP status in the
# message decides. Beside each form is where it was seen: recorded with 1.0.102, among the texts of that program, or in
# an issue of github/copilot-cli.
_FORMS: tuple[tuple[str, FailureReason | None], ...] = (
    (r"Failed to get response from the AI model; (retried|stopped after) .*Last error: ", None),  # recorded
    (r"Failed to get response from the AI model; (retried|stopped after) ", "network"),  # program
    (r"[45]\d\d [^\n]+\Z", None),  # recorded
    (r"Authentication failed with provider at ", "key"),  # recorded
    (r"(Model '[^']*'|Resource) not found on provider at ", "bug"),  # recorded
    (r"Could not connect to (local model )?provider at ", "network"),  # recorded
    (r"The provider rejected the prompt as too long", "context"),  # recorded
    (r"The context window is full and the request cannot be processed", "context"),  # program
    (r"Authorization error, you may need to run /login", "sign-in"),  # 1.0.2x, #2684
    (r"Authorization error\. Your credentials may be expired", "sign-in"),  # program
    (r"Session token expired and the request could not be retried", "sign-in"),  # program
    (r"Session was not created with authentication info", "sign-in"),  # 1.0.47, #3311
    (r"The provided personal access token \(PAT\) does not have ", "sign-in"),  # program
    (r"You are not (licensed to use Copilot|authorized to use this Copilot feature)", "sign-in"),  # program
    (r"You've (hit|reached|run out of|used all) (your|the) [^\n]*(limit|credits|requests)", "quota"),  # program
    (r"CAPIError: [45]\d\d\b", None),  # issues
    (r"Sorry, you('ve hit a rate limit| have exceeded)", "quota"),  # #2336, #793
    (r"Quota exceeded\b", "quota"),  # #730
)

_OWN = re.compile(r"Error: (?:Execution failed: (?:Error: )?)?(?P<message>.*)", re.DOTALL)
_STATUS = re.compile(r"(?:.*Last error: )?(?:CAPIError: )?(?P<status>[45]\d\d)\b", re.DOTALL)
_REASONS: Mapping[int, FailureReason] = {401: "sign-in", 402: "quota", 403: "sign-in", 408: "network", 429: "quota"}


def reported(text: str) -> ModelFailed | None:
    """The failure that a whole chunk of Copilot's reports; None if it is something else."""
    own = _OWN.fullmatch(text)
    message = own["message"] if own else ""
    for pattern, reason in _FORMS:
        if re.match(pattern, message, re.DOTALL):
            first, *more = message.splitlines()
            reason = reason or _reason(message)
            return ModelFailed(first, "\n".join((*(line.strip() for line in more), HINTS[reason])), reason)
    return None


def _reason(message: str) -> FailureReason:
    """By the HTTP status; without one there was no answer."""
    found = _STATUS.match(message)
    status = int(found["status"]) if found else 500
    return _REASONS.get(status, "network" if status >= 500 else "bug")


class FailureFilter:
    """Withholds a chunk that may be the failure of the turn: it is one only if the turn ends with it."""

    def __init__(self) -> None:
        self._chunk: Chunk | None = None
        self._failure: ModelFailed | None = None

    def passed(self, update: Update) -> tuple[Update, ...]:
        """The updates to show now that `update` has come."""
        if not isinstance(update, Chunk | ToolCallUpdate | PlanUpdate):
            return (update,)
        before = self.release()
        if isinstance(update, Chunk) and update.speaker == "agent" and isinstance(update.block, TextBlock):
            self._failure = reported(update.block.text)
        if self._failure is None:
            return (*before, update)
        self._chunk = update if isinstance(update, Chunk) else None
        return before

    def release(self) -> tuple[Update, ...]:
        """The withheld chunk, which was not a failure."""
        chunk, self._chunk, self._failure = self._chunk, None, None
        return (chunk,) if chunk else ()

    def check(self, stop_reason: str) -> None:
        """Raises ModelFailed, once, if the turn ended with a failure."""
        failure = self._failure
        if failure is not None and stop_reason == "end_turn":
            self._chunk = self._failure = None
            raise failure
