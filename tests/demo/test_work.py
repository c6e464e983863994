"""Files are really read and changed, commands really run; all of it inside the session's folder."""

import anyio
import pytest
from copilot_kernel.demo.agent import REJECTED
from copilot_kernel.demo.files import CUT, OUTSIDE

from ..host.small_commands import gone
from .messages import CANCELLED, END, begun, changed, content, message, question, rejected
from .test_cancel import running

pytestmark = pytest.mark.anyio


def final(received):
    """The last word on the last tool call."""
    return next(update for update in reversed(received) if update.get("sessionUpdate") == "tool_call_update")


def shows(output):
    return lambda received: received == changed(content=content(output))


async def test_read_reads_the_file(connected, tmp_path):
    path = str(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    async with connected() as client:
        assert await client.play("demo: read a.txt") == [
            begun("Read a.txt", "read", rawInput={"path": path}, locations=[{"path": path}]),
            changed(status="completed", rawOutput={"content": "one\ntwo\n"}),
            END,
        ]


@pytest.mark.parametrize("script", ["delete a.txt", "shell rm a.txt"])
async def test_what_is_rejected_is_not_done(connected, tmp_path, script):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    async with connected() as client:
        client.answers = ["reject_once"]
        assert (await client.play(f"demo: {script}\nsay never"))[2:] == [
            rejected("reject_once"),
            message(REJECTED),
            END,
        ]
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("read absent.txt", "absent.txt: No such file or directory"),
        ("read ../secret.txt", OUTSIDE.format("../secret.txt")),
        ("read link.txt", OUTSIDE.format("link.txt")),
        ("delete ../secret.txt", OUTSIDE.format("../secret.txt")),
        ("read binary.dat\x00", "embedded null byte"),
    ],
)
async def test_what_cannot_be_done_fails_and_the_turn_goes_on(connected, tmp_path, script, reason):
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret a\n")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    async with connected(cwd=folder) as client:
        received = await client.play(f"demo: {script}\nsay on")
    assert (final(received), received[-2:]) == (changed(status="failed", content=content(reason)), [message("on"), END])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project", "secret.txt"]
    assert (tmp_path / "secret.txt").read_text() == "secret a\n"


async def test_shell_asks_runs_and_tells_the_exit_code(connected, tmp_path):
    command = "printf 'out\\n'; echo err >&2; exit 3"
    text = "out\nerr\n<shellId: 0 completed with exit code 3>"
    exit = {"type": "shell_exit", "shellId": "0", "exitCode": 3, "outputPreview": "out\nerr\n"}
    async with connected() as client:
        assert await client.play(f"demo: shell {command}\nsay on") == [
            begun(f"Run {command}", "execute", rawInput={"command": command}),
            question(title=f"Run {command}", kind="execute", rawInput={"command": command, "commands": [command]}),
            changed(content=content("out\nerr\n")),
            changed(status="completed", content=content(text), rawOutput={"content": text, "contents": [exit]}),
            message("on"),
            END,
        ]


async def test_shell_shows_the_whole_output_so_far_while_it_runs(connected, tmp_path):
    command = "echo one; until test -e go; do sleep 0.01; done; echo two"
    async with connected() as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.play, f"demo: shell {command}")
        await client.until(shows("one\n"))
        (tmp_path / "go").touch()
        await client.until(shows("one\ntwo\n"))


async def test_the_beginning_of_a_very_long_output_is_cut_off(connected):
    async with connected() as client:
        received = await client.play("demo: shell head -c 300000 /dev/zero | tr '\\000' x; echo; echo end")
    text = final(received)["rawOutput"]["content"]
    assert (text.startswith(CUT), text.count("\nend\n<shellId: 0 "), len(text) < 110_000) == (True, 1, True)


async def test_a_cancelled_command_is_killed_with_its_children(connected, tmp_path):
    command = "sleep 60 & echo $! > pid.txt; echo started; wait"
    async with connected() as client, running(client, f"demo: shell {command}", shows("started\n")) as answers:
        await client.cancel()
    assert answers == [CANCELLED]
    await gone(int((tmp_path / "pid.txt").read_text()))
