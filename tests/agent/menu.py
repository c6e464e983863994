"""What sessions of the test agent offer to choose, by its switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copilot_kernel.demo.session import CHOICES, Choice, Json

from .faults import Switches

URI = "https://agentclientprotocol.com/protocol/session-modes#"
URI_MODES = Choice(
    "mode", "Mode", "mode", {URI + "agent": "Agent", URI + "plan": "Plan", URI + "autopilot": "Autopilot"}
)
EFFORTS = {"low": "Low", "medium": "Medium"}
VOICES = {"plain": "Plain", "dry": "Dry", "pirate": "Pirate", "bard": "Bard"}


@dataclass(frozen=True, slots=True)
class Toggle(Choice):
    """Yes or no."""

    @property
    def default(self) -> Any:
        return False

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool)

    def described(self, current: Any) -> Json:
        head = {"id": self.id, "name": self.name, "category": self.category}
        return {**head, "type": "boolean", "currentValue": current}


@dataclass(frozen=True, slots=True)
class Grouped(Choice):
    """`values` in groups of two: serious, playful."""

    def options(self) -> list[Json]:
        options = Choice.options(self)
        return [
            {"group": "serious", "name": "Serious", "options": options[:2]},
            {"group": "playful", "name": "Playful", "options": options[2:]},
        ]


def choices(switches: Switches, client: Mapping[str, Any], chosen: Mapping[str, Any]) -> Sequence[Choice]:
    """`client`: its capabilities; a client that does not know yes-or-no options gets none."""
    mode, model = CHOICES
    usual = [URI_MODES if "uri-modes" in switches else mode, model]
    if "more-options" not in switches:
        return usual
    efforts = {**EFFORTS, "high": "High"} if chosen.get("model") == "scripted-large" else EFFORTS
    more = [
        Choice("effort", "Effort", "thought_level", efforts),
        Grouped("voice", "Broadcaster", "_voice", VOICES),
        Choice("manner", "Manner", "collaboration_mode", {"alone": "Works alone", "pair": "Works in a pair"}),
    ]
    if ((client.get("session") or {}).get("configOptions") or {}).get("boolean") is not None:
        more.append(Toggle("allow_all", "Allow everything", "permissions", {}))
    return [*usual, *more]
