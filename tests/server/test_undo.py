"""`/changes` and `/undo` in a chat: they show what would be restored, and `restore` does it."""

from pathlib import Path

import pytest

from .sockets import ChatEndpoint


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agent's folder; it must come before the server."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("COPILOT_KERNEL_CWD", str(project))
    return project


@pytest.mark.parametrize("extension", [{"chat_permission_mode": "bypassPermissions"}], indirect=True)
async def test_a_chat_undoes_what_its_agent_changed(project: Path, endpoint: ChatEndpoint) -> None:
    async with endpoint.client() as client:
        await client.begin()
        await client.say("demo: create new.txt words")
        assert (project / "new.txt").read_text() == "words"
        for command, words in (
            ("/changes", "Create new.txt"),
            ("/undo", "To restore without asking, use /undo 1 restore."),
            ("/undo 1 restore", "Restored: new.txt."),
        ):
            heard = await client.say(command)
            assert words in "".join(str(each) for each in heard), command
        assert not (project / "new.txt").exists()
