"""How the extension's settings are written, on the command line and in files."""

from __future__ import annotations

from typing import Any

import pytest
from copilot_kernel.server.app import CopilotApp
from copilot_kernel.server.listing import TextList
from jupyter_server.serverapp import ServerApp
from traitlets import List, TraitError
from traitlets.config import Config

LISTS = ["allow", "chat_allow", "cors_origins"]
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


def test_every_list_is_of_this_kind() -> None:
    own = {name: trait for name, trait in CopilotApp.class_own_traits(config=True).items() if isinstance(trait, List)}
    assert sorted(own) == LISTS
    assert {type(trait) for trait in own.values()} == {TextList}


@pytest.mark.parametrize("server", [knowing, in_jupyter])
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ([ONE], [ONE]),
        ([ONE, TWO], [ONE, TWO]),
        ([f"['{ONE}']"], [ONE]),
        ([f'["{ONE}", "{TWO}"]'], [ONE, TWO]),
        ([f"['{ONE}']", TWO], [ONE, TWO]),
        (["[]"], []),
    ],
)
def test_a_list_may_be_one_text(server: Any, name: str, written: list[str], meant: list[str]) -> None:
    app = server(*(f"--CopilotApp.{name}={each}" for each in written))
    assert getattr(app, name) == meant


@pytest.mark.parametrize("written", [ONE, [ONE], f"['{ONE}']", [f"['{ONE}']"], (ONE,)])
@pytest.mark.parametrize("name", LISTS)
def test_in_a_file_too(name: str, written: Any) -> None:
    assert getattr(CopilotApp(config=Config({"CopilotApp": {name: written}})), name) == [ONE]


@pytest.mark.parametrize("server", [knowing, in_jupyter])
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("written", [f"['{ONE}'", f"[{ONE}]", "[1, 2]", "['a', ['b']]", "['a'] + ['b']"])
def test_what_only_looks_like_a_list_is_refused(server: Any, name: str, written: str) -> None:
    with pytest.raises((TraitError, SystemExit)):
        server(f"--CopilotApp.{name}={written}")


def test_the_right_form_is_said() -> None:
    with pytest.raises(TraitError, match=r"Write --CopilotApp.allow=VALUE once for each value, or all of them as"):
        in_jupyter("--CopilotApp.allow=['Read'")


@pytest.mark.parametrize(
    "origin",
    [
        "https://one.example/",
        "https://one.example/app",
        "one.example",
        "*",
        "null",
        "HTTPS://ONE.example",
        "https://*.example",
        "",
    ],
)
def test_what_no_browser_sends_as_an_origin_is_refused(origin: str) -> None:
    with pytest.raises(TraitError, match=r"is not an origin\. Write scheme, host and port"):
        CopilotApp(cors_origins=[origin])
