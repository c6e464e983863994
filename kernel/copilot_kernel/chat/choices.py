"""Choices that the agent offers, by short names that are typed for the agent's own values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from ..acp.lenient import as_str, opt_str
from ..acp.messages import Json, Mode, SessionState
from ..acp.results import choices, lists_modes, option_of, short_name
from ..errors import UsageError


@dataclass(frozen=True, slots=True)
class Choice:
    """`value` is the agent's, `word` what is typed for it, `name` and `about` are the agent's words."""

    value: str | bool
    word: str
    name: str = ""
    about: str = ""

    @property
    def label(self) -> str:
        """The agent's name for it, and what to type, where that differs."""
        is_word = self.name.casefold() in ("", self.word.casefold())
        return self.name or self.word if is_word else f"{self.name} ({self.word})"


@dataclass(frozen=True, slots=True)
class SessionSetting:
    """Something that can be set; `current` is the index of the choice, if known."""

    id: str
    name: str
    choices: tuple[Choice, ...]
    current: int | None = None
    about: str = ""
    # The protocol's, such as `model` or `thought_level`; empty if the agent gives none.
    category: str = ""
    # Whether there is no choice but these.
    is_complete: bool = True

    @property
    def chosen(self) -> Choice | None:
        return None if self.current is None else self.choices[self.current]


def modes(state: SessionState | None) -> SessionSetting:
    """The agent's modes; without choices if it has none."""
    return replace(
        _setting("mode", "Mode", state.modes if state else (), state.mode if state else None),
        is_complete=state is not None and lists_modes(state),
    )


def models(state: SessionState | None) -> SessionSetting:
    """The agent's models; without choices if it names none."""
    return _setting("model", "Model", state.models if state else (), state.model if state else None)


def options(state: SessionState | None) -> tuple[SessionSetting, ...]:
    """Everything that the agent offers to set, in its order; what is neither a choice nor a switch has no choices."""
    return tuple(map(_option, state.options)) if state else ()


def more_options(state: SessionState | None) -> tuple[SessionSetting, ...]:
    """The options that are neither the mode nor the model."""
    known = [option_of(state.options, category) for category in ("mode", "model")] if state else []
    return tuple(_option(option) for option in (state.options if state else ()) if option not in known)


def find(setting: SessionSetting, typed: str | bool) -> Choice:
    """The choice whose value, word or name was typed; where the agent lists none, what was typed. Raises UsageError."""
    wanted = _folded(typed)
    ways: tuple[Callable[[Choice], object], ...] = (lambda c: c.value, lambda c: c.word, lambda c: c.name)
    for way in ways:
        found = [choice for choice in setting.choices if _folded(way(choice)) == wanted]
        if len(found) == 1:
            return found[0]
    if not (setting.choices and setting.is_complete):
        return Choice(typed, str(typed))
    raise UsageError(f'Unknown {setting.id} "{typed}".', _hint(str(typed), [choice.word for choice in setting.choices]))


def find_option(found: Sequence[SessionSetting], typed: str) -> SessionSetting:
    """The option whose id was typed. Raises UsageError."""
    for setting in found:
        if _folded(setting.id) == _folded(typed):
            return setting
    raise UsageError(f'Unknown option "{typed}".', _hint(typed, [setting.id for setting in found]))


def _option(option: Json) -> SessionSetting:
    id, name, about = (as_str(option.get(key)) for key in ("id", "name", "description"))
    if option.get("type") != "boolean":
        found = _setting(id, name or id, tuple(choices(option)), opt_str(option.get("currentValue")), about)
        return replace(found, category=as_str(option.get("category")))
    switch = (Choice(True, "on"), Choice(False, "off"))
    return SessionSetting(id, name or id, switch, _place(switch, option.get("currentValue")), about)


def _setting(id: str, name: str, offered: Sequence[Mode], current: str | None, about: str = "") -> SessionSetting:
    typed = _words([each.id for each in offered])
    found = tuple(Choice(each.id, word, each.name, each.description) for each, word in zip(offered, typed, strict=True))
    return SessionSetting(id, name, found, _place(found, current), about)


def _place(found: Sequence[Choice], current: object) -> int | None:
    return next((number for number, choice in enumerate(found) if choice.value == current), None)


def _words(values: Sequence[str]) -> list[str]:
    """One word for each address such as `https://…#plan`, as long as no other value has it."""
    shorts = [short_name(value) if "://" in value else value for value in values]
    times = Counter(shorts)
    return [short if times[short] == 1 else value for short, value in zip(shorts, values, strict=True)]


def _folded(typed: object) -> str:
    return " ".join(str(typed).split()).casefold()


def _hint(typed: str, offered: Sequence[str]) -> str:
    near = get_close_matches(typed, offered, n=1, cutoff=0.5)
    meant = f"Did you mean {near[0]}? " if near else ""
    return f"{meant}Choose one of: {', '.join(offered)}." if offered else "The agent offers none."
