"""Scripts: a prompt that begins with `demo:` says line by line what the agent shall do.

    demo: say Hello            one directive a line, the first may follow `demo:` directly
    shell echo one; exit 3

Each line is a directive's name and its argument. Where the argument is a text, `\\n` and `\\t` in it are a line break
and a tab. `demo: help` lists the directives.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from ..acp.transport import single_error
from . import files
from .notebook import notebook
from .session import texts
from .stage import Directive, Stage, TurnEnded, content

MARK = "demo:"


class ScriptError(Exception):
    """The script cannot be read; the text says which line and why."""


def find_script(blocks: Sequence[Any]) -> str | None:
    """The script in a prompt's content blocks: the last text that begins with `demo:`, without that mark."""
    scripts = [text for text in texts(blocks) if text.lstrip().startswith(MARK)]
    return scripts[-1].lstrip().removeprefix(MARK) if scripts else None


async def perform(stage: Stage, script: str) -> None:
    """Run a script. Raises ScriptError, before anything is done if a directive is unknown, and TurnEnded."""
    steps = [_read_line(line, stage.directives) for line in script.splitlines() if line.strip()]
    for directive, argument in steps:
        await _do(stage, directive, argument)


async def _do(stage: Stage, directive: Directive, argument: str) -> None:
    """An argument that the directive cannot read (ValueError) is answered with the form that its docstring names."""
    try:
        await directive(stage, argument)
    except ValueError as error:
        _, form, _ = (directive.__doc__ or "").split("`", 2)
        raise ScriptError(f"demo agent: write {form}") from error


def _read_line(line: str, directives: Mapping[str, Directive]) -> tuple[Directive, str]:
    name, _, argument = line.strip().partition(" ")
    if name not in directives:
        raise ScriptError(f"demo agent: no directive is called {name!r}; there are {', '.join(sorted(directives))}")
    return directives[name], argument.strip()


def unescape(argument: str) -> str:
    """`argument` with `\\n` and `\\t` made a line break and a tab."""
    return argument.replace("\\n", "\n").replace("\\t", "\t")


# -- the directives -------------------------------------------------------------------------------------------------


async def help(stage: Stage, argument: str) -> None:
    """`help`: this list."""
    lines = [f"- {(directive.__doc__ or '').splitlines()[0]}" for _, directive in sorted(stage.directives.items())]
    await stage.say("\n".join(lines))


async def say(stage: Stage, argument: str) -> None:
    """`say TEXT`: one chunk of the answer."""
    await stage.say(unescape(argument))


async def raw(stage: Stage, argument: str) -> None:
    """`raw JSON`: that update, whatever it is."""
    await stage.send(json.loads(argument))


async def ask(stage: Stage, argument: str) -> None:
    """`ask [TITLE]`: a question only; says what was answered."""
    title = argument or "Do it"
    id = await stage.begin("other", title, {"what": title})
    option = await stage.ask(id, ("other", title), {"title": title, "kind": "other"})
    await stage.change(id, status="completed", content=content(f"You answered: {option}"))


async def together(stage: Stage, argument: str) -> None:
    """`together STEP ;; STEP …`: directives at the same time; what ends the turn ends it when all are through."""
    steps = [_read_line(part, stage.directives) for part in argument.split(";;")]
    ends: list[TurnEnded] = []

    async def branch(directive: Directive, argument: str) -> None:
        try:
            await _do(stage, directive, argument)
        except TurnEnded as end:
            ends.append(end)

    with single_error():
        async with anyio.create_task_group() as tasks:
            for step in steps:
                tasks.start_soon(branch, *step)
    if ends:
        raise ends[0]


DIRECTIVES: Mapping[str, Directive] = {
    "help": help,
    "say": say,
    "ask": ask,
    "raw": raw,
    "read": files.read,
    "delete": files.delete,
    "shell": files.shell,
    "notebook": notebook,
    "together": together,
}
