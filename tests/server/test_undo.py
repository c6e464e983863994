"""`/changes` and `/undo` in a chat: they show what would be restored, and `restore` does it."""

from pathlib import Path

import pytest

from .sockets import Client


@pytest.mark.parametrize("extension", [{"chat_permission_mode": "bypassPermissions"}], indirect=True)
async def test_a_chat_undoes_what_its_agent_changed(client: Client, environment: Path) -> None:
    await client.begin()
    await client.say("demo: create new.txt words")
    assert (environment / "new.txt").read_text() == "words"
    for command, words in (
        ("/changes", "Create new.txt"),
        ("/undo", "To restore without asking, use /undo 1 restore."),
        ("/undo 1 restore", "Restored: new.txt."),
    ):
        heard = await client.say(command)
        assert words in "".join(str(each) for each in heard), command
    assert not (environment / "new.txt").exists()
