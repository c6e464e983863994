"""Protected files that somebody outside replaces by a rename while the agent runs: their mounts are gone then."""

import os
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from copilot_kernel.chat import Chat
from copilot_kernel.sandbox import mountinfo

from ..agentd.conftest import runtime
from ..chat.people import Person, ask
from ..jupyter.front_end import until

__all__ = ["runtime"]
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.usefixtures("runtime"),  # a shared agent's socket needs a short path
]  # fmt: skip
EVIL = "[core] fsmonitor = ./evil"
REPLACED = (
    "{} was replaced outside while the agent ran, and not protected from then on: the agent could change it, too. "
    "Look at it."
)
RENEWED = "The agent was started again: its sandbox no longer protected {}, replaced outside."


@pytest.fixture
def open_chat(bubblewrap, open_chat, project: Path):
    (project / ".git/hooks").mkdir()
    return partial(open_chat, permission_mode="sandboxed")


def replace(path: Path, text: str) -> None:
    """As `git config` and editors do it."""
    (beside := path.with_name(f"{path.name}.lock")).write_text(text)
    beside.rename(path)


async def run(chat: Chat, command: str) -> list[str]:
    """The notices of a turn in which the agent itself runs the command."""
    await ask(chat, f"demo: shell {command}", person := Person())
    return person.notices


@pytest.mark.parametrize("sharing", ["off", "user"])
async def test_a_file_that_was_replaced_between_two_turns_is_protected_again_in_the_next(open_chat, project, sharing):
    async with open_chat(agent_sharing=sharing) as chat:
        assert await run(chat, "touch first") == []
        replace(project / ".git/config", "[user]\n\tname = me\n")
        notices = await run(chat, f"echo '{EVIL}' >> .git/config; touch second")
        assert notices[:2] == [REPLACED.format(".git/config"), RENEWED.format(".git/config")]
        assert await run(chat, "touch third") == []
    assert (project / ".git/config").read_text() == "[user]\n\tname = me\n"
    assert [(project / name).exists() for name in ("first", "second", "third")] == [True] * 3


async def test_a_file_that_is_replaced_during_a_turn_is_reported_at_its_end(open_chat, project):
    def outside():
        until(lambda: (project / "ready").exists(), "the agent")
        replace(project / ".git/config", "")
        replace(project / "AGENTS.md", "mine")
        (project / "go").touch()

    async with open_chat() as chat, anyio.create_task_group() as tasks:
        tasks.start_soon(to_thread.run_sync, outside)
        command = f"touch ready; until [ -e go ]; do :; done; echo '{EVIL}' >> .git/config"
        notices = await run(chat, command)
        assert sorted(notices) == [REPLACED.format(".git/config"), REPLACED.format("AGENTS.md")]
        assert (await run(chat, "echo more >> .git/config"))[0] == RENEWED.format(".git/config, AGENTS.md")
    assert (project / "AGENTS.md").read_text() == "mine"
    # Nothing prevents this, but it is said.
    assert (project / ".git/config").read_text() == f"{EVIL}\n"


async def test_a_file_that_was_removed_outside_and_created_inside_counts_as_created(chat, project):
    await run(chat, "true")
    os.rename(project / ".git/hooks", project / "hooks")
    notices = await run(chat, "mkdir .git/hooks; touch .git/hooks/pre-commit")
    assert [notice.partition(" to ")[0] for notice in notices] == ["Renamed .git/hooks"]  # it may be the user's
    assert not (project / ".git/hooks").exists()


async def test_what_was_changed_in_place_stays_protected(chat, project):
    await run(chat, "true")
    (project / "AGENTS.md").write_text("mine")
    (project / ".git/hooks/pre-commit").write_text("")
    assert await run(chat, "echo more >> AGENTS.md") == []
    assert (project / "AGENTS.md").read_text() == "mine"


def test_a_mount_is_read_with_the_characters_that_its_line_escapes(tmp_path):
    (tmp_path / "mountinfo").write_bytes(
        b"101 97 254:0 /a\\040b /p\\134c ro,nosuid,nodev shared:1 - ext4 /dev/vda rw\n"
        b"102 97 0:44 / /p/\xff rw,relatime - tmpfs tmpfs rw\n"
    )
    assert mountinfo.read(tmp_path / "mountinfo") == [
        mountinfo.Entry("254:0", b"/a b", b"/p\\c", True),
        mountinfo.Entry("0:44", b"/", b"/p/\xff", False),
    ]
