"""Scenes that the demo agent plays for an ordinary prompt, chosen by the prompt's words.

Scenes are recorded: a line of `scenes.jsonl` holds the words, and what to do one after the other, each an act with its
arguments. Acts read, change and run real files, but only in the scratch project (`project.py`), which a session's first
scene resets; so a notebook gives the same answers when it is run again.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio

from ..acp.jsonrpc import INTERNAL_ERROR, RequestFailed
from . import files, notebook_scenes, project
from .demo_session import Json, texts
from .stage import Stage, TurnEnded, content

REMEMBERED = "This is prompt {} of this session; the first was {!r}."
_FILE = Path(__file__).with_name("scenes.jsonl")


async def play(stage: Stage) -> None:
    """Play the scene that the prompt asks for. Raises TurnEnded, RequestFailed."""
    prompt = (texts(stage.blocks) or [""])[-1]
    if await notebook_scenes.play(stage, prompt):
        return
    recorded = choose(prompt)
    try:
        if "in_project" in recorded and stage.session.uses_new_project:
            project.reset(stage.session.cwd)
            stage.session.uses_new_project = False
        for act, *arguments in recorded["acts"]:
            await ACTS[act](stage, *arguments)
    except (project.NotOursError, OSError) as error:
        await stage.say(f"demo agent: {error}.")


def choose(prompt: str) -> Json:
    """The first scene that one of the prompt's words names; the last one is for all others."""
    words = set(re.findall(r"[a-z]+", prompt.lower()))
    scenes: list[Json] = [json.loads(line) for line in _FILE.read_text("utf-8").splitlines()]
    return next((scene for scene in scenes if words & set(scene["words"].split())), scenes[-1])


# -- acts: what is recorded is sent, what changes something is done -------------------------------------------------


async def ask(stage: Stage, title: str) -> None:
    """Ask a question only."""
    id = await stage.begin("other", title, {"what": title})
    option = await stage.ask(id, ("other", title), {"title": title, "kind": "other"})
    await stage.change(id, status="completed", content=content(f"You answered: {option}"))


async def remember(stage: Stage) -> None:
    """Say how many prompts the session has had, and the first."""
    prompts = stage.session.prompts
    await stage.say(REMEMBERED.format(len(prompts), prompts[0]))


async def count(stage: Stage) -> None:
    """An answer to be stopped; as many numbers as the prompt says."""
    prompt = "\n".join(texts(stage.blocks))
    amount = min(int(next(iter(re.findall(r"\d{1,4}", prompt)), "20")), 1000)
    pause = 0.5 if "slow" in prompt.lower() else 0.1
    for number in range(1, amount + 1):
        await stage.say(f"{number} ")
        await anyio.sleep(pause)


async def pause(stage: Stage, seconds: float) -> None:
    await anyio.sleep(seconds)


async def run(stage: Stage, command: str, title: str = "", in_cmd: str = "") -> None:
    """Run a command; `in_cmd` is the one for the shell of Windows, if that is another."""
    await files.run(stage, in_cmd if in_cmd and os.name == "nt" else command, title)


async def restore(stage: Stage, name: str) -> None:
    """Make a file of the scratch project as it is at first."""
    project.reset(stage.session.cwd, name)


async def fail(stage: Stage, message: str, details: str) -> None:
    """Answer the prompt with an error."""
    raise RequestFailed(INTERNAL_ERROR, message, {"details": details})


async def stop(stage: Stage, reason: str) -> None:
    """End the turn with this stop reason."""
    raise TurnEnded(reason)


async def crash(stage: Stage, words: str) -> None:
    """End the process in the middle of an answer."""
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
    os._exit(1)


ACTS: Mapping[str, Callable[..., Awaitable[Any]]] = {
    **{act.__name__: act for act in (ask, remember, count, pause, run, restore, fail, stop, crash)},
    **{act.__name__: act for act in (Stage.say, Stage.send, Stage.stream, Stage.think, Stage.plan)},
    **{act.__name__: act for act in (files.read, files.edit)},
}
