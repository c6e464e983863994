"""What the documentation shows is run, and what it names is there."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Iterator
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
    cells = list(last_cells(PAGE.read_text("utf-8")))
    assert len(cells) > 50
    assert [wrong for cell in cells for wrong in unknown_tests(cell)] == []


@pytest.mark.parametrize("cell", [
    "`no_such_test`", "`a_model_that_there`", "`no_such…`", "`test_nothing.py`", "P `two_windows…`", "",
    "Z `two_windows…`", "S", "O, S `fifty_sockets…`", "S `fifty_sockets…`, O",
])  # fmt: skip
def test_a_test_that_does_not_exist_is_found(cell: str) -> None:
    assert list(unknown_tests(cell)) != []


def last_cells(page: str) -> Iterator[str]:
    """Of each row of each table whose last column names tests."""
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        head, _, *rows = (line.strip().strip("|").split("|") for line in table.splitlines())
        if head[-1].strip().startswith(("Test", "Shown by")):
            yield from (row[-1].strip() for row in rows if row[-1].strip() != "the same")


def unknown_tests(cell: str) -> Iterator[str]:
    """What the cell names that is not there. A letter is a file, as the page says; then only that file counts.

    A letter without a test of its file says nothing.
    """
    files, named = [*HERE.glob("test_*.py")], re.findall(r"(?<!`)\b[A-Z]\b(?!`)|(?<=`)[^`|,; ]+(?=`)", cell)
    for name, after in zip(named, [*named, "Z"][1:], strict=True):
        if len(name) == 1:
            files = [path for letter, path in letters() if letter == name]
            yield from [] if files and len(after) > 1 else [f"no test of {name}"]
        elif not is_there(name, files):
            yield f"{name} in {', '.join(path.name for path in files)}"
    yield from [] if named else [f"no test: {cell}"]


def is_there(name: str, files: list[Path]) -> bool:
    if name.endswith(".py"):
        return (HERE / name).is_file()
    wanted = re.compile(r"^(?:async )?def test_" + re.escape(name).replace("…", r"\w*") + r"\(", re.MULTILINE)
    return any(wanted.search(path.read_text("utf-8")) for path in files)


def letters() -> Iterator[tuple[str, Path]]:
    """Which file the page means with each letter; those of other folders stand with their folder."""
    for path, letter in re.findall(r"`([\w/]+\.py)`\s+\(`([A-Z])`\)", PAGE.read_text("utf-8")):
        yield letter, HERE.parents[1] / path if "/" in path else HERE / path
