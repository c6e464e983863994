"""What may stand after a command's name, for completion and inspection."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..chat.choices import Choice, models, modes, options
from .modes import MODES, RULES, SAVE, WAYS
from .sessions import LAST, short_ids
from .situation import Situation
from .table import TABLE

Offer = tuple[int, tuple[Choice, ...]]
"""Where in what was typed the word begins that the choices are for, and the choices."""


def offer(command: str, typed: str, now: Situation) -> Offer:
    """What may be typed next, if `typed` stands between the command's name and the cursor."""
    return _OFFERS.get(command, _nothing)(typed, now)


def _nothing(typed: str, now: Situation) -> Offer:
    return 0, ()


def _first(words: Callable[[Situation], Iterable[Choice]]) -> Callable[[str, Situation], Offer]:
    return lambda typed, now: (0, tuple(words(now)))


def _options(typed: str, now: Situation) -> Offer:
    found, (id, blank, _) = options(now.state), typed.partition(" ")
    if not blank:
        return 0, tuple(Choice(each.id, each.id, each.name, each.about) for each in found)
    chosen = next((each.choices for each in found if each.id.casefold() == id.casefold()), ())
    return len(id) + 1, chosen


def _permissions(typed: str, now: Situation) -> Offer:
    word, blank, rule = typed.partition(" ")
    if not blank:
        return 0, tuple(Choice(each, each, about=about) for each, about in WAYS.items())
    match word:
        case "mode":
            return len("mode "), tuple(Choice(mode, mode, about=about) for mode, about in MODES.items())
        case "remove":
            return len("remove "), tuple(Choice(each.text, each.text, each.kind) for each in now.in_force.stated)
        case "allow" | "ask" | "deny" if " " not in rule:
            return len(word) + 1, tuple(Choice(each, each, about=about) for each, about in RULES.items())
        case "allow" | "ask" | "deny":
            return typed.rindex(" ") + 1, (Choice(SAVE, SAVE, about="from now on, in your config file"),)
    return 0, ()


def _session_ids(now: Situation) -> list[Choice]:
    shorts = short_ids(now.sessions)
    return [Choice(each.id, shorts[each.id], each.title, each.updated_at) for each in now.sessions]


def _commands(now: Situation) -> list[Choice]:
    return [Choice(entry.name, entry.name, about=entry.summary) for entry in TABLE.values()]


def _logins(now: Situation) -> list[Choice]:
    methods = now.info.auth_methods if now.info else ()
    return [Choice(method.id, method.id, method.name, method.description) for method in methods]


_OFFERS: dict[str, Callable[[str, Situation], Offer]] = {
    "agent": _first(lambda now: [Choice("demo", "demo", about="the demo agent: no account, no network")]),
    "delete": _first(_session_ids),
    "help": _first(_commands),
    "login": _first(_logins),
    "mode": _first(lambda now: modes(now.state).choices),
    "model": _first(lambda now: models(now.state).choices),
    "options": _options,
    "permissions": _permissions,
    "resume": _first(lambda now: [Choice(LAST, LAST, about="the one used last"), *_session_ids(now)]),
    "sessions": _first(lambda now: [Choice("all", "all", about="those of other folders too")]),
}
