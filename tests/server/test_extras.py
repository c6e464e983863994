"""Without the packages of the extra `[server]`, the extension is absent and says how to get it."""

import logging

import pytest
from copilot_kernel import server
from copilot_kernel.cli import main
from jupyter_server.extension.manager import ExtensionManager


@pytest.fixture(autouse=True)
def _without_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "find_spec", lambda name: None if name == "pydantic" else object())


def test_jupyter_server_finds_no_extension_and_says_why_to_who_debugs_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        manager = ExtensionManager(log=logging.getLogger("ServerApp"))
        assert manager.add_extension("copilot_kernel", enabled=True)
        manager.link_all_extensions()
        manager.load_all_extensions()
    assert manager.extension_points == {}
    assert [each for each in caplog.records if each.levelno > logging.INFO] == []
    assert "pydantic" in caplog.text
    assert "pip install 'copilot-kernel[server]'" in caplog.text


def test_both_commands_say_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve"]) == 2
    assert "pip install 'copilot-kernel[server]'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="pydantic"):
        server.main()
