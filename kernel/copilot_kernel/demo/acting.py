"""Directives that do something: files, commands, questions, requests to the client."""

from __future__ import annotations

import json

import anyio

from ..errors import AgentRefused
from . import files, protocol
from .script import numbers, read_json, split_two, unescape
from .shell import shell as run
from .stage import Directive, Stage


async def read(stage: Stage, argument: str) -> None:
    """`read PATH`: reads a file, without a question."""
    await files.read(stage, argument)


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


async def delete(stage: Stage, argument: str) -> None:
    """`delete PATH`: deletes a file, after a question."""
    await files.delete(stage, argument)


async def shell(stage: Stage, argument: str) -> None:
    """`shell CMD`: runs a command, after a question."""
    await run(stage, argument)


async def unasked(stage: Stage, argument: str) -> None:
    """`unasked CMD`: runs a command without asking."""
    await run(stage, argument, asks=False)


async def ask(stage: Stage, argument: str) -> None:
    """`ask [TITLE]`: a question only; says what was answered."""
    title = argument or "Do it"
    id = await stage.begin("other", title, {"what": title})
    option = await stage.ask(id, ("other", title), {"title": title, "kind": "other"})
    await stage.change(id, status="completed", content=protocol.content(f"You answered: {option}"))


async def options(stage: Stage, argument: str) -> None:
    """`options KIND[=NAME];…`: what is offered with the next questions of this turn."""
    stage.options = protocol.options(argument.split(";"))


async def withdraw(stage: Stage, argument: str) -> None:
    """`withdraw [SECONDS]`: asks, and takes the question back after that time (0.3)."""
    (seconds,) = numbers(argument, (0.3,), "withdraw [SECONDS]")
    id = await stage.begin("other", "Do it, or perhaps not", {"what": "nothing"})
    with anyio.move_on_after(seconds):
        await stage.ask(id, ("withdraw", id), {"title": "Do it, or perhaps not", "kind": "other"}, withdraws=True)
        return await stage.change(id, status="completed", content=protocol.content("You were faster."))
    await stage.change(id, status="failed", content=protocol.content("I took my question back."))


async def request(stage: Stage, argument: str) -> None:
    """`request METHOD [JSON]`: any request to the client, of this session unless it says other; says the answer."""
    method, _, params = argument.partition(" ")
    try:
        whole = {"sessionId": stage.session.id, **read_json(params or "{}")}
        answer = json.dumps(await stage.connection.request(method, whole))
    except AgentRefused as error:
        answer = f"error {error.code}: {error}"
    await stage.say(f"{method} answered {answer}")


async def notify(stage: Stage, argument: str) -> None:
    """`notify METHOD [JSON]`: any notification to the client."""
    method, _, params = argument.partition(" ")
    await stage.connection.notify(method, read_json(params or "{}"))


ACTING: dict[str, Directive] = {
    directive.__name__: directive
    for directive in (read, edit, create, delete, shell, unasked, ask, options, withdraw, request, notify)
}
