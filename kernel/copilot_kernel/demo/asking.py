"""Directives that want to know something of a person: elicitations, and questions inside a permission request."""

from __future__ import annotations

import json
from typing import Any

import anyio

from ..errors import AgentRefused
from . import protocol
from .protocol import Json
from .script import numbers, read_json
from .stage import Directive, Stage, TurnEnded

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


async def elicit(stage: Stage, argument: str) -> None:
    """`elicit form [JSON]`, `elicit url URL`: asks by an elicitation, if the client has it; says what was answered.

    JSON is a schema, or all parameters; without it the form has a field of each kind.
    """
    kind, _, rest = argument.partition(" ")
    params = _form(rest) if kind == "form" else _url(stage, rest)
    answer = await _elicit(stage, params)
    await stage.say(f"You answered: {answer}")
    if kind == "url":
        await stage.connection.notify("elicitation/complete", {"elicitationId": params["elicitationId"]})


async def elicit_withdrawn(stage: Stage, argument: str) -> None:
    """`elicit-withdrawn [SECONDS]`: shows a form, and takes it back after that time (0.3)."""
    (seconds,) = numbers(argument, (0.3,), "elicit-withdrawn [SECONDS]")
    with anyio.move_on_after(seconds):
        return await stage.say(f"You answered: {await _elicit(stage, _form(''))}")
    await stage.say("I took my question back.")


def _form(argument: str) -> Json:
    given = read_json(argument) if argument else FORM
    params = given if "requestedSchema" in given else {"requestedSchema": given}
    return {"mode": "form", "message": "The demo agent wants to know something.", **params}


def _url(stage: Stage, url: str) -> Json:
    id = f"elicitation_{len(stage.session.prompts)}"
    message = "The demo agent asks you to open a page."
    return {"mode": "url", "message": message, "elicitationId": id, "url": url or "https://example.org/demo"}


async def _elicit(stage: Stage, params: Json) -> str:
    if (stage.client.get("elicitation") or {}).get(params["mode"]) is None:
        return f"nothing, for this client has no elicitation of mode {params['mode']}"
    try:
        answer = await stage.connection.request("elicitation/create", {"sessionId": stage.session.id, **params})
    except AgentRefused as error:
        return f"error {error.code}: {error}"
    return json.dumps(answer)


async def question(stage: Stage, argument: str) -> None:
    """`question [TEXT[:A|B];…]`: questions inside a permission request, as one agent has them."""
    raw_input = {"questions": [_question(part) for part in (argument or QUESTIONS).split(";")]}
    id = await stage.begin("think", TITLE, raw_input)
    call = {"toolCallId": id, "status": "pending", "title": TITLE, "kind": "think", "rawInput": raw_input}
    params = {"sessionId": stage.session.id, "toolCall": call, "options": SUBMIT}
    answer = await stage.connection.request("session/request_permission", params)
    _, kind = protocol.chosen(answer, SUBMIT)
    if kind == "cancelled":
        raise TurnEnded("cancelled")
    words = f"You answered: {json.dumps(answer)}"
    await stage.change(id, status="completed" if kind == "allow_once" else "failed", content=protocol.content(words))


def _question(text: str) -> Json:
    words, _, choices = text.partition(":")
    options: list[Any] = [{"label": choice.strip(), "description": ""} for choice in choices.split("|") if choice]
    return {"question": words.strip(), "header": words.strip()[:12], "options": options, "multiSelect": False}


ASKING: dict[str, Directive] = {"elicit": elicit, "elicit-withdrawn": elicit_withdrawn, "question": question}
