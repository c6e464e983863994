"""Without the packages of the extra `[server]`, the extension is absent and says how to get it."""

import logging

import copilot_kernel
import pytest
from copilot_kernel import server
from copilot_kernel.cli import main


@pytest.fixture(autouse=True)
def _without_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "find_spec", lambda name: None if name == "pydantic" else object())


def test_jupyter_server_finds_no_extension_and_logs_why(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ServerApp"):
        assert copilot_kernel._jupyter_server_extension_points() == []
    assert "pydantic" in caplog.text
    assert "pip install 'copilot-kernel[server]'" in caplog.text


def test_both_commands_say_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve"]) == 2
    assert "pip install 'copilot-kernel[server]'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="pydantic"):
        server.main()
