"""Which of the agent's ways to sign in is meant (spec: authentication)."""

from __future__ import annotations

import shlex

from ..acp.agent_errors import no_way_to_sign_in
from ..acp.messages import AgentInfo, AuthMethod
from ..errors import UsageError


def method_for(info: AgentInfo, typed: str) -> AuthMethod:
    """The method that the agent can be asked for, by id or name; without one, the first.

    Raises UsageError for one that is a command for a terminal: it is the user's to run.
    """
    methods = info.auth_methods
    if not methods:
        raise UsageError("Nobody can be signed in from here.", no_way_to_sign_in(info))
    wanted = [method for method in methods if typed in (method.id, method.name)] if typed else _askable(methods)
    if wanted and _askable(wanted):
        return _askable(wanted)[0]
    if typed and not wanted:
        names = ", ".join(method.id for method in methods)
        raise UsageError(f"The agent has no way to sign in that is called {typed}.", f"There is: {names}.")
    raise UsageError("The agent is signed in to in a terminal.", "\n".join(map(_how, wanted or methods)))


def _askable(methods: tuple[AuthMethod, ...] | list[AuthMethod]) -> list[AuthMethod]:
    return [method for method in methods if method.type == "agent" and not method.command]


def _how(method: AuthMethod) -> str:
    command = f"`{shlex.join(method.command)}`" if method.command else method.description
    return f"{method.name}: {command}" if command else method.name
