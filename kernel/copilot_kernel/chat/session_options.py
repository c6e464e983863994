"""Setting the session's mode, model and other options: typed by short names, sent as the agent's own values."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from ..acp.agent_connection import Session
from ..acp.messages import SessionState
from ..acp.results import option_of, with_mode, with_options
from . import choices
from .session_manager import SessionManager
from .state import ConversationState

Offer = Literal["modes", "models", "options"]


class SessionOptions:
    """Options of the session that the prompts go to, which is opened if need be."""

    def __init__(self, sessions: SessionManager, state: ConversationState) -> None:
        self._sessions, self._state = sessions, state

    async def offered(self, what: Offer) -> SessionState:
        """Options that the session can be set to. Agents may send them only a moment after they have opened it.

        A list of options is complete: what is missing in it is not waited for.
        """
        session = await self._sessions.ready()

        def are_known(_: object = None) -> bool:
            return bool(self._now(session).options or getattr(self._now(session), what))

        if session.options_delay and not are_known():
            await self._state.until(are_known, session.options_delay)
        now = self._now(session)
        if not (now.modes or now.models or now.options):
            session.set_no_options()
        return now

    async def set_mode(self, typed: str) -> None:
        """Set a mode of the agent's, by its id or a short name that no other has. Raises UsageError.

        Where the agent names none, it gets what was typed; so it is with models.
        """
        session = await self._sessions.ready()
        value = choices.find(choices.modes(await self.offered("modes")), typed).value
        if not await self._set_category(session, "mode", str(value)):
            await session.set_mode(str(value))
            self._state.set_session(with_mode(self._now(session), str(value)))

    async def set_model(self, typed: str) -> None:
        """Set a model of the agent's, by its id or name. Raises UsageError."""
        session = await self._sessions.ready()
        value = choices.find(choices.models(await self.offered("models")), typed).value
        if not await self._set_category(session, "model", str(value)):
            await session.set_model(str(value))
            self._state.set_session(replace(self._now(session), model=str(value)))

    async def set_option(self, option: str, typed: str | bool) -> None:
        """Any option by its id. A value for an option without choices is sent as it is. Raises UsageError."""
        session = await self._sessions.ready()
        setting = choices.find_option(choices.options(await self.offered("options")), option)
        await self._set(session, setting.id, choices.find(setting, typed).value)

    async def _set_category(self, session: Session, category: str, value: str) -> bool:
        """Set the option of a category; return False if there is none."""
        option = option_of(self._now(session).options, category)
        if option:
            await self._set(session, str(option.get("id")), value)
        return option is not None

    async def _set(self, session: Session, option_id: str, value: str | bool) -> None:
        """Changing one can change others: the answer's whole list counts."""
        options = await session.set_option(option_id, value)
        now = self._now(session)
        if options is None:
            options = tuple({**o, "currentValue": value} if o.get("id") == option_id else o for o in now.options)
        self._state.set_session(with_options(now, options))

    def _now(self, session: Session) -> SessionState:
        return self._state.conversation.state or session.state
