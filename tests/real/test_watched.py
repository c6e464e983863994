"""What Copilot CLI obeys: the names in a project and its parents that it asks the file system for, and the variables
that its program names. Each must be in a list: nobody has decided about one that is in none.

With `COPILOT_TEST_PEERS`, a folder of npm packages, it watches the CLI there, which may be newer.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.permissions.paths import instructing_rows, plain_name, running_rows

from . import model
from .agents import COPILOT, FILE, Agent, Json
from .client import started
from .conftest import lacking, played

pytestmark = pytest.mark.real_agent
watched = played("test_watched.play", COPILOT)

STRACE = ("strace", "-f", "-y", "-qq", "-s", "4096", "-e", "trace=%file", "-o")
Row = tuple[str, ...]
HARMLESS: tuple[Row, ...] = (
    *((".git",), ("head",), ("notes.txt",), (".github", "allowed_models.txt"), ("pull_request_template.md",)),
    *(
        (".github", "pull_request_template"),
        (".github", "pull_request_template.md"),
        ("docs", "pull_request_template.md"),
    ),
)
"""It only reads these: Git's own, restrictions, templates of texts, and what the script asks for."""
VARIABLES = Path(__file__).with_name("copilot_variables.txt")
"""Names that its program text holds. One that makes it run or obey something, or ask less, is none for this file."""
NAME = re.compile(r"(?:GITHUB_)?COPILOT_(?:(?!(?:GITHUB_)?COPILOT_)[A-Z0-9_]){3,}")
FRAGMENT = 16
"""Characters of a name that machine code compares at once."""


def plant(folder: Path) -> None:
    """Files with nothing in them under the names that are known, so that it looks into their folders."""
    for row in (*running_rows("copilot"), *instructing_rows()):
        (place := folder.joinpath(*row)).parent.mkdir(parents=True, exist_ok=True)
        if place.suffix in (".json", ".md"):
            place.write_text("{}" if place.suffix == ".json" else "")
        else:
            place.mkdir(exist_ok=True)


async def _asked_for(agent: Agent, home: Path, *, trusted: bool, tree: bool) -> tuple[list[str], str]:
    """Names that it asks for in `outer/project`, and its version."""
    outer = home / "outer"
    for folder in (outer, outer / "project"):
        plant(folder)
    if tree:
        subprocess.run(["git", "init", "-q", str(outer)], check=True)
    (home / "copilot").mkdir()
    (home / "copilot/config.json").write_text(json.dumps({"trusted_folders": [str(outer)] if trusted else []}))
    watched = replace(agent, programs=(), name=str(home / "watched"))
    Path(watched.name).write_text(f'#!/bin/sh\nexec {" ".join(STRACE)} "{home}/trace" "{agent.find()}" "$@"\n')
    Path(watched.name).chmod(0o700)
    with model.running() as scripted:
        async with started(watched, outer, {**agent.configure(home, scripted.url), "HOME": str(home)}) as client:
            await client.open()
            await client.ask({"call": [("shell", "true")]}, {"call": [("read", FILE)]}, {"say": "Over."})
            await client.prompt([{"type": "text", "text": "/env"}])
        info = next(info for each in client.records if (info := each["message"].get("result", {}).get("agentInfo")))
    names = {name for line in (home / "trace").open(errors="replace") for name in _names(line, outer)}
    return sorted(names), str(info["version"])


def _names(line: str, outer: Path) -> Iterator[str]:
    """Names in a line of the trace, relative to `outer`, that are in it; the agent works in a folder there."""
    _, at, rest = line.partition("AT_FDCWD<")
    here = rest.partition(">")[0] if at else str(outer / "project")
    if at or "execve(" not in line:
        for text in re.findall(r'"([^"]*)"', line)[:2]:
            place = os.path.normpath(os.path.join(here, text))
            if place.startswith(f"{outer}{os.sep}"):
                yield os.path.relpath(place, outer)


def _variables(cache: Path) -> list[str]:
    """Names in its unpacked text and machine code, where they may stand without anything between them."""
    files = [path for path in cache.glob("copilot/pkg/**/*") if path.suffix in (".js", ".node")]
    return sorted({name for path in files for name in NAME.findall(path.read_text("latin-1"))})


def play(agent: Agent) -> Json:
    home, seen = Path(os.environ["HOME"]), {}
    for trusted, tree in ((True, True), (True, False), (False, True), (False, False)):
        where = f"{'trusted' if trusted else 'untrusted'}, {'tree' if tree else 'plain'}"
        (at := home / where.replace(", ", "-")).mkdir()
        seen[where], version = asyncio.run(_asked_for(agent, at, trusted=trusted, tree=tree))
    return {"names": seen, "version": version, "variables": _variables(Path(os.environ["XDG_CACHE_HOME"]))}


async def _trusted_later(agent: Agent, home: Path) -> bool:
    """Whether a program of `.mcp.json` starts in a session that began before the folder was trusted."""
    ran, trust = home / "ran", home / "copilot/config.json"
    trust.parent.mkdir(parents=True)
    with model.running() as scripted:
        async with started(agent, home, {**agent.configure(home, scripted.url), "HOME": str(home)}) as client:
            server = {"type": "local", "command": "touch", "args": [str(ran)], "tools": ["*"]}
            (client.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": server}}))
            await client.open()
            await client.ask({"say": "Begun."})
            assert not ran.exists()
            trust.write_text(json.dumps({"trusted_folders": [str(client.project)]}))
            await client.ask({"say": "Trusted."})
            await client.prompt([{"type": "text", "text": "/mcp reload"}])
    return ran.exists()


def play_later(agent: Agent) -> Json:
    return {"started": asyncio.run(_trusted_later(agent, Path(os.environ["HOME"])))}


def rows_of(name: str, rows: tuple[Row, ...]) -> list[Row]:
    """The rows that cover a name, or that it leads to."""
    names = tuple(map(plain_name, Path(name).parts))
    names = names[1:] if names[0] == "project" else names
    return [row for row in rows if names[: len(row)] == row or row[: len(names)] == names]


# -- tests ----------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def strace() -> None:
    if shutil.which("strace") is None:
        lacking("install strace")


@watched
def test_each_name_that_it_asks_for_is_in_a_list(seen: Json) -> None:
    listed = (*running_rows("copilot"), *instructing_rows(), *HARMLESS)
    names = {name for found in seen["names"].values() for name in found}
    assert [name for name in sorted(names) if not rows_of(name, listed)] == []


@watched
def test_it_is_watched_at_the_names_that_make_it_run(seen: Json) -> None:
    names = seen["names"]["trusted, plain"]
    assert [row for row in running_rows("copilot") if "/".join(("project", *row)) not in names] == []


@watched
def test_each_variable_that_it_names_is_in_the_list(seen: Json) -> None:
    known = VARIABLES.read_text().split()

    def is_known(name: str) -> bool:
        """Also with letters of the next text behind it, or as a fragment that machine code compares."""
        longest = max((each for each in known if name.startswith(each)), key=len, default="")
        is_fragment = len(name) <= FRAGMENT and any(each.startswith(name) for each in known)
        return is_fragment or (bool(longest) and not name[len(longest) :].startswith("_"))

    assert [name for name in seen["variables"] if not is_known(name)] == []


@played("test_watched.play_later", COPILOT)
def test_what_it_does_not_load_in_a_new_session_it_may_load_later(seen: Json) -> None:
    """So files are asked about whether or not it trusts the folder."""
    assert seen == {"started": True}
