"""Directives that say something: text of all kinds, plans, notices, and the session's state."""

from __future__ import annotations

from contextlib import suppress

import anyio

from . import protocol, samples
from .script import ScriptError, numbers, read_json, read_value, split_two, unescape
from .stage import Directive, Stage


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


async def flood(stage: Stage, argument: str) -> None:
    """`flood N`: N tiny chunks (`1 `, `2 `, …), as fast as they go."""
    for number in range(1, int(numbers(argument, (1000,), "flood N")[0]) + 1):
        await stage.say(f"{number} ")


async def storm(stage: Stage, argument: str) -> None:
    """`storm N [RATE]`: N updates of all kinds, most about one tool call, RATE a second (0: as fast as they go)."""
    amount, rate = numbers(argument, (1000, 0), "storm N [RATE]")
    id = await stage.begin("other", "A storm", {"updates": int(amount)})
    start = anyio.current_time()
    for number in range(1, int(amount) + 1):
        if rate:
            await anyio.sleep(max(0.0, start + number / rate - anyio.current_time()))
        await _blow(stage, id, number)
    await stage.change(id, status="completed")


async def _blow(stage: Stage, id: str, number: int) -> None:
    match number % 8:
        case 0:
            await stage.say(f"{number} ")
        case 1:
            await stage.think(f"{number} ")
        case 2:
            await stage.send(protocol.plan([f"Step {number}", "Then rest"], number % 2))
        case _:
            await stage.change(id, status="in_progress", content=protocol.content(f"Update {number}"))


async def long(stage: Stage, argument: str) -> None:
    """`long BYTES CHUNKS RATE`: markdown of that many bytes, RATE chunks a second (0: as fast as they go)."""
    size, pieces, rate = numbers(argument, (10_000, 100, 0), "long BYTES CHUNKS RATE")
    start = anyio.current_time()
    for number, piece in enumerate(samples.cut(samples.passage(int(size)), int(pieces))):
        if rate:
            await anyio.sleep(max(0.0, start + number / rate - anyio.current_time()))
        await stage.say(piece)


async def remember(stage: Stage, argument: str) -> None:
    """`remember`: says how many prompts this session has had, and the first."""
    prompts = stage.session.prompts
    await stage.say(f"This is prompt {len(prompts)} of this session; the first was {prompts[0]!r}.")


async def late(stage: Stage, argument: str) -> None:
    """`late TEXT`: a chunk that comes after the prompt's answer."""
    stage.late.append(protocol.chunk(protocol.text_block(unescape(argument) or "demo agent: one more thing")))


async def plan(stage: Stage, argument: str) -> None:
    """`plan A;B;C [/ DONE]`: the whole plan, of which DONE steps are done (0)."""
    words, _, number = argument.partition(" / ")
    (done,) = numbers(number, (0,), "plan A;B;C [/ DONE]")
    steps = [step.strip() for step in words.split(";") if step.strip()]
    await stage.send(protocol.plan(steps, int(done)))


async def notice(stage: Stage, argument: str) -> None:
    """`notice SEVERITY TITLE[: DESCRIPTION]`: a notice."""
    severity, _, words = argument.partition(" ")
    title, _, description = words.partition(": ")
    more = {"description": description} if description else {}
    await stage.send({"sessionUpdate": "notice", "severity": severity or "info", "title": title or "A notice", **more})


async def usage(stage: Stage, argument: str) -> None:
    """`usage USED [SIZE]`: the context used."""
    used, size = numbers(argument, (1000, protocol.CONTEXT_SIZE), "usage USED [SIZE]")
    await stage.send(protocol.usage(int(used), int(size)))


async def mode(stage: Stage, argument: str) -> None:
    """`mode ID`: changes the session's mode by itself."""
    mode = stage.menu.mode(argument or "plan")
    with suppress(ValueError):
        stage.session.choose(stage.menu.choose(stage.session.chosen, "mode", mode))
    await stage.send(protocol.mode_update(mode))


async def option(stage: Stage, argument: str) -> None:
    """`option ID VALUE`: changes an option of the session by itself; VALUE is JSON, or a text."""
    id, value = split_two(argument, " ", "option ID VALUE")
    try:
        stage.session.choose(stage.menu.choose(stage.session.chosen, id, read_value(value)))
    except ValueError as error:
        raise ScriptError(str(error)) from None
    await stage.send(stage.menu.options_update(stage.session.chosen))


async def commands(stage: Stage, argument: str) -> None:
    """`commands [NAME …]`: other slash commands; none without names."""
    await stage.send(
        protocol.commands([{"name": name, "description": f"The {name} command"} for name in argument.split()])
    )


async def raw(stage: Stage, argument: str) -> None:
    """`raw JSON`: that update, whatever it is."""
    await stage.send(read_json(argument))


SAYING: dict[str, Directive] = {
    directive.__name__: directive
    for directive in (
        say,
        text,
        think,
        slow,
        flood,
        storm,
        long,
        remember,
        late,
        plan,
        notice,
        usage,
        mode,
        option,
        commands,
        raw,
    )
}
