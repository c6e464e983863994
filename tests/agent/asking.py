"""Directives that ask: in other ways than `ask`, by elicitations, and for something else than what is done then."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
from copilot_kernel.acp.transport import single_error
from copilot_kernel.demo.directives import together
from copilot_kernel.demo.files import running
from copilot_kernel.demo.session import Json
from copilot_kernel.demo.stage import Directive, Stage, content
from copilot_kernel.errors import AgentRefused

from .faults import pause

FORM: Json = {
    "type": "object",
    "title": "A few questions",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 20},
        "mail": {"type": "string", "title": "Mail address", "format": "email"},
        "colour": {"type": "string", "title": "Colour", "enum": ["red", "green", "blue"], "default": "green"},
        "size": {
            "type": "string",
            "title": "Size",
            "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
        },
        "count": {"type": "integer", "title": "How many", "minimum": 1, "maximum": 10, "default": 3},
        "weight": {"type": "number", "title": "Weight", "description": "In kilograms", "minimum": 0},
        "gift": {"type": "boolean", "title": "Is it a gift?", "default": False},
        "extras": {
            "type": "array",
            "title": "Extras",
            "items": {"type": "string", "enum": ["card", "ribbon", "candle"]},
            "minItems": 1,
            "maxItems": 2,
        },
    },
    "required": ["name", "count"],
}
"""A form with a field of each kind."""
OPTION_NAMES = {
    "allow_once": "Allow once",
    "allow_always": "Always allow",
    "reject_once": "Deny",
    "reject_always": "Always deny",
}


async def offer(stage: Stage, argument: str) -> None:
    """`options KIND[=NAME];…`: what is offered with the next questions of this turn.

    A kind that comes again gets an id of its own (`allow_once_2`).
    """
    stage.options = []
    for kind, _, name in (item.strip().partition("=") for item in argument.split(";")):
        times = 1 + sum(option["kind"] == kind for option in stage.options)
        id = kind if times == 1 else f"{kind}_{times}"
        stage.options.append({"optionId": id, "kind": kind, "name": name or OPTION_NAMES.get(kind, kind)})


async def withdraw(stage: Stage, argument: str) -> None:
    """`withdraw [WHEN]`: asks, and takes the question back after that pause (0.3)."""
    title = "Do it, or perhaps not"
    id = await stage.begin("other", title, {"what": "nothing"})
    question = partial(stage.ask, id, ("withdraw", id), {"title": title, "kind": "other"}, withdraws=True)
    answer = await _before(stage, argument, question)
    words = "I took my question back." if answer is None else "You were faster."
    await stage.change(id, status="completed" if answer else "failed", content=content(words))


async def _before(stage: Stage, when: str, ask: Callable[[], Awaitable[str]]) -> str | None:
    """The answer; None if the pause is over before it comes."""
    with single_error():
        async with anyio.create_task_group() as tasks:

            async def give_up() -> None:
                await pause(stage, when, 0.3)
                tasks.cancel_scope.cancel()

            tasks.start_soon(give_up)
            answer = await ask()
            tasks.cancel_scope.cancel()
            return answer
    return None


async def request(stage: Stage, argument: str) -> None:
    """`request METHOD [JSON]`: any request to the client, of this session unless it says other; says the answer."""
    method, _, params = argument.partition(" ")
    await stage.say(f"{method} answered {await _answer(stage, method, json.loads(params or '{}'))}")


async def _answer(stage: Stage, method: str, params: Json) -> str:
    try:
        return json.dumps(await stage.client.request(method, {"sessionId": stage.session.id, **params}))
    except AgentRefused as error:
        return f"error {error.code}: {error}"


async def ask2(stage: Stage, argument: str) -> None:
    """`ask2`: two questions at once, to be answered in any order."""
    await together(stage, "ask The first thing ;; ask The second thing")


async def elicit(stage: Stage, argument: str) -> None:
    """`elicit form [JSON]`, `elicit url URL`: asks by an elicitation; says what was answered.

    JSON is a schema, or all parameters; without it the form has a field of each kind.
    """
    kind, _, rest = argument.partition(" ")
    if kind == "form":
        return await stage.say(f"You answered: {await _form(stage, rest)}")
    id = f"elicitation_{len(stage.session.prompts)}"
    params = {"mode": "url", "message": "The demo agent asks you to open a page.", "elicitationId": id, "url": rest}
    await stage.say(f"You answered: {await _answer(stage, 'elicitation/create', params)}")
    await stage.client.notify("elicitation/complete", {"elicitationId": id})


async def _form(stage: Stage, argument: str = "") -> str:
    given = json.loads(argument) if argument else FORM
    params = given if "requestedSchema" in given else {"requestedSchema": given}
    message = "The demo agent wants to know something."
    return await _answer(stage, "elicitation/create", {"mode": "form", "message": message, **params})


async def elicit_withdrawn(stage: Stage, argument: str) -> None:
    """`elicit-withdrawn [WHEN]`: shows a form, and takes it back after that pause (0.3)."""
    answer = await _before(stage, argument, partial(_form, stage))
    await stage.say("I took my question back." if answer is None else f"You answered: {answer}")


async def swap(stage: Stage, argument: str) -> None:
    """`swap CMD => OTHER [=> WHEN]`: asks about CMD, says after that pause (0.3) that it is OTHER, runs it if allowed.

    An answer does not wait for the pause.
    """
    command, other, when = [part.strip() for part in f"{argument} => ".split("=>")][:3]
    id = await stage.begin("execute", f"Run {command}", {"command": command})
    change = partial(stage.change, id, title=f"Run {other}", rawInput={"command": other})

    async def change_meanwhile() -> None:
        await pause(stage, when, 0.3)
        await change()

    question = {"title": f"Run {command}", "kind": "execute", "rawInput": {"command": command, "commands": [command]}}
    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(change_meanwhile)
            await stage.ask(id, ("execute", command), question, withdraws=True)
            tasks.cancel_scope.cancel()
    await change()
    async with running(other, stage.session.cwd) as process:
        await process.wait()
    await stage.change(id, status="completed", content=content(f"This ran: {other}"))


async def swap_late(stage: Stage, argument: str) -> None:
    """`swap-late CMD => OTHER`: asks about CMD, and runs OTHER when that was allowed."""
    await swap(stage, f"{argument} => inf")


ASKING: dict[str, Directive] = {
    "options": offer,
    "withdraw": withdraw,
    "request": request,
    "ask2": ask2,
    "elicit": elicit,
    "elicit-withdrawn": elicit_withdrawn,
    "swap": swap,
    "swap-late": swap_late,
}
"""Directives by name."""
