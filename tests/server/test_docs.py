"""The examples of the documentation run, and it names every setting and every error."""

import asyncio
import os
import re
import shutil
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from copilot_kernel.server.app import CopilotApp
from copilot_kernel.server.errors import ERROR_TYPES

from .api import LIMIT, Api

PAGE = Path(__file__).parents[2] / "docs" / "server.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is only in a checkout")


async def test_the_examples_work(api: Api) -> None:
    page = PAGE.read_text("utf-8")
    examples = re.findall(r"<!-- run: (\w+) -->\n```\w+\n(.*?)```", page, re.DOTALL)
    chats = [code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "new_session" in code]
    wanted = (("models_available", '"object":"list"', "data: [DONE]"), ("demo agent",), ("echo hi", "all done"))
    for (kind, code), words in zip([*examples, ("python", chats[0])], wanted, strict=True):
        program = sys.executable if kind == "python" else shutil.which("bash") or "bash"
        environment = {**os.environ, "TOKEN": api.token, "JUPYTER_TOKEN": api.token, "NO_PROXY": "*"}
        code = code.replace("http://localhost:8080/", api.url)
        code = code.replace("ws://127.0.0.1:8888/", api.url.replace("http", "ws", 1))
        code = code.replace("What does this folder hold?", r"demo: shell echo hi\nsay all done")
        process = await asyncio.create_subprocess_exec(program, "-c", code, env=environment, stdin=PIPE, stdout=PIPE)
        async with asyncio.timeout(3 * LIMIT):
            out, _ = await process.communicate(b"y\n")
        assert (process.returncode, [each for each in words if each not in out.decode()]) == (0, []), out.decode()


def test_every_setting_and_every_error_is_there() -> None:
    page = PAGE.read_text("utf-8")
    own = CopilotApp.class_own_traits(config=True)
    assert [name for name in own if f"`{name}`" not in page] == []
    assert [status for status, kind in ERROR_TYPES.items() if f"{status} `{kind}`" not in page] == []
