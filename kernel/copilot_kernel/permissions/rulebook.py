"""What is in force: the mode, and every rule with where it came from. Commands and answers change it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from ..config import PERMISSION_MODES, Settings
from ..errors import UsageError
from .rules import Rules, parse, warning

Kind = Literal["allow", "ask", "deny"]
KINDS: tuple[Kind, ...] = ("allow", "ask", "deny")
HERE = "this conversation"
"""The origin of what holds until the conversation is another one."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A rule as it is written, in its list, and where that was."""

    kind: Kind
    text: str
    origin: str = HERE


@dataclass(frozen=True, slots=True)
class Rulebook:
    """`mode` is one of `config.PERMISSION_MODES`, `mode_origin` says who set it."""

    mode: str = "default"
    mode_origin: str = "default"
    stated: tuple[Stated, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Rulebook:
        """What the settings say."""
        lists = {"allow": settings.allow, "ask": settings.ask, "deny": settings.deny}
        origins = settings.origins
        stated = (Stated(kind, text, origins.get(kind, "")) for kind in KINDS for text in lists[kind])
        return cls(settings.permission_mode, origins.get("permission_mode", "default"), tuple(stated))

    @property
    def rules(self) -> Rules:
        """Those that can be understood."""
        return self._read[0]

    @property
    def problems(self) -> tuple[str, ...]:
        """In words, which rules match nothing, and why."""
        return self._read[1]

    @property
    def warnings(self) -> tuple[str, ...]:
        """In words, which rules allow more than it seems."""
        return self._read[2]

    def texts(self, kind: Kind) -> tuple[str, ...]:
        """The rules of one list."""
        return tuple(each.text for each in self.stated if each.kind == kind)

    def in_mode(self, mode: str, origin: str = HERE) -> Rulebook:
        """With another mode. Raises UsageError if there is none of that name."""
        if mode not in PERMISSION_MODES:
            raise UsageError(f"There is no permission mode {mode}.", f"There is: {', '.join(PERMISSION_MODES)}.")
        return replace(self, mode=mode, mode_origin=origin)

    def adding(self, kind: Kind, text: str, origin: str = HERE) -> Rulebook:
        """With one more rule, in its list once. Raises UsageError if it cannot be understood."""
        check(text)
        return replace(
            self, stated=(*(each for each in self.stated if _key(each) != (kind, text)), Stated(kind, text, origin))
        )

    def without(self, text: str) -> Rulebook:
        """Without this rule, in whatever lists it stands. Raises UsageError if it is in none."""
        left = tuple(each for each in self.stated if each.text != text)
        if left == self.stated:
            there = ", ".join(dict.fromkeys(each.text for each in self.stated))
            raise UsageError(f"There is no rule {text}.", f"There is: {there}." if there else "No rule is set.")
        return replace(self, stated=left)

    @property
    def _read(self) -> tuple[Rules, tuple[str, ...], tuple[str, ...]]:
        return _read(self.texts("allow"), self.texts("ask"), self.texts("deny"))


def check(text: str) -> str:
    """A warning, if `text` as a rule that allows means more than it seems. Raises UsageError if it is no rule."""
    try:
        return warning(parse(text))
    except ValueError as error:
        raise UsageError(f"{error}.", "For example: Read, Edit(src/**), Bash(git status).") from error


def _key(each: Stated) -> tuple[Kind, str]:
    return each.kind, each.text


_read = lru_cache(maxsize=64)(Rules.read)
