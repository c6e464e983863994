"""Acts do real work, inside the session's folder and after a question; a cancel ends them."""

import anyio
import pytest
from copilot_kernel.demo.agent import REJECTED
from copilot_kernel.demo.files import OUTSIDE

from ..host.small_commands import gone

END, CANCELLED = {"stopReason": "end_turn"}, {"stopReason": "cancelled"}


def message(text):
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def content(text):
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def changed(**members):
    return {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", **members}


def asks(received):
    return "options" in received


async def test_a_command_is_asked_about_runs_and_tells_its_exit_code(connected, acts):
    command = "printf 'out\\n'; echo err >&2; exit 3"
    text = "out\nerr\n<shellId: 0 completed with exit code 3>"
    async with connected() as client:
        begun, asked, seen, done, end = await client.play(acts(["run", command, "Try"]))
    assert (begun["title"], begun["kind"], begun["rawInput"], begun["status"]) == (
        "Try", "execute", {"command": command}, "pending",
    )  # fmt: skip
    assert asked["toolCall"] == {
        "toolCallId": "call_1",
        "status": "pending",
        "title": "Try",
        "kind": "execute",
        "rawInput": {"command": command, "commands": [command]},
    }
    assert (seen, end) == (changed(content=content("out\nerr\n")), END)
    assert (done["status"], done["content"]) == ("completed", content(text))
    assert done["rawOutput"]["contents"][0]["exitCode"] == 3


async def test_a_cancelled_command_is_killed_with_its_children(connected, acts, tmp_path):
    prompt = acts(["run", "sleep 60 & echo $! > pid.txt; echo started; wait"])
    answers = []

    async def run():
        answers.append(await client.prompt(prompt))

    async with connected() as client, anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await client.until(lambda received: received == changed(content=content("started\n")))
        await client.cancel()
    assert answers == [CANCELLED]
    await gone(int((tmp_path / "pid.txt").read_text()))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent.txt", "absent.txt: No such file or directory"),
        ("../secret.txt", OUTSIDE.format("../secret.txt")),
        ("link.txt", OUTSIDE.format("link.txt")),
    ],
)
@pytest.mark.parametrize("act", [["read"], ["edit"]], ids=["read", "edit"])
async def test_what_cannot_be_done_fails_and_the_turn_goes_on(connected, acts, tmp_path, act, name, reason):
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret\n")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    arguments = [name, "secret", "public"] if act == ["edit"] else [name]
    async with connected(cwd=folder) as client:
        received = await client.play(acts([*act, *arguments], ["say", "on"]))
    assert received[1:] == [changed(status="failed", content=content(reason)), message("on"), END]
    assert (tmp_path / "secret.txt").read_text() == "secret\n"


async def refuse():
    raise RuntimeError


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("reject_once", "reject_once"), ("of another question", "of another question"), (refuse, "error -32603")],
    ids=["rejected", "unknown option", "error"],
)
async def test_what_is_rejected_is_not_done_and_ends_the_turn(connected, acts, tmp_path, answer, reason):
    (tmp_path / "a.txt").write_text("old")
    async with connected() as client:
        client.answers = [answer]
        *_, failed, last, end = await client.play(acts(["edit", "a.txt", "old", "new"], ["say", "never"]))
    output = {"message": f"This was rejected ({reason}).", "code": "rejected"}
    assert (failed, last, end) == (changed(status="failed", rawOutput=output), message(REJECTED), END)
    assert (tmp_path / "a.txt").read_text() == "old"


async def test_allow_always_is_for_the_identical_command(connected, acts):
    prompt = acts(["run", "true"], ["run", "true"], ["run", "false"])
    async with connected() as client:
        client.answers = ["allow_always"] * 2
        first, again = [await client.play(prompt) for _ in range(2)]
    assert [each["toolCall"]["toolCallId"] for each in first if asks(each)] == ["call_1", "call_3"]
    assert not any(map(asks, again))
