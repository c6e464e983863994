"""Signing in to the test agent: a file records it, so that another process can do it (`--login`)."""

from collections.abc import Mapping
from typing import Any

from copilot_kernel.acp.jsonrpc import AUTH_REQUIRED, RequestFailed
from copilot_kernel.demo.demo_session import Json, home

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
    """Sign in everybody who uses the same folder (`home`)."""
    mark = home() / "signed-in"
    mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark.touch()


class SignIn:
    """The sign-in of one connection, which sessions need after `logout` and with the switch `signed-out`."""

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
        """Raise RequestFailed unless somebody is signed in."""
        if self._needed and not (home() / "signed-in").exists():
            raise RequestFailed(AUTH_REQUIRED, "Authentication required")

    async def authenticate(self, params: Json) -> Json:
        """Sign in by the method of type `agent`; with the others, only answer whether somebody is signed in."""
        if params["methodId"] == METHODS["agent"]["id"]:
            log_in()
        self.require()
        return {}

    async def logout(self, params: Json) -> Json:
        self._needed = True
        (home() / "signed-in").unlink(missing_ok=True)
        return {}
