"""The models that the agent offers: as it listed them last, found by id or by a part of their name.

What an agent calls its models goes into addresses and logs, so clients get sanitised ids and names.
"""

from __future__ import annotations

import hashlib
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypedDict

from ..acp.lenient import as_dict, as_list, as_str, opt_int
from ..acp.messages import AgentInfo, ConfigUpdate, Json, Mode, SessionState, Update
from ..acp.results import choices, option_of
from ..rendering.plain import one_line

MAX_NAME_CHARS = 200
UNNAMED = "model"
DIGEST_CHARS = 8
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._~:@+/-]+")


class ModelObject(TypedDict):
    """One model, as clients get it; what the agent does not report is null. `created`: when we first saw it."""

    id: str
    object: str
    created: int
    owned_by: str
    name: str
    family: str | None
    version: str | None
    maxInputTokens: int | None


class ModelCatalogue:
    """`models`, by the agent's own ids, is empty until a session was opened. An agent without a list is one model."""

    def __init__(self) -> None:
        self.models: dict[str, ModelObject] = {}
        self.current: str | None = None
        """The agent's id of the model that sessions begin with."""
        self._owner = "agent"
        self.source: object = None
        """The agent that the models come from."""

    def learn(self, state: SessionState, info: AgentInfo, agent: object) -> None:
        """Take the models of a session that has just been opened; the one that it begins with comes first."""
        is_new = self.source is not agent
        if is_new:
            self.source, self.current = agent, state.model
        self._owner = sanitised(info.name) or "agent"
        found = self._current_first(state.models)
        alone = Mode(self._owner, info.title or info.name)
        if found or is_new:
            self._replace(found or [alone], {**state.raw, "configOptions": list(state.options)})

    def update(self, update: Update | None) -> None:
        """The agent may have changed what can be chosen."""
        options = update.options if isinstance(update, ConfigUpdate) else ()
        if offered := self._current_first(choices(option_of(options, "model"))):
            self._replace(offered, {"configOptions": list(options)})

    def _current_first(self, offered: Iterable[Mode]) -> list[Mode]:
        return sorted(offered, key=lambda model: model.id != self.current)

    def _replace(self, offered: Sequence[Mode], raw: Json) -> None:
        created = {own: model["created"] for own, model in self.models.items()}
        details = dict(_raw_models(raw))
        by_agent_id = {each.id: each for each in offered}
        ids = unique_ids(by_agent_id)
        now = int(time.time())
        self.models = {
            own: _model(each, ids[own], self._owner, created.get(own, now), details.get(own, {}))
            for own, each in by_agent_id.items()
        }


def choose(models: Mapping[str, ModelObject], wanted: str) -> str:
    """The agent's id of the model with this id, else of the first with this text in its family, name or id, else of the
    first of all."""
    text = wanted.casefold()
    matchers: tuple[Callable[[str, ModelObject], bool], ...] = (
        lambda own, model: model["id"] == wanted,
        lambda own, model: own == wanted,
        lambda own, model: model["id"].casefold() == text,
        lambda own, model: text in (model["family"] or "").casefold(),
        lambda own, model: text in model["name"].casefold(),
        lambda own, model: text in model["id"].casefold(),
    )
    found = (own for matches in matchers if text for own, model in models.items() if matches(own, model))
    return next(found, next(iter(models)))


def _model(offered: Mode, id: str, owner: str, created: int, raw: Json) -> ModelObject:
    """Return a model. Some agents report more of it than the protocol has members for."""
    more = {**as_dict(raw.get("_meta")), **raw}
    return {
        "id": id,
        "object": "model",
        "created": created,
        "owned_by": owner,
        "name": sanitised(offered.name) or id,
        "family": sanitised(as_str(more.get("family"))) or None,
        "version": sanitised(as_str(more.get("version"))) or None,
        "maxInputTokens": opt_int(more.get("maxInputTokens")),
    }


def _raw_models(raw: Json) -> Iterator[tuple[str, Json]]:
    for model in as_list(as_dict(raw.get("models")).get("availableModels")):
        yield str(as_dict(model).get("modelId")), as_dict(model)
    for option in as_list(raw.get("configOptions")):
        for value in as_list(as_dict(option).get("options")):
            yield str(as_dict(value).get("value")), as_dict(value)


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
    return {
        each: name if name == each or shared[name] == 1 else _with_digest(name, each) for each, name in plain.items()
    }


def identifier(agent_id: str) -> str:
    """`agent_id` as part of an address (RFC 3986, 3.3): ASCII letters, digits and `._~:@+-`, in segments."""
    segments = _NOT_IN_IDS.sub("-", agent_id).split("/")
    kept = [segment.strip("-") for segment in segments if segment.strip(".-")]
    return "/".join(kept)[:MAX_NAME_CHARS].strip("/") or UNNAMED


def _with_digest(name: str, agent_id: str) -> str:
    digest = hashlib.sha256(agent_id.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]
    return f"{name[: MAX_NAME_CHARS - DIGEST_CHARS - 1]}-{digest}"
