"""What the documentation shows is run, and what it names is there."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from copilot_kernel.server.app import CopilotApp
from copilot_kernel.server.errors import TYPES

from .api import LIMIT, Api

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "server.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is only in a checkout")


def examples() -> list[tuple[str, str]]:
    found = re.findall(r"<!-- run: (\w+) -->\n```\w+\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return [(str(kind), str(code)) for kind, code in found]


WANTED = ("models_available", '"object":"list"', '"chat.completion"', "data: [DONE]", "demo agent")


@pytest.mark.parametrize(("example", "wanted"), [*zip(range(len(WANTED)), WANTED, strict=True)])
async def test_the_examples_work(api: Api, example: int, wanted: str) -> None:
    assert len(examples()) == len(WANTED)
    kind, code = examples()[example]
    program = sys.executable if kind == "python" else shutil.which("bash") or "bash"
    environment = {**os.environ, "TOKEN": api.token, "NO_PROXY": "*"}
    command = code.replace("http://localhost:8080/", api.url)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        program, "-c", command, env=environment, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(3 * LIMIT):
        out, _ = await process.communicate()
    assert (process.returncode, wanted in out.decode()) == (0, True), out.decode()


def test_every_setting_is_there() -> None:
    page = PAGE.read_text("utf-8")
    own = CopilotApp.class_own_traits(config=True)
    assert [name for name in own if f"`{name}`" not in page] == []


def test_every_error_is_there() -> None:
    page = PAGE.read_text("utf-8")
    assert [status for status, kind in TYPES.items() if f"| {status} | `{kind}` |" not in page] == []


def test_every_test_that_is_named_exists() -> None:
    tests = "".join(path.read_text("utf-8") for path in HERE.glob("test_*.py"))
    api = PAGE.read_text("utf-8").partition("\n## WebSocket chat\n")[0]
    table = [line for line in api.splitlines() if line.startswith("|")]
    named = {name for line in table for name in re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+){3,})…?`", line)}
    assert len(named) > 20
    assert [name for name in named if f"test_{name}" not in tests] == []
