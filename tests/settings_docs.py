"""The tables of settings in the documentation, made from their declarations.

`python -m tests.settings_docs` writes them anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from copilot_kernel.config import SETTINGS, Settings, variable
from copilot_kernel.server.app import CopilotApp
from traitlets import Undefined

DOCS = Path(__file__).parents[1] / "docs"
HEADER = "| Setting | Default | Meaning |\n|---|---|---|\n"


def written(page: str, rows: Iterator[str]) -> str:
    """`page` with these rows in its table of settings."""
    before, header, rest = page.partition(HEADER)
    assert header, f"The page has no table that begins with\n{HEADER}"
    _, blank, after = rest.partition("\n\n")
    return before + header + "\n".join(rows) + blank + after


def of_kernel() -> Iterator[str]:
    for name, setting in SETTINGS.items():
        yield _row(variable(name), getattr(Settings(), name), setting.help)


def of_server() -> Iterator[str]:
    for name, trait in CopilotApp.class_own_traits(config=True).items():
        default = str(trait.default_value).lower() if isinstance(trait.default_value, bool) else trait.default_value
        yield _row(name, default or None, trait.help.rstrip("."))


def _row(name: str, default: Any, help: str) -> str:
    if isinstance(default, bool):
        default = "on" if default else "off"
    elif isinstance(default, float):
        default = f"{default:g}"
    shown = "" if default in (None, "", (), Undefined) else f"`{default}`"
    return f"| `{name}` | {shown} | {help} |"


PAGES: Mapping[Path, Any] = {DOCS / "settings.md": of_kernel, DOCS / "server.md": of_server}

if __name__ == "__main__":
    for path, rows in PAGES.items():
        path.write_text(written(path.read_text("utf-8"), rows()), "utf-8")
