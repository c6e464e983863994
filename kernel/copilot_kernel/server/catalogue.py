"""The models that the agent offers: as it told them last, found by a part of their name."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..acp.lenient import items, members
from ..acp.messages import AgentInfo, ConfigUpdate, Json, Mode, SessionState
from ..acp.options import choices, option_of
from .identifiers import ids, sanitised


@dataclass(frozen=True, slots=True)
class Model:
    """One model; what the agent does not tell is None. `created`: when we learned of it, in Unix time.

    `id` is what clients call it, `own` what the agent calls it, where that is something else.
    """

    id: str
    name: str
    owned_by: str
    created: int
    family: str | None = None
    version: str | None = None
    max_input_tokens: int | None = None
    own: str = ""

    @property
    def agent_id(self) -> str:
        """What the agent is to be told."""
        return self.own or self.id

    def as_json(self) -> Json:
        """As `/v1/models` has it."""
        return {
            "id": self.id,
            "object": "model",
            "created": self.created,
            "owned_by": self.owned_by,
            "name": self.name,
            "family": self.family,
            "version": self.version,
            "maxInputTokens": self.max_input_tokens,
        }


class Catalogue:
    """What is known of the models; `models` is empty until a session was opened. An agent without a list is one."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.models: tuple[Model, ...] = ()
        self.current: str | None = None
        """The one that sessions begin with."""
        self._owner = "agent"
        self._told: object = None
        self._clock = clock

    def is_of(self, link: object) -> bool:
        """Whether this very agent has told its models."""
        return link is not None and self._told is link

    def learn(self, state: SessionState, info: AgentInfo, link: object) -> None:
        """From a session that has just been opened. The model that it begins with comes first."""
        is_new = self._told is not link
        if is_new:
            self._told, self.current = link, state.model
        self._owner = sanitised(info.name) or "agent"
        found = tuple(_with_current_first(state.models, self.current))
        alone = Mode(self._owner, info.title or info.name)
        if found or is_new:
            self._replace(found or (alone,), {**state.raw, "configOptions": list(state.options)})

    def heard(self, update: ConfigUpdate) -> None:
        """The agent changed what can be chosen."""
        offered = tuple(_with_current_first(choices(option_of(update.options, "model")), self.current))
        if offered:
            self._replace(offered, {"configOptions": list(update.options)})

    def _replace(self, offered: Sequence[Mode], raw: Json) -> None:
        known = {model.agent_id: model.created for model in self.models}
        told = dict(_raw_models(raw))
        named = ids(each.id for each in offered)
        now = int(self._clock())
        self.models = tuple(
            _model(each, named[each.id], self._owner, known.get(each.id, now), told.get(each.id, {}))
            for each in {each.id: each for each in offered}.values()
        )


def choose(models: Sequence[Model], wanted: str) -> Model:
    """The one with this id, else the first with this text in its family, name or id, else the first of all."""
    text = wanted.casefold()
    ways: tuple[Callable[[Model], bool], ...] = (
        lambda model: model.id == wanted,
        lambda model: model.agent_id == wanted,
        lambda model: model.id.casefold() == text,
        lambda model: text in (model.family or "").casefold(),
        lambda model: text in model.name.casefold(),
        lambda model: text in model.id.casefold(),
    )
    found = (model for way in ways if text for model in models if way(model))
    return next(found, models[0])


def _with_current_first(offered: Iterable[Mode], current: str | None) -> Iterator[Mode]:
    yield from sorted(offered, key=lambda model: model.id != current)


def _model(offered: Mode, id: str, owner: str, created: int, raw: Json) -> Model:
    """Some agents say more of a model than the protocol has words for."""
    more = {**members(raw.get("_meta")), **raw}
    limit = more.get("maxInputTokens")
    return Model(
        id,
        sanitised(offered.name) or id,
        owner,
        created,
        _text(more.get("family")),
        _text(more.get("version")),
        limit if isinstance(limit, int) and not isinstance(limit, bool) else None,
        offered.id,
    )


def _raw_models(raw: Json) -> Iterator[tuple[str, Json]]:
    for model in items(members(raw.get("models")).get("availableModels")):
        yield str(members(model).get("modelId")), members(model)
    for option in items(raw.get("configOptions")):
        for value in items(members(option).get("options")):
            yield str(members(value).get("value")), members(value)


def _text(raw: Any) -> str | None:
    return (sanitised(raw) or None) if isinstance(raw, str) else None
