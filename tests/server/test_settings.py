"""How the extension's settings are written, on the command line and in files."""

from typing import Any

import pytest
from copilot_kernel.server.app import CopilotApp
from copilot_kernel.server.standalone import StandaloneServer
from jupyter_server.serverapp import ServerApp
from traitlets import TraitError

ONE, TWO = "https://one.example", "http://two.example:3000"


def knowing(*options: str) -> CopilotApp:
    """Our options are read by who knows what they are."""
    app = CopilotApp()
    app.parse_command_line(list(options))
    return app


def in_jupyter(*options: str) -> CopilotApp:
    """Jupyter's own server reads them before it knows."""
    server = ServerApp()
    server.parse_command_line(list(options))
    return CopilotApp(config=server.config)


@pytest.mark.parametrize("server", [knowing, in_jupyter])
@pytest.mark.parametrize("written", [[ONE], [ONE, TWO]])
def test_a_list_is_written_once_for_each_value(server: Any, written: list[str]) -> None:
    assert server(*(f"--CopilotApp.cors_origins={each}" for each in written)).cors_origins == written


def test_the_environment_has_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_MODEL", "gpt-9")
    monkeypatch.setenv("COPILOT_KERNEL_ACTIVITY_TIMEOUT", "600")
    assert (CopilotApp().defaultModel, CopilotApp().activity_timeout) == ("gpt-9", 600)


@pytest.mark.parametrize("origin", ["https://one.example/", "one.example", "*", "HTTPS://ONE.example", ""])
def test_what_no_browser_sends_as_an_origin_is_refused(origin: str) -> None:
    with pytest.raises(TraitError, match=r"is not an origin\. Write scheme, host and port"):
        CopilotApp(cors_origins=[origin])


def test_its_port_is_8080_or_none() -> None:
    app = CopilotApp()
    app.serverapp = StandaloneServer()
    own = app._jupyter_server_config()["ServerApp"]
    assert (own["port"], own["port_retries"]) == (8080, 0)
