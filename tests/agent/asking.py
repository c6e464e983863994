"""Directives that ask: in other ways than `ask`, by elicitations, and for something else than what is done then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
from copilot_kernel.acp.transport import single_error
from copilot_kernel.demo.directives import together
from copilot_kernel.demo.files import running
from copilot_kernel.demo.session import Json
from copilot_kernel.demo.stage import Directive, Stage, TurnEnded, chosen, content
from copilot_kernel.errors import AgentRefused

from .directives import numbers, split_two

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
TITLE = "Please answer the following questions"
SUBMIT = [
    {"optionId": "proceed_once", "kind": "allow_once", "name": "Submit"},
    {"optionId": "cancel", "kind": "reject_once", "name": "Cancel"},
]
QUESTIONS = "Which colour?:Red|Green;And what else?:Card|Ribbon"


OPTION_NAMES = {
    "allow_once": "Allow once",
    "allow_always": "Always allow",
    "reject_once": "Deny",
    "reject_always": "Always deny",
}


def options(kinds: Sequence[str]) -> list[Json]:
    """Permission options from `kind` or `kind=Name`; a kind that comes again gets an id of its own (`allow_once_2`)."""
    made: list[Json] = []
    for kind, _, name in (item.strip().partition("=") for item in kinds):
        times = 1 + sum(option["kind"] == kind for option in made)
        id = kind if times == 1 else f"{kind}_{times}"
        made.append({"optionId": id, "kind": kind, "name": name or OPTION_NAMES.get(kind, kind)})
    return made


async def offer(stage: Stage, argument: str) -> None:
    """`options KIND[=NAME];…`: what is offered with the next questions of this turn."""
    stage.options = options(argument.split(";"))


async def withdraw(stage: Stage, argument: str) -> None:
    """`withdraw [SECONDS]`: asks, and takes the question back after that time (0.3)."""
    (seconds,) = numbers(argument, (0.3,))
    id = await stage.begin("other", "Do it, or perhaps not", {"what": "nothing"})
    with anyio.move_on_after(seconds):
        await stage.ask(id, ("withdraw", id), {"title": "Do it, or perhaps not", "kind": "other"}, withdraws=True)
        return await stage.change(id, status="completed", content=content("You were faster."))
    await stage.change(id, status="failed", content=content("I took my question back."))


async def request(stage: Stage, argument: str) -> None:
    """`request METHOD [JSON]`: any request to the client, of this session unless it says other; says the answer."""
    method, _, params = argument.partition(" ")
    try:
        whole = {"sessionId": stage.session.id, **json.loads(params or "{}")}
        answer = json.dumps(await stage.client.request(method, whole))
    except AgentRefused as error:
        answer = f"error {error.code}: {error}"
    await stage.say(f"{method} answered {answer}")


async def ask2(stage: Stage, argument: str) -> None:
    """`ask2`: two questions at once, to be answered in any order."""
    await together(stage, "ask The first thing ;; ask The second thing")


async def elicit(stage: Stage, argument: str) -> None:
    """`elicit form [JSON]`, `elicit url URL`: asks by an elicitation, if the client has it; says what was answered.

    JSON is a schema, or all parameters; without it the form has a field of each kind.
    """
    kind, _, rest = argument.partition(" ")
    params = _form(rest) if kind == "form" else _url(stage, rest)
    answer = await _elicit(stage, params)
    await stage.say(f"You answered: {answer}")
    if kind == "url":
        await stage.client.notify("elicitation/complete", {"elicitationId": params["elicitationId"]})


async def elicit_withdrawn(stage: Stage, argument: str) -> None:
    """`elicit-withdrawn [SECONDS]`: shows a form, and takes it back after that time (0.3)."""
    (seconds,) = numbers(argument, (0.3,))
    with anyio.move_on_after(seconds):
        return await stage.say(f"You answered: {await _elicit(stage, _form(''))}")
    await stage.say("I took my question back.")


def _form(argument: str) -> Json:
    given = json.loads(argument) if argument else FORM
    params = given if "requestedSchema" in given else {"requestedSchema": given}
    return {"mode": "form", "message": "The demo agent wants to know something.", **params}


def _url(stage: Stage, url: str) -> Json:
    id = f"elicitation_{len(stage.session.prompts)}"
    message = "The demo agent asks you to open a page."
    return {"mode": "url", "message": message, "elicitationId": id, "url": url or "https://example.org/demo"}


async def _elicit(stage: Stage, params: Json) -> str:
    if (stage.client.capabilities.get("elicitation") or {}).get(params["mode"]) is None:
        return f"nothing, for this client has no elicitation of mode {params['mode']}"
    try:
        answer = await stage.client.request("elicitation/create", {"sessionId": stage.session.id, **params})
    except AgentRefused as error:
        return f"error {error.code}: {error}"
    return json.dumps(answer)


async def question(stage: Stage, argument: str) -> None:
    """`question [TEXT[:A|B];…]`: questions inside a permission request, as one agent has them."""
    raw_input = {"questions": [_question(part) for part in (argument or QUESTIONS).split(";")]}
    id = await stage.begin("think", TITLE, raw_input)
    call = {"toolCallId": id, "status": "pending", "title": TITLE, "kind": "think", "rawInput": raw_input}
    params = {"sessionId": stage.session.id, "toolCall": call, "options": SUBMIT}
    answer = await stage.client.request("session/request_permission", params)
    _, kind = chosen(answer, SUBMIT)
    if kind == "cancelled":
        raise TurnEnded("cancelled")
    words = f"You answered: {json.dumps(answer)}"
    await stage.change(id, status="completed" if kind == "allow_once" else "failed", content=content(words))


def _question(text: str) -> Json:
    words, _, choices = text.partition(":")
    options: list[Any] = [{"label": choice.strip(), "description": ""} for choice in choices.split("|") if choice]
    return {"question": words.strip(), "header": words.strip()[:12], "options": options, "multiSelect": False}


SWAP_SECONDS = 0.3
"""Between a question and another description of what it is about."""


async def swap(stage: Stage, argument: str) -> None:
    """`swap CMD => OTHER`: asks about CMD, says that it is OTHER while the question is open, runs that if allowed."""
    command, other = split_two(argument, "=>")
    id = await stage.begin("execute", f"Run {command}", {"command": command})

    async def say_other() -> None:
        await anyio.sleep(SWAP_SECONDS)
        await _change_command(stage, id, other)

    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say_other)
            await _ask_about(stage, id, command)
            tasks.cancel_scope.cancel()
    await _run_quietly(stage, id, other)


async def swap_late(stage: Stage, argument: str) -> None:
    """`swap-late CMD => OTHER`: asks about CMD, and runs OTHER when that was allowed."""
    command, other = split_two(argument, "=>")
    id = await stage.begin("execute", f"Run {command}", {"command": command})
    await _ask_about(stage, id, command)
    await _change_command(stage, id, other)
    await _run_quietly(stage, id, other)


async def _ask_about(stage: Stage, id: str, command: str) -> None:
    raw_input = {"command": command, "commands": [command]}
    question = {"title": f"Run {command}", "kind": "execute", "rawInput": raw_input}
    await stage.ask(id, ("execute", command), question, withdraws=True)


async def _change_command(stage: Stage, id: str, command: str) -> None:
    await stage.change(id, title=f"Run {command}", rawInput={"command": command})


async def _run_quietly(stage: Stage, id: str, command: str) -> None:
    async with running(command, stage.session.cwd) as process:
        await process.wait()
    await stage.change(id, status="completed", content=content(f"This ran: {command}"))


ASKING: dict[str, Directive] = {
    "options": offer,
    "withdraw": withdraw,
    "request": request,
    "ask2": ask2,
    "elicit": elicit,
    "elicit-withdrawn": elicit_withdrawn,
    "question": question,
    "swap": swap,
    "swap-late": swap_late,
}
