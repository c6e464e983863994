"""Remove secrets from text that is shown, logged or stored, and from the environment of commands.

A secret is recognized by its value (environment variables with the name of a secret, `register`ed values), by its form
(tokens of known services, PEM blocks, passwords in URLs) or by the name in front of it. Others pass: nothing may rely
on this.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

HIDDEN = "•••"
MIN_SECRET_CHARS = 8
"""Shorter values would be found in ordinary words."""
TOO_DEEP = "(nested too deeply to be shown)"

_NAMES = re.compile(
    r"(?:^|[_-])(?:token|pat|pass|pwd|authorization|cookie|bearer)(?:$|[_-])"
    r"|secret|credential|passw(?:or)?d|passphrase|(?:api|access|account|private|client|session)[_-]?key",
    re.IGNORECASE,
)
# Quotes and escapes are in PEM blocks where they are printed as Python or JSON; the end may have been cut off.
_IN_PEM = r"[\w+/=:,.\\\s\"'-]"
# A plain word after `Bearer` is not a token, as in "Bearer authentication required".
_FORMS = re.compile(
    rf"-----BEGIN [A-Z0-9 ]+-----{_IN_PEM}*?(?:-----END [A-Z0-9 ]+-----|(?!{_IN_PEM}))"
    r"|(?i:(?<=\bsig=))[\w%+/=-]{20,}"
    r"|\b(?:gh[pousr]_|github_pat_|sk-|xox[abps]-|glpat-|hf_|AKIA|AIza|eyJ[\w-]{8,400}\.)[\w.-]{10,}"
    r"|(?<=://)[^/\s:@]*:[^/\s]+(?=@)"
    r"|(?i:(?<=bearer )|(?<=basic )|(?<=token ))(?![A-Za-z]?[a-z]++\.?(?![\w.~+/=-]))[\w.~+/=-]{8,}"
)
# A lower-case word after a colon and a space is not a value, as in "Invalid token: expired". `PWD=/…` is the folder.
_ASSIGNED = re.compile(
    r"(?i)((?<![\w-])(?!pwd[\"']?\s*[=:]\s*[\"']?/)"
    r"(?=[\w-]*?(?:token|password|passwd|(?<![a-z])pwd(?![a-z])|secret|(?:api|account)[_-]?key|authorization|credential))"
    r"(?![\w-]*tokens[\"']?\s*[=:])[\w-]++[\"']?\s*+[=:]\s*+[\"']?"
    r"(?:(?:bearer|basic|token|digest|apikey|negotiate)\s+)?)"
    r"(?!(?<=[^\"']: )(?<!authorization: )(?-i:[a-z]++)[.!?:)]*(?:[\s\"',;&]|\Z))([^\s\"',;&]+)"
)
# Environment variables whose names only look like those of secrets.
_NOT_SECRET = frozenset({"PWD"})

_registered: set[str] = set()


def register(secrets: Iterable[str]) -> None:
    """Hide these values, too, for as long as this process runs."""
    _registered.update(secrets)


def redactor(environ: Mapping[str, str] = os.environ) -> Redactor:
    """A redactor for the secrets known now; `environ` is searched for variables with the name of a secret."""
    named = (value for name, value in environ.items() if is_secret_variable(name))
    known = {value for value in (*named, *_registered) if len(value) >= MIN_SECRET_CHARS}
    return Redactor(tuple(sorted(known, key=len, reverse=True)))


@dataclass(frozen=True, slots=True)
class Redactor:
    """Hides `values`; the longest come first, since one may contain another."""

    values: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """`text` with each secret replaced by `HIDDEN`."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        return _ASSIGNED.sub(rf"\1{HIDDEN}", _FORMS.sub(HIDDEN, text))

    def json(self, value: Any) -> Any:
        """The same for a JSON value, where member names reveal more secrets. Never raises."""
        try:
            return self._json(value)
        except RecursionError:
            return TOO_DEEP

    def _json(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._json(name): self._member(name, inner) for name, inner in _beside_its_name(value).items()}
        if isinstance(value, list):
            return [self._json(inner) for inner in value]
        return self.text(value) if isinstance(value, str) else value

    def _member(self, name: Any, value: Any) -> Any:
        """An MCP server's `env` and `headers` lose all their values."""
        if name in ("env", "headers"):
            return _without_values(value)
        return HIDDEN if is_secret(str(name)) and isinstance(value, str) and value else self._json(value)


def is_secret_variable(name: str) -> bool:
    """Return True if an environment variable of this name holds a secret."""
    return name not in _NOT_SECRET and is_secret(name)


def is_secret(name: str) -> bool:
    """Return True if a member or variable of this name holds a secret; counts of tokens do not."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return bool(_NAMES.search(split))


def _without_values(value: Any) -> Any:
    if isinstance(value, dict):
        return dict.fromkeys(value, HIDDEN)
    if isinstance(value, list):
        return [{**each, "value": HIDDEN} if isinstance(each, dict) else HIDDEN for each in value]
    return HIDDEN


def _beside_its_name(value: dict[Any, Any]) -> dict[Any, Any]:
    """`{"name": "API_KEY", "value": …}` without its value."""
    name = value.get("name")
    secret = isinstance(name, str) and is_secret(name) and "value" in value
    return {**value, "value": HIDDEN} if secret else value
