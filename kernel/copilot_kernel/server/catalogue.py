"""The models that the agent offers: as it listed them last, found by id or by a part of their name.

What an agent calls its models goes into addresses and logs, so clients get sanitised ids and names.
"""

from __future__ import annotations

import hashlib
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..acp.lenient import as_dict, as_list
from ..acp.messages import AgentInfo, ConfigUpdate, Json, Mode, SessionState
from ..acp.results import choices, option_of
from ..rendering.plain import one_line

MAX_NAME_CHARS = 200
UNNAMED = "model"
DIGEST_CHARS = 8
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._~:@+/-]+")


@dataclass(frozen=True, slots=True)
class Model:
    """One model; what the agent does not report is None. `created`: when we first saw it, in Unix time.

    `id` is what clients call it, `agent_id` what the agent calls it.
    """

    id: str
    name: str
    owned_by: str
    created: int
    agent_id: str
    family: str | None = None
    version: str | None = None
    max_input_tokens: int | None = None


class ModelCatalogue:
    """`models` is empty until a session was opened. An agent without a list counts as one model."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.models: tuple[Model, ...] = ()
        self.current: str | None = None
        """The agent's id of the model that sessions begin with."""
        self._owner = "agent"
        self._source: object = None
        self._clock = clock

    def is_from(self, connection: object) -> bool:
        """Whether the models come from the agent at the end of this connection."""
        return connection is not None and self._source is connection

    def learn(self, state: SessionState, info: AgentInfo, connection: object) -> None:
        """Take the models of a session that has just been opened; the one that it begins with comes first."""
        is_new = self._source is not connection
        if is_new:
            self._source, self.current = connection, state.model
        self._owner = sanitised(info.name) or "agent"
        found = self._current_first(state.models)
        alone = Mode(self._owner, info.title or info.name)
        if found or is_new:
            self._replace(found or [alone], {**state.raw, "configOptions": list(state.options)})

    def update(self, update: ConfigUpdate) -> None:
        """The agent changed what can be chosen."""
        offered = self._current_first(choices(option_of(update.options, "model")))
        if offered:
            self._replace(offered, {"configOptions": list(update.options)})

    def _current_first(self, offered: Iterable[Mode]) -> list[Mode]:
        return sorted(offered, key=lambda model: model.id != self.current)

    def _replace(self, offered: Sequence[Mode], raw: Json) -> None:
        created = {model.agent_id: model.created for model in self.models}
        details = dict(_raw_models(raw))
        by_agent_id = {each.id: each for each in offered}
        ids = unique_ids(by_agent_id)
        now = int(self._clock())
        self.models = tuple(
            _model(each, ids[own], self._owner, created.get(own, now), details.get(own, {}))
            for own, each in by_agent_id.items()
        )


def choose(models: Sequence[Model], wanted: str) -> Model:
    """The model with this id, else the first with this text in its family, name or id, else the first of all."""
    text = wanted.casefold()
    matchers: tuple[Callable[[Model], bool], ...] = (
        lambda model: model.id == wanted,
        lambda model: model.agent_id == wanted,
        lambda model: model.id.casefold() == text,
        lambda model: text in (model.family or "").casefold(),
        lambda model: text in model.name.casefold(),
        lambda model: text in model.id.casefold(),
    )
    found = (model for matches in matchers if text for model in models if matches(model))
    return next(found, models[0])


def _model(offered: Mode, id: str, owner: str, created: int, raw: Json) -> Model:
    """Some agents report more of a model than the protocol has members for."""
    more = {**as_dict(raw.get("_meta")), **raw}
    limit = more.get("maxInputTokens")
    return Model(
        id,
        sanitised(offered.name) or id,
        owner,
        created,
        offered.id,
        _text(more.get("family")),
        _text(more.get("version")),
        limit if isinstance(limit, int) and not isinstance(limit, bool) else None,
    )


def _raw_models(raw: Json) -> Iterator[tuple[str, Json]]:
    for model in as_list(as_dict(raw.get("models")).get("availableModels")):
        yield str(as_dict(model).get("modelId")), as_dict(model)
    for option in as_list(raw.get("configOptions")):
        for value in as_list(as_dict(option).get("options")):
            yield str(as_dict(value).get("value")), as_dict(value)


def _text(raw: Any) -> str | None:
    return (sanitised(raw) or None) if isinstance(raw, str) else None


# -- ids and names --------------------------------------------------------------------------------------------------


def sanitised(name: str) -> str:
    """`name` on one line of limited length, without control, format and unassigned characters."""
    shown = "".join(each for each in one_line(name) if unicodedata.category(each) not in ("Cf", "Co", "Cn"))
    return one_line(shown)[:MAX_NAME_CHARS].rstrip()


def unique_ids(agent_ids: Iterable[str]) -> dict[str, str]:
    """An id for each of the agent's own; one that can be part of an address stays as it is.

    Ids that would be equal get a digest of the agent's own, so that each keeps its id whatever the order.
    """
    plain = {each: identifier(each) for each in agent_ids}
    shared = Counter(plain.values())
    found = {each: name for each, name in plain.items() if name == each or shared[name] == 1}
    for each in plain:
        if each not in found:
            found[each] = _with_digest(plain[each], each, set(found.values()))
    return found


def identifier(agent_id: str) -> str:
    """`agent_id` as part of an address (RFC 3986, 3.3): ASCII letters, digits and `._~:@+-`, in segments."""
    segments = _NOT_IN_IDS.sub("-", agent_id).split("/")
    kept = [segment.strip("-") for segment in segments if segment.strip(".-")]
    return "/".join(kept)[:MAX_NAME_CHARS].strip("/") or UNNAMED


def _with_digest(name: str, agent_id: str, taken: set[str]) -> str:
    digest = hashlib.sha256(agent_id.encode("utf-8", "surrogatepass")).hexdigest()
    found = f"{name[: MAX_NAME_CHARS - DIGEST_CHARS - 1]}-{digest[:DIGEST_CHARS]}"
    return found if found not in taken else _with_digest(name, digest, taken)
