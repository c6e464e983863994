"""Signing in to the test agent: whoever is signed in has a file, so it can also happen elsewhere (`--login`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from copilot_kernel.acp.jsonrpc import AUTH_REQUIRED, RequestFailed
from copilot_kernel.demo.session import Json, home

from .faults import Switches

LOGIN: Json = {
    "id": "demo-login",
    "name": "Sign in to the demo agent",
    "description": "Run `python tests/agent --login` in a terminal",
    "_meta": {
        "terminal-auth": {"command": "python", "args": ["tests/agent", "--login"], "label": "Demo agent sign-in"}
    },
}
METHODS: Mapping[str, Json] = {
    "agent": {"id": "demo-account", "name": "Demo account", "description": "The demo agent signs you in by itself"},
    "terminal": {
        "type": "terminal",
        "id": "demo-terminal",
        "name": "Sign in with a terminal",
        "args": ["--login"],
        "env": {"COPILOT_KERNEL_DEMO_SIGN_IN": "1"},
    },
    "meta": LOGIN,
}


def log_in() -> None:
    """Whoever uses the same folder (`home`) is signed in from now on."""
    mark = home() / "signed-in"
    mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark.touch()


class SignIn:
    """Of one connection. With the switch `signed-out`, and after `logout`, sessions need a sign-in."""

    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._needed = "signed-out" in switches

    def offered(self, client: Mapping[str, Any]) -> list[Json]:
        """The methods; type `terminal` only for a client with that capability."""
        kinds = (self._switches.get("auth") or "meta").split("+")
        if not (client.get("auth") or {}).get("terminal"):
            kinds = [kind for kind in kinds if kind != "terminal"]
        return [METHODS[kind] for kind in kinds if kind in METHODS]

    def require(self) -> None:
        """Raises RequestFailed for who is not signed in."""
        if self._needed and not (home() / "signed-in").exists():
            raise RequestFailed(AUTH_REQUIRED, "Authentication required")

    async def authenticate(self, params: Json) -> Json:
        """Only the method of type `agent` signs anybody in; the others, as Copilot does, say what is true."""
        if params["methodId"] == METHODS["agent"]["id"]:
            log_in()
        self.require()
        return {}

    async def logout(self, params: Json) -> Json:
        self._needed = True
        (home() / "signed-in").unlink(missing_ok=True)
        return {}
