"""What the session is set to: names are taken short, as the user types them, and sent as the agent's own values."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import anyio

from ..acp.messages import ConfigUpdate, ModeUpdate, SessionState, Update
from ..acp.options import option_of, with_mode, with_options
from ..acp.session import Session
from ..errors import UsageError
from . import choices
from .record import ConversationState

SWITCH = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


Offer = Literal["modes", "models", "options"]


async def offered(session: Session, record: ConversationState, what: Offer) -> SessionState:
    """What the session can be set to. Agents may tell it only a moment after they have opened the session.

    A list of options is complete: what is missing then is not waited for.
    """
    told = anyio.Event()

    def hear(update: Update) -> None:
        if isinstance(update, ConfigUpdate | ModeUpdate):
            told.set()

    record.listeners.append(hear)
    try:
        delay = session.options_delay
        with anyio.move_on_after(delay) as limit:
            while delay and not (_state(record, session).options or getattr(_state(record, session), what)):
                await told.wait()
                told = anyio.Event()
    finally:
        record.listeners.remove(hear)
    state = _state(record, session)
    if limit.cancelled_caught and not (state.modes or state.models or state.options):
        session.told_no_options()
    return state


async def set_mode(session: Session, record: ConversationState, typed: str) -> None:
    """By the option that is the mode, else by `session/set_mode`."""
    state = await offered(session, record, "modes")
    value = str(choices.find(choices.modes(state), typed).value)
    if option := option_of(state.options, "mode"):
        await _set_option(session, record, str(option.get("id")), value)
    else:
        await session.set_mode(value)
        record.set_state(with_mode(_state(record, session), value))


async def set_model(session: Session, record: ConversationState, typed: str) -> None:
    """By the option that is the model, else by `session/set_model`, which agents know that tell `models`."""
    state = await offered(session, record, "models")
    value = str(choices.find(choices.models(state), typed).value)
    if option := option_of(state.options, "model"):
        await _set_option(session, record, str(option.get("id")), value)
    else:
        await session.set_model(value)
        record.set_state(replace(_state(record, session), model=value))


async def set_option(session: Session, record: ConversationState, option: str, typed: str | bool) -> None:
    """Any option by its id. A value that is no choice of an option without choices is sent as it is."""
    setting = choices.find_option(choices.options(await offered(session, record, "options")), option)
    value = typed if not setting.choices else _choice(setting, typed)
    await _set_option(session, record, setting.id, value)


def _choice(setting: choices.Setting, typed: str | bool) -> str | bool:
    switch = isinstance(setting.choices[0].value, bool)
    if switch and (typed if isinstance(typed, bool) else typed.strip().casefold()) in (*SWITCH, True, False):
        return typed if isinstance(typed, bool) else SWITCH[typed.strip().casefold()]
    if isinstance(typed, bool):
        raise UsageError(f"{setting.name} is no switch.", "Give the name of one of its values.")
    return choices.find(setting, typed).value


async def _set_option(session: Session, record: ConversationState, option_id: str, value: str | bool) -> None:
    """Changing one can change others: the answer's whole list counts."""
    told = await session.set_option(option_id, value)
    state = _state(record, session)
    if told is None:
        told = tuple({**o, "currentValue": value} if o.get("id") == option_id else o for o in state.options)
    record.set_state(with_options(state, told))


def _state(record: ConversationState, session: Session) -> SessionState:
    return record.conversation.state or session.state
