"""Reason of a failed request, as far as its words and HTTP status show it, and what the user can do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import FailureReason

ADVICE: Mapping[FailureReason, str] = {
    "sign-in": "Sign in to the agent in a terminal, then run this cell again.",
    "key": "Check the API key in the environment in which Jupyter is started, and restart Jupyter.",
    "quota": "Wait until the limit is reset, or choose another model.",
    "network": "Check the network and the proxy, and whether the model's service runs; then run this cell again.",
    "context": "Start a new conversation with `%new`, or send less.",
    "bug": "The agent reported an internal error. `%log` shows the messages.",
}
MAX_EXAMINED_CHARS = 500
"""Limit of a message."""

# The first that matches decides; without a match, the HTTP status does, and without one `_NETWORK`.
_WORDS: tuple[tuple[FailureReason, str], ...] = (
    ("context", r"context (?:length|window)|prompt (?:is|as) too long"),
    ("key", r"\bapi[ _-]?key|authentication failed with provider"),
    ("quota", r"quota|(rate|usage).?limit|allowance|credits?\b|(hit|reached|exceeded|used all|out of) (your|the)\b"),
    ("sign-in", r"authori[sz]|authentica|credential|access token|token expired|licensed|\b(?:log|sign).?in\b"),
)
_NETWORK = r"connect|network|timed? ?out|sending request|get response|overloaded|unavailable"
_STATUS = re.compile(r"(?:\A|: |HTTP |[Ee]rror |status |code )([45]\d\d)\b(?!\.\d)")
_REASONS: Mapping[int, FailureReason] = {401: "sign-in", 402: "quota", 403: "sign-in", 408: "network", 429: "quota"}


def failure_reason(message: str, status: int | None = None) -> FailureReason:
    """The reason that the words of `message` name, else the one of the HTTP `status`, by default that in `message`."""
    message = message[:MAX_EXAMINED_CHARS]
    for reason, words in _WORDS:
        if re.search(words, message, re.IGNORECASE):
            return reason
    if status is None and (found := _STATUS.search(message)):
        status = int(found[1])
    if status is not None:
        return _REASONS.get(status, "network" if status >= 500 else "bug")
    return "network" if re.search(_NETWORK, message, re.IGNORECASE) else "bug"
