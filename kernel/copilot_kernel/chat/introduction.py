"""The line with which a conversation begins."""

from __future__ import annotations

from ..config import Settings
from ..places import folder_beside
from ..rendering.plain import visible_line
from .running_files import instructions


def introduction(settings: Settings, mode: str) -> str:
    """One line about what is not the default; empty if all is. Reads the disk."""
    beside = folder_beside(settings)
    facts = (
        ("agent", settings.agent),
        ("folder", f"{settings.folder} ({beside})" if beside else ""),
        ("permission mode", "" if mode == "default" else mode),
        ("sandbox", "" if settings.sandbox == "off" else settings.sandbox),
        ("instructions", ", ".join(instructions(settings))),
    )
    return visible_line(" · ".join(f"{name}: {value}" for name, value in facts if value))
