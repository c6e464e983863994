"""`copilot-kernel doctor`: is everything there that a cell needs, and what is set?"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from .. import __version__, config
from ..config import Settings
from ..mcp_config import describe
from .checks import Check, check_agent, check_internals, check_kernelspecs, check_settings, check_sign_in, check_widgets

MARKS = {"ok": "✓", "broken": "✗", "unknown": "–"}


def run(arguments: argparse.Namespace) -> int:
    """Check, print; 1 if something that is needed is broken."""
    settings = config.load()
    checks = examine(settings, start=not arguments.no_start)
    ok = all(check.state != "broken" for check in checks)
    print(json.dumps(_json(checks, settings, ok), indent=2) if arguments.json else _text(checks, settings))
    return 0 if ok else 1


def examine(settings: Settings, *, start: bool) -> list[Check]:
    """Every check, in the order in which a user would mend things."""
    checks = [*check_kernelspecs(), check_internals(), check_widgets(), check_agent(settings)]
    if checks[-1].state != "broken":
        checks.append(check_sign_in(settings) if start else Check("sign-in", "unknown", "not checked (--no-start)"))
    return [*checks, *check_settings(settings)]


def _json(checks: list[Check], settings: Settings, ok: bool) -> dict[str, Any]:
    values = {name: {"value": _told(settings, name), "origin": origin} for name, origin in settings.origins.items()}
    return {"ok": ok, "version": __version__, "checks": [asdict(check) for check in checks], "settings": values}


def _text(checks: list[Check], settings: Settings) -> str:
    lines = [f"copilot-kernel {__version__}", ""]
    for check in checks:
        said = f"{check.name}: {check.message}\n{check.hint}".splitlines()
        lines += [f"{MARKS[check.state]} {said[0]}", *(f"    {line}" for line in said[1:])]
    return "\n".join([*lines, "", "settings", *_settings(settings)])


def _settings(settings: Settings) -> list[str]:
    width = max(map(len, settings.origins))
    return [
        f"  {name:{width}}  {_value(_told(settings, name))}  ({origin})" for name, origin in settings.origins.items()
    ]


def _told(settings: Settings, name: str) -> Any:
    """A setting as it may be shown."""
    if name == "mcp_servers":
        return {server.name: describe(server) for server in settings.mcp_servers}
    return getattr(settings, name)


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
