"""How the extension's settings are written, on the command line and in files."""

from typing import Any

import pytest
from copilot_kernel.server.app import CopilotApp, StringList
from copilot_kernel.server.standalone import StandaloneServer
from jupyter_server.serverapp import ServerApp
from traitlets import List, TraitError

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
@pytest.mark.parametrize(("written", "meant"), [
    ([ONE, TWO], [ONE, TWO]), ([f'["{ONE}", "{TWO}"]'], [ONE, TWO]), ([f"['{ONE}']", TWO], [ONE, TWO]), (["[]"], []),
])  # fmt: skip
def test_a_list_may_be_one_text(server: Any, written: list[str], meant: list[str]) -> None:
    assert server(*(f"--CopilotApp.cors_origins={each}" for each in written)).cors_origins == meant


@pytest.mark.parametrize("server", [knowing, in_jupyter])
@pytest.mark.parametrize("written", [f"['{ONE}'", "[1, 2]", "['a'] + ['b']"])
def test_what_only_looks_like_a_list_is_refused(server: Any, written: str) -> None:
    with pytest.raises((TraitError, SystemExit)):
        server(f"--CopilotApp.allow={written}")


def test_an_error_shows_the_right_form() -> None:
    with pytest.raises(TraitError, match=r"Write --CopilotApp.allow=VALUE once for each value, or all of them as"):
        in_jupyter("--CopilotApp.allow=['Read'")


def test_every_list_is_read_so() -> None:
    own = {name: trait for name, trait in CopilotApp.class_own_traits(config=True).items() if isinstance(trait, List)}
    assert sorted(own) == ["allow", "chat_allow", "cors_origins"]
    assert {type(trait) for trait in own.values()} == {StringList}


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
