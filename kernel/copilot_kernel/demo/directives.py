"""All directives of a script, and how a script runs."""

from __future__ import annotations

import anyio

from ..acp.transport import single_error
from .acting import ACTING
from .asking import ASKING
from .ending import ENDING
from .media import MEDIA
from .ownterminal import OWN_TERMINAL
from .saying import SAYING
from .script import Step, parse, parse_line
from .services import SERVICES
from .stage import Directive, Stage, TurnEnded
from .swapping import SWAPPING


async def perform(stage: Stage, script: str) -> None:
    """Run a script. Raises ScriptError before anything is done if a line cannot be read, and TurnEnded."""
    for step in parse(script, DIRECTIVES):
        await _do(stage, step)


async def _do(stage: Stage, step: Step) -> None:
    await DIRECTIVES[step.name](stage, step.argument)


async def help(stage: Stage, argument: str) -> None:
    """`help`: this list."""
    lines = [f"- {(directive.__doc__ or '').splitlines()[0]}" for _, directive in sorted(DIRECTIVES.items())]
    await stage.say("\n".join(lines))


async def together(stage: Stage, argument: str) -> None:
    """`together STEP ;; STEP …`: directives at the same time; what ends the turn ends it when all are through."""
    steps = [parse_line(part, DIRECTIVES) for part in argument.split(";;")]
    ends: list[TurnEnded] = []

    async def branch(step: Step) -> None:
        try:
            await _do(stage, step)
        except TurnEnded as end:
            ends.append(end)

    with single_error():
        async with anyio.create_task_group() as tasks:
            for step in steps:
                tasks.start_soon(branch, step)
    if ends:
        raise ends[0]


async def ask2(stage: Stage, argument: str) -> None:
    """`ask2`: two questions at once, to be answered in any order."""
    await together(stage, "ask The first thing ;; ask The second thing")


DIRECTIVES: dict[str, Directive] = {
    **SAYING,
    **MEDIA,
    **ACTING,
    **ASKING,
    **SERVICES,
    **OWN_TERMINAL,
    **ENDING,
    **SWAPPING,
    "help": help,
    "together": together,
    "ask2": ask2,
}
