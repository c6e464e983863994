"""What a session of the demo agent lets people choose: mode, model and more, by the switches; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .protocol import Json
from .switches import Switches

URI = "https://agentclientprotocol.com/protocol/session-modes#"
MODES = {"agent": "Agent: does what you ask", "plan": "Plan: thinks first"}
URI_MODES = {URI + "agent": "Agent", URI + "plan": "Plan", URI + "autopilot": "Autopilot"}
MODELS = {"scripted": "Scripted", "scripted-large": "Scripted, large"}
EFFORTS = {"low": "Low", "medium": "Medium"}
VOICES = {"plain": "Plain", "dry": "Dry", "pirate": "Pirate", "bard": "Bard"}
MANNERS = {"alone": "Works alone", "pair": "Works in a pair"}


@dataclass(frozen=True, slots=True)
class Choice:
    """A config option; without `values` it is yes or no. `groups` name the values that belong together."""

    id: str
    name: str
    category: str
    values: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.values if self.values else isinstance(value, bool)

    @property
    def first(self) -> str | bool:
        return next(iter(self.values), False)

    def described(self, current: Any) -> Json:
        """As the protocol wants it."""
        head = {"id": self.id, "name": self.name, "category": self.category}
        if not self.values:
            return {**head, "type": "boolean", "currentValue": current}
        return {**head, "type": "select", "currentValue": current, "options": self._options()}

    def _options(self) -> list[Json]:
        if not self.groups:
            return [self._option(value) for value in self.values]
        return [
            {"group": group, "name": group.capitalize(), "options": [self._option(value) for value in values]}
            for group, values in self.groups.items()
        ]

    def _option(self, value: str) -> Json:
        return {"value": value, "name": self.values[value]}


class Menu:
    """What can be chosen on one connection; a session's `chosen` maps the options' ids to values."""

    def __init__(self, switches: Switches, client: Mapping[str, Any]) -> None:
        """`client`: its capabilities; a client that does not know yes-or-no options gets none."""
        self._switches = switches
        options = (client.get("session") or {}).get("configOptions") or {}
        self._booleans = options.get("boolean") is not None

    def choices(self, chosen: Mapping[str, Any]) -> list[Choice]:
        """All of them; what one offers may depend on what is chosen of another."""
        modes = URI_MODES if "uri-modes" in self._switches else MODES
        usual = [Choice("mode", "Mode", "mode", modes), Choice("model", "Model", "model", MODELS)]
        return usual + (self._more(chosen) if "more-options" in self._switches else [])

    def _more(self, chosen: Mapping[str, Any]) -> list[Choice]:
        efforts = {**EFFORTS, "high": "High"} if chosen.get("model") == "scripted-large" else EFFORTS
        more = [
            Choice("effort", "Effort", "thought_level", efforts),
            Choice(
                "voice", "Broadcaster", "_voice", VOICES, {"serious": ("plain", "dry"), "playful": ("pirate", "bard")}
            ),
            Choice("manner", "Manner", "collaboration_mode", MANNERS),
        ]
        return [*more, Choice("allow_all", "Allow everything", "permissions")] if self._booleans else more

    def valid(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """`chosen`, with the first value where there is none, or one that is no longer offered."""
        valid: dict[str, Any] = {}
        for choice in self.choices(chosen):
            value = chosen.get(choice.id)
            valid[choice.id] = value if choice.accepts(value) else choice.first
        return valid

    def choose(self, chosen: Mapping[str, Any], id: Any, value: Any) -> dict[str, Any]:
        """What is chosen afterwards, of all. Raises ValueError."""
        choice = next((choice for choice in self.choices(chosen) if choice.id == id), None)
        if choice is None:
            raise ValueError(f"demo agent: there is no option {id!r}")
        if not choice.accepts(value):
            raise ValueError(f"demo agent: {id} cannot be {value!r}")
        return self.valid({**chosen, choice.id: value})

    def mode(self, name: str) -> str:
        """The id of the mode with that short name; `name` itself when there is none."""
        return next((id for id in self.choices({})[0].values if id.removeprefix(URI) == name), name)

    def options(self, chosen: Mapping[str, Any]) -> list[Json]:
        """The config options with what is chosen of each."""
        return [choice.described(chosen[choice.id]) for choice in self.choices(chosen)]

    def options_update(self, chosen: Mapping[str, Any]) -> Json:
        """All options again, because one of them was changed."""
        return {"sessionUpdate": "config_option_update", "configOptions": self.options(chosen)}

    def session(self, chosen: Mapping[str, Any]) -> Json:
        """What the answers to `session/new`, `load` and `resume` say of it."""
        mode, model, *_ = self.choices(chosen)
        modes = [{"id": id, "name": name} for id, name in mode.values.items()]
        models = [{"modelId": id, "name": name} for id, name in model.values.items()]
        answer = {
            "modes": {"currentModeId": chosen["mode"], "availableModes": modes},
            "models": {"currentModelId": chosen["model"], "availableModels": models},
            "configOptions": self.options(chosen),
        }
        return {name: value for name, value in answer.items() if self.offers(name)}

    def offers(self, name: str) -> bool:
        """Whether there are `modes`, `models` (as agents had them before `configOptions`), or `configOptions`."""
        switches = self._switches
        return {
            "modes": "no-modes" not in switches,
            "models": "models" in switches,
            "configOptions": "no-options" not in switches,
        }[name]
