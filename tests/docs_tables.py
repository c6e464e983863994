"""Tables of settings and commands in the documentation, made from the code that declares them.

`python -m tests.docs_tables` writes them anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from copilot_kernel.config import SETTINGS, Settings, variable
from copilot_kernel.frontend.commands import TABLE
from copilot_kernel.server.app import CopilotApp
from traitlets import Undefined

DOCS = Path(__file__).parents[1] / "docs"
SETTINGS_HEADER = "| Setting | Default | Meaning |\n|---|---|---|\n"
COMMANDS_HEADER = "| Command | Purpose |\n|---|---|\n"


def kernel_settings() -> str:
    return SETTINGS_HEADER + "".join(
        _setting(variable(name), getattr(Settings(), name), setting.help) for name, setting in SETTINGS.items()
    )


def server_settings() -> str:
    return SETTINGS_HEADER + "".join(_server_settings())


def commands() -> str:
    return COMMANDS_HEADER + "".join(
        f"| `{spec.usage.replace('|', chr(92) + '|')}` | {f'{spec.summary} {spec.details}'.rstrip()} |\n"
        for spec in TABLE.values()
    )


def written(page: str, table: str) -> str:
    """Return `page` with `table` in place of the one that has the same header."""
    header = "".join(table.splitlines(keepends=True)[:2])
    before, found, rest = page.partition(header)
    assert found, f"The page has no table that begins with\n{header}"
    _, blank, after = rest.partition("\n\n")
    return before + table + blank.removeprefix("\n") + after


def _server_settings() -> Iterator[str]:
    for name, trait in CopilotApp.class_own_traits(config=True).items():
        default = str(trait.default_value).lower() if isinstance(trait.default_value, bool) else trait.default_value
        yield _setting(name, default or None, trait.help.rstrip("."))


def _setting(name: str, default: Any, help: str) -> str:
    if isinstance(default, bool):
        default = "on" if default else "off"
    elif isinstance(default, float):
        default = f"{default:g}"
    shown = "" if default in (None, "", (), Undefined) else f"`{default}`"
    return f"| `{name}` | {shown} | {help} |\n"


TABLES: Mapping[Path, str] = {
    DOCS / "settings.md": kernel_settings(),
    DOCS / "server.md": server_settings(),
    DOCS / "commands.md": commands(),
}

if __name__ == "__main__":
    for path, table in TABLES.items():
        path.write_text(written(path.read_text("utf-8"), table), "utf-8")
