"""What a session can be set to: options, and the mode and model that they hold (spec: session-config-options)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from .aliases import spelled
from .lenient import items, members, objects, text, words
from .messages import Json, Mode, SessionState


def read_options(raw: Any) -> tuple[Json, ...]:
    """A list of options, with the specification's names."""
    return tuple(spelled("option", option) for option in objects(raw))


def with_options(state: SessionState, options: tuple[Json, ...]) -> SessionState:
    """`state` with this whole list of options; modes and models follow it where it speaks of them."""
    mode, model = option_of(options, "mode"), option_of(options, "model")
    return replace(
        state,
        options=options,
        mode=_current(mode) or state.mode,
        modes=tuple(choices(mode)) or state.modes,
        model=_current(model) or state.model,
        models=tuple(choices(model)) or state.models,
    )


def with_mode(state: SessionState, mode_id: str) -> SessionState:
    """`state` in another mode; an option of category `mode` follows.

    Of an agent that gives no list of its modes, those that it names one by one can be chosen.
    """
    mode = option_of(state.options, "mode")
    has_list = mode is not None or any(each.name for each in state.modes)
    if not has_list and mode_id not in [each.id for each in state.modes]:
        state = replace(state, modes=(*state.modes, Mode(mode_id)))
    moved = tuple({**option, "currentValue": mode_id} if option is mode else option for option in state.options)
    return replace(state, mode=mode_id, options=moved)


def option_of(options: Iterable[Json], category: str) -> Json | None:
    """The select option of a category. Ids are the agent's own: one counts only where no category is given."""
    selects = [option for option in options if option.get("type", "select") == "select"]
    by_category = (option for option in selects if option.get("category") == category)
    by_id = (option for option in selects if option.get("category") is None and option.get("id") == category)
    return next(by_category, None) or next(by_id, None)


def short_name(mode_id: str) -> str:
    """A mode's id in one word: agents use addresses such as `https://…/session-modes#plan`."""
    return re.split(r"[#/]", mode_id.rstrip("#/"))[-1] or mode_id


def choices(option: Json | None) -> Iterator[Mode]:
    """What a select option can be set to; None has nothing."""
    for raw in _flat((option or {}).get("options")):
        if value := text(raw.get("value")):
            yield Mode(value, words(raw.get("name")), words(raw.get("description")))


def _current(option: Json | None) -> str | None:
    return text((option or {}).get("currentValue")) or None


def _flat(raw: Any) -> Iterator[Json]:
    """Choices may come in groups."""
    for item in items(raw):
        yield from (members(choice) for choice in (items(item["options"]) if "options" in members(item) else [item]))
