"""What is denied is also denied by GitHub Copilot CLI itself: here, what it is started with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from copilot_kernel.config import Settings

from .conftest import Open
from .people import ask

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture
def copilot(tmp_path: Path) -> Path:
    """A program of that name, which writes down how it was started, and is the demo agent."""
    program = tmp_path / "bin" / "copilot"
    program.parent.mkdir()
    writes, becomes = (
        f'printf "%s\\n" "$@" >> "{tmp_path / "started"}"',
        f'exec "{sys.executable}" -P -m copilot_kernel.demo',
    )
    script = f"#!/bin/sh\n{writes}\n{becomes}\n"
    program.write_text(script)
    program.chmod(0o755)
    return program


async def test_copilot_is_started_with_the_rules_that_are_in_force_then(
    opened: Open, copilot: Path, settings: Settings
) -> None:
    started = copilot.parent.parent / "started"
    src = f"--deny-tool=write({os.path.join(settings.folder, 'src', '**')})"
    async with opened(agent=str(copilot), deny=("Bash(rm *)", "Edit(src/**)", "Grep")) as chat:
        await ask(chat, "demo: say one")
        assert started.read_text().splitlines() == ["--acp", "--deny-tool=shell(rm:*)", src]
        await chat.add_rule("deny", "Bash(curl *)")
        chat.remove_rule("Bash(rm *)")
        await ask(chat, "demo: say two")
        assert len(started.read_text().splitlines()) == 3
        await chat.restart()
        await ask(chat, "demo: say three")
        assert started.read_text().splitlines()[3:] == ["--acp", src, "--deny-tool=shell(curl:*)"]
