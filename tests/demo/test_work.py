"""Files are really read and changed, commands really run; all of it inside the session's folder."""

import anyio
import psutil
import pytest

pytestmark = pytest.mark.anyio

END = {"stopReason": "end_turn"}
OPTIONS = [
    {"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
    {"optionId": "allow_always", "kind": "allow_always", "name": "Always allow"},
    {"optionId": "reject_once", "kind": "reject_once", "name": "Deny"},
]


def message(text):
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def content(text):
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def begun(title, kind, **members):
    call = {"sessionUpdate": "tool_call", "toolCallId": "call_1", "title": title, "kind": kind, "status": "pending"}
    return {**call, **members}


def changed(**members):
    return {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", **members}


def question(**tool_call):
    return {"toolCall": {"toolCallId": "call_1", "status": "pending", **tool_call}, "options": OPTIONS}


def final(heard):
    """The last word on the last tool call."""
    return next(update for update in reversed(heard) if update.get("sessionUpdate") == "tool_call_update")


async def test_read_reads_the_file(talking, tmp_path):
    path = str(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    async with talking() as client:
        assert await client.play("demo: read a.txt") == [
            begun("Read a.txt", "read", rawInput={"path": path}, locations=[{"path": path}]),
            changed(status="completed", rawOutput={"content": "one\ntwo\n"}),
            END,
        ]


async def test_edit_asks_with_the_diff_and_changes_the_file(talking, tmp_path):
    path, where = str(tmp_path / "a.txt"), [{"path": str(tmp_path / "a.txt")}]
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    diff = [{"type": "diff", "path": path, "oldText": "two", "newText": "2\n2"}]
    unified = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2\n three\n"
    async with talking("") as client:
        assert await client.play(r"demo: edit a.txt two => 2\n2") == [
            begun("Edit a.txt", "edit", rawInput={"path": path}, content=diff, locations=where),
            question(title="Edit file", kind="edit", rawInput={"fileName": path, "diff": unified}, locations=where),
            changed(status="completed", content=diff, rawOutput={"content": "a.txt is changed."}),
            END,
        ]
    assert (tmp_path / "a.txt").read_text() == "one\n2\n2\nthree\n"


@pytest.mark.parametrize("script", ["edit a.txt two => 2", "delete a.txt", "shell rm a.txt"])
async def test_what_is_rejected_is_not_done(talking, tmp_path, script):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    async with talking("") as client:
        client.answers = ["reject_once"]
        assert (await client.play(f"demo: {script}\nsay never"))[2:] == [
            changed(status="failed", rawOutput={"message": "This was rejected (reject_once).", "code": "rejected"}),
            message("That was rejected, so the demo agent stops here."),
            END,
        ]
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("read absent.txt", "absent.txt: No such file or directory"),
        ("read ../secret.txt", "../secret.txt is outside the session's folder"),
        ("read link.txt", "link.txt is outside the session's folder"),
        ("edit ../secret.txt a => b", "../secret.txt is outside the session's folder"),
        ("edit a.txt absent => b", "the text to replace is not in the file: 'absent'"),
        ("delete ../secret.txt", "../secret.txt is outside the session's folder"),
        ("read binary.dat\x00", "embedded null byte"),
    ],
)
async def test_what_cannot_be_done_fails_and_the_turn_goes_on(talking, tmp_path, script, reason):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (tmp_path / "secret.txt").write_text("secret a\n")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    async with talking("", cwd=folder) as client:
        heard = await client.play(f"demo: {script}\nsay on")
    assert (final(heard), heard[-2:]) == (changed(status="failed", content=content(reason)), [message("on"), END])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project", "secret.txt"]
    assert (tmp_path / "secret.txt").read_text() == "secret a\n"


async def test_shell_asks_runs_and_tells_the_exit_code(talking, tmp_path):
    command = "printf 'out\\n'; echo err >&2; exit 3"
    text = "out\nerr\n<shellId: 0 completed with exit code 3>"
    exit = {"type": "shell_exit", "shellId": "0", "exitCode": 3, "outputPreview": "out\nerr\n"}
    async with talking() as client:
        assert await client.play(f"demo: shell {command}\nsay on") == [
            begun(f"Run {command}", "execute", rawInput={"command": command}),
            question(title=f"Run {command}", kind="execute", rawInput={"command": command, "commands": [command]}),
            changed(content=content("out\nerr\n")),
            changed(status="completed", content=content(text), rawOutput={"content": text, "contents": [exit]}),
            message("on"),
            END,
        ]


async def test_shell_shows_the_whole_output_so_far_while_it_runs(talking, tmp_path):
    command = "echo one; until test -e go; do sleep 0.01; done; echo two"
    async with talking() as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.play, f"demo: shell {command}")
        await client.until(lambda heard: heard == changed(content=content("one\n")))
        (tmp_path / "go").touch()
        await client.until(lambda heard: heard == changed(content=content("one\ntwo\n")))


async def test_the_beginning_of_a_very_long_output_is_cut_off(talking):
    async with talking() as client:
        heard = await client.play("demo: shell head -c 300000 /dev/zero | tr '\\000' x; echo; echo end")
    text = final(heard)["rawOutput"]["content"]
    assert text.startswith("[the beginning is cut off]\nxxx")
    assert (text.endswith("\nend\n<shellId: 0 completed with exit code 0>"), len(text) < 110_000) == (True, True)


async def test_a_cancelled_command_is_killed_with_its_children(talking, tmp_path):
    command = "sleep 60 & echo $! > pid.txt; echo started; wait"
    async with talking() as client:
        answers = []
        async with anyio.create_task_group() as tasks:

            async def run():
                answers.append(await client.prompt(f"demo: shell {command}"))

            tasks.start_soon(run)
            await client.until(lambda heard: heard.get("content") == content("started\n"))
            await client.cancel()
    assert answers == [{"stopReason": "cancelled"}]
    await gone(int((tmp_path / "pid.txt").read_text()))


async def gone(pid):
    """A killed process takes a moment to die, and its parent another to notice."""
    with anyio.fail_after(5):
        while _runs(pid):
            await anyio.sleep(0.01)


def _runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
