"""What Git would follow is renamed while the agent runs, not only when its turn ends."""

import sys
from types import SimpleNamespace

import pytest
from copilot_kernel.chat import Chat
from copilot_kernel.sandbox import Kind

from ..chat.people import Person, ask

pytestmark = pytest.mark.sandbox


async def run(chat: Chat, command: str, person: Person | None = None) -> str:
    return (await ask(chat, f"demo: terminal {command}", person)).text


async def test_what_git_would_follow_is_removed_during_the_turn_and_reported_even_if_it_is_gone(
    bubblewrap, open_chat, project
):
    command = (
        "touch .git/config.worktree; rm -f .git/config.worktree; touch .git/commondir; until [ ! -e .git/commondir ]"
    )
    async with open_chat() as chat:
        await run(chat, f"{command}; do :; done; echo gone", person := Person())
        gone, renamed = sorted(person.notices, key=lambda line: "commondir" in line)
        asides = {f".git/{path.name}" for path in (project / ".git").glob("removed-*")}
        assert renamed.startswith("Renamed .git/commondir to ")
        assert renamed.split()[3].rstrip(":") in asides
        # Unless it was renamed before the agent deleted it.
        assert gone.startswith((".git/config.worktree was created", "Renamed .git/config.worktree to "))
        await run(chat, "touch made", person := Person())
        assert person.notices == []


async def test_a_folder_whose_name_is_no_text_ends_no_conversation(bubblewrap, open_chat, project):
    async with open_chat() as chat:
        await run(chat, "cd .git; mkdir -p modules/$(printf '\\377'); cp HEAD config modules/*; touch commondir")
    async with open_chat() as chat:
        await run(chat, "touch .git/commondir; until [ ! -e .git/commondir ]; do :; done", person := Person())
        assert [line.partition(" to ")[0] for line in person.notices] == ["Renamed .git/commondir"]


async def test_what_settings_name_in_git_is_watched_too(bubblewrap, open_chat, project):
    for name in ("objects", "refs"):
        (project / ".git" / name).mkdir()
    (project / ".git/config").write_text("[include]\n\tpath = later\n")
    async with open_chat() as chat:
        await run(chat, "touch .git/later; until [ ! -e .git/later ]; do :; done", person := Person())
        assert [line.partition(" to ")[0] for line in person.notices] == ["Renamed .git/later"]


@pytest.mark.parametrize("is_installed", [False, True])
async def test_where_folders_cannot_be_watched_it_is_removed_at_the_end_of_the_turn(
    bubblewrap, open_chat, project, monkeypatch, is_installed
):
    def watch(*_, **__):
        raise OSError("no space left on device (inotify watches)")

    monkeypatch.setitem(sys.modules, "watchfiles", SimpleNamespace(watch=watch, Change=None) if is_installed else None)
    async with open_chat() as chat:
        await run(chat, "touch .git/commondir", person := Person())
        assert sorted(person.notices) == [
            "Removed .git/commondir, created in the sandbox: Git would run or follow it outside.",
            Kind.UNWATCHED.value.format("the project"),
        ]
