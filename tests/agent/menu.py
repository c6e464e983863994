"""What sessions of the test agent offer to choose, by its switches."""

from collections.abc import Mapping, Sequence
from typing import Any

from copilot_kernel.demo.demo_session import MENU, Json

from .faults import Switches

URI = "https://agentclientprotocol.com/protocol/session-modes#"


def _options(*names: str, prefix: str = "") -> list[Json]:
    return [{"value": prefix + name.lower(), "name": name} for name in names]


def _select(id: str, name: str, category: str, options: Sequence[Json]) -> Json:
    return {"id": id, "name": name, "category": category, "type": "select", "options": options}


GROUPS = [
    {"group": "serious", "name": "Serious", "options": _options("Plain", "Dry")},
    {"group": "playful", "name": "Playful", "options": _options("Pirate", "Bard")},
]
MANNERS = [{"value": "alone", "name": "Works alone"}, {"value": "pair", "name": "Works in a pair"}]


def choices(switches: Switches, client: Mapping[str, Any], chosen: Mapping[str, Any]) -> Sequence[Json]:
    """`client`: its capabilities; a client that does not know yes-or-no options gets none."""
    mode, model = MENU
    if "uri-modes" in switches:
        mode = {**mode, "options": _options("Agent", "Plan", "Autopilot", prefix=URI)}
    if "more-options" not in switches:
        return [mode, model]
    efforts = _options("Low", "Medium", *(["High"] if chosen.get("model") == "scripted-large" else []))
    more = [
        _select("effort", "Effort", "thought_level", efforts),
        _select("voice", "Broadcaster", "_voice", GROUPS),
        _select("manner", "Manner", "collaboration_mode", MANNERS),
    ]
    if ((client.get("session") or {}).get("configOptions") or {}).get("boolean") is not None:
        more.append({"id": "allow_all", "name": "Allow everything", "category": "permissions", "type": "boolean"})
    return [mode, model, *more]
