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
    """Run a script. Raises ScriptError before anything is done if a directive is unknown, and TurnEnded."""
    steps = [_read_line(line, stage.directives) for line in script.splitlines() if line.strip()]
    for directive, argument in steps:
        await directive(stage, argument)


def _read_line(line: str, directives: Mapping[str, Directive]) -> tuple[Directive, str]:
    name, _, argument = line.strip().partition(" ")
    if name not in directives:
        raise ScriptError(f"demo agent: no directive is called {name!r}; there are {', '.join(sorted(directives))}")
    return directives[name], argument.strip()


def read_json(argument: str) -> Any:
    """Any JSON. Raises ScriptError."""
    try:
        return json.loads(argument)
    except ValueError as error:
        raise ScriptError(f"demo agent: this is not JSON: {error}") from None


def unescape(argument: str) -> str:
    """`argument` with `\\n` and `\\t` made a line break and a tab."""
    return argument.replace("\\n", "\n").replace("\\t", "\t")


def split_two(argument: str, separator: str, form: str) -> tuple[str, str]:
    """Both sides of `separator`. Raises ScriptError, naming the `form` that was expected."""
    left, found, right = argument.partition(separator)
    if not found:
        raise ScriptError(f"demo agent: write {form}")
    return left.strip(), right.strip()


def numbers(argument: str, defaults: Sequence[float], form: str) -> list[float]:
    """The numbers in `argument`, with `defaults` for those left out. Raises ScriptError, naming the `form`."""
    words = argument.split()
    try:
        given = [float(word) for word in words[: len(defaults)]]
    except ValueError:
        raise ScriptError(f"demo agent: write {form}") from None
    return [*given, *defaults[len(given) :]]


# -- the directives -------------------------------------------------------------------------------------------------


async def help(stage: Stage, argument: str) -> None:
    """`help`: this list."""
    lines = [f"- {(directive.__doc__ or '').splitlines()[0]}" for _, directive in sorted(stage.directives.items())]
    await stage.say("\n".join(lines))


async def say(stage: Stage, argument: str) -> None:
    """`say TEXT`: one chunk of the answer."""
    await stage.say(unescape(argument))


async def text(stage: Stage, argument: str) -> None:
    """`text TEXT`: the same, word by word with short pauses."""
    await stage.stream(unescape(argument))


async def think(stage: Stage, argument: str) -> None:
    """`think TEXT`: one chunk of a thought."""
    await stage.think(unescape(argument))


async def slow(stage: Stage, argument: str) -> None:
    """`slow N [SECONDS]`: N chunks, that many seconds apart (0.2)."""
    amount, seconds = numbers(argument, (10, 0.2), "slow N [SECONDS]")
    for number in range(1, int(amount) + 1):
        await stage.say(f"{number} ")
        await anyio.sleep(seconds)


async def plan(stage: Stage, argument: str) -> None:
    """`plan A;B;C [/ DONE]`: the whole plan, of which DONE steps are done (0)."""
    words, _, number = argument.partition(" / ")
    (done,) = numbers(number, (0,), "plan A;B;C [/ DONE]")
    await stage.plan([step.strip() for step in words.split(";") if step.strip()], int(done))


async def raw(stage: Stage, argument: str) -> None:
    """`raw JSON`: that update, whatever it is."""
    await stage.send(read_json(argument))


async def ask(stage: Stage, argument: str) -> None:
    """`ask [TITLE]`: a question only; says what was answered."""
    title = argument or "Do it"
    id = await stage.begin("other", title, {"what": title})
    option = await stage.ask(id, ("other", title), {"title": title, "kind": "other"})
    await stage.change(id, status="completed", content=content(f"You answered: {option}"))


async def edit(stage: Stage, argument: str) -> None:
    """`edit PATH OLD => NEW`: changes a file, after a question."""
    form = "edit PATH OLD => NEW"
    name, change = split_two(argument, " ", form)
    old, new = split_two(change, "=>", form)
    await files.edit(stage, name, unescape(old), unescape(new))


async def create(stage: Stage, argument: str) -> None:
    """`create PATH TEXT`: writes a file, after a question."""
    name, words = split_two(argument, " ", "create PATH TEXT")
    await files.create(stage, name, unescape(words))


async def unasked(stage: Stage, argument: str) -> None:
    """`unasked CMD`: runs a command without asking."""
    await files.shell(stage, argument, asks=False)


async def together(stage: Stage, argument: str) -> None:
    """`together STEP ;; STEP …`: directives at the same time; what ends the turn ends it when all are through."""
    steps = [_read_line(part, stage.directives) for part in argument.split(";;")]
    ends: list[TurnEnded] = []

    async def branch(directive: Directive, argument: str) -> None:
        try:
            await directive(stage, argument)
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
    "text": text,
    "think": think,
    "slow": slow,
    "plan": plan,
    "raw": raw,
    "ask": ask,
    "read": files.read,
    "edit": edit,
    "create": create,
    "delete": files.delete,
    "shell": files.shell,
    "unasked": unasked,
    "together": together,
}
