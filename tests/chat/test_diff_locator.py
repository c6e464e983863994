"""The place of a diff in its file: looked up once, and the same before and after the edit."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import anyio
import pytest
from anyio import to_thread
from copilot_kernel.acp.messages import Chunk, Diff, PermissionOption, PermissionRequest, TextBlock, ToolCallUpdate
from copilot_kernel.chat import Chat
from copilot_kernel.chat.agent import RunningAgent
from copilot_kernel.chat.diff_locator import MAX_DELETED_CHARS, MAX_DIFFS, MAX_LOCATED_BYTES, DiffLocator
from copilot_kernel.chat.permission import Approvals, Permissions
from copilot_kernel.chat.rules import PolicyEvaluator
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.config import Settings
from copilot_kernel.conversation.excerpt import Excerpt
from copilot_kernel.conversation.model import Message, ToolCall
from copilot_kernel.host import disk_stage
from msgspec.structs import replace

from ..limits import LIMIT
from .people import Person, ask

TEXT = "one\ntwo\nthree\n"
TWO = Excerpt(1, "one\n", "three\n")
OPTIONS = (PermissionOption("yes", "Yes", "allow_once"),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text(TEXT)
    return tmp_path / "project"


def edit(path: str = "a.py", old: str | None = "two\n", new: str = "TWO\n", **fields: object) -> ToolCall:
    return ToolCall(0, 1, "edit", kind="edit", content=(Diff(path, old, new),), **fields)


async def located(locator: DiffLocator, call: ToolCall) -> ToolCall:
    found: dict[Diff, Excerpt | None] = {}
    locator.add(call)
    await locator.settle(Mock(add_found=lambda _, excerpts, deletes: found.update(excerpts)))
    return replace(call, excerpts={**call.excerpts, **found})


async def found(folder: Path, call: ToolCall) -> Excerpt | None:
    (excerpt,) = (await located(DiffLocator(str(folder)), call)).excerpts.values()
    return excerpt


@pytest.mark.parametrize("path", ["a.py", "{}/a.py", "{}/../project/a.py"])
async def test_a_diff_in_the_folder_is_found(folder: Path, path: str) -> None:
    assert await found(folder, edit(path.format(folder))) == TWO


async def test_a_relative_path_starts_in_the_folder_that_the_call_names(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "a.py").write_text("two\n")
    assert await found(folder, edit(raw_input={"cwd": f"{folder}/sub"})) == Excerpt(1, "", "")


def outside(path: Path) -> None:
    (path.parent.parent / "secret").write_text(TEXT)
    path.symlink_to("../secret")


@pytest.mark.parametrize("make", [
    lambda path: None,
    Path.mkdir,
    os.mkfifo,
    lambda path: path.symlink_to(path.name),
    outside,
    lambda path: path.write_bytes(TEXT.encode() + b"\xff"),
    lambda path: path.write_bytes(TEXT.encode() + b"x" * MAX_LOCATED_BYTES),
    lambda path: path.write_text("two\ntwo\n"),
    lambda path: path.write_text("other\n"),
])  # fmt: skip
async def test_without_one_such_place_in_a_small_text_there_is_none(
    folder: Path, make: Callable[[Path], object]
) -> None:
    make(folder / "b.py")
    assert await found(folder, edit("b.py")) is None


@pytest.mark.parametrize("path", [".env", "../beside.py", "/dev/zero", "\0", "a.py/", ""])
async def test_what_may_hold_secrets_or_lies_elsewhere_is_not_read(folder: Path, path: str) -> None:
    for name in (".env", "../beside.py"):
        (folder / name).write_text(TEXT)
    assert await found(folder, edit(path)) is None


async def test_each_diff_is_looked_up_once_and_only_so_many(folder: Path) -> None:
    read: list[str] = []
    locator = DiffLocator(str(folder), lambda root, path, limit: read.append(path) or TEXT)
    call = await located(locator, edit())
    for number in range(2 * MAX_DIFFS):
        call = await located(locator, replace(call, content=(*edit().content, Diff("a.py", f"{number}", "x"))))
    assert (len(read), len(call.excerpts), call.excerpts[Diff("a.py", "two\n", "TWO\n")]) == (MAX_DIFFS, MAX_DIFFS, TWO)


class SlowDisk:
    """It answers when `answers` is set."""

    def __init__(self) -> None:
        self.asked, self.answers = threading.Event(), threading.Event()

    def read(self, *arguments: object) -> str:
        self.asked.set()
        self.answers.wait(LIMIT)
        return TEXT


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    monkeypatch.setattr(disk_stage, "LOOKUP_SECONDS", LIMIT)
    disk = SlowDisk()
    yield disk
    disk.answers.set()


async def test_a_disk_that_hangs_is_left_alone(folder: Path, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_stage, "LOOKUP_SECONDS", 0.01)
    locator = DiffLocator(str(folder), disk.read)
    assert [*(await located(locator, edit())).excerpts.values()] == [None]
    monkeypatch.setattr(disk_stage, "LOOKUP_SECONDS", LIMIT)
    assert [*(await located(locator, edit())).excerpts.values()] == [None]


# -- in a conversation ------------------------------------------------------------------------------------------------


def begun(locator: DiffLocator, *blocks: TextBlock) -> tuple[ConversationState, Person]:
    state, person = ConversationState(stages=[locator]), Person()
    state.begin("prompt" if blocks else "replay", person, blocks)
    return state, person


def shown(state: ConversationState) -> ToolCall:
    return next(entry for entry in state.conversation.entries if isinstance(entry, ToolCall))


async def test_what_was_found_before_the_edit_stays_after_it(folder: Path) -> None:
    state, _ = begun(DiffLocator(str(folder)), TextBlock("do it"))
    state.update(ToolCallUpdate("1", begins=True, content=edit().content))
    await state.settle()
    (folder / "a.py").write_text("0\n" * 9 + TEXT.replace("two", "TWO"))
    state.update(ToolCallUpdate("1", status="completed", content=edit().content))
    await state.settle()
    assert shown(state).excerpts == {edit().content[0]: TWO}


async def test_an_edit_that_first_comes_when_it_is_done_is_found_where_it_was_made(folder: Path) -> None:
    (folder / "a.py").write_text("two\nTWO\nthree\n")
    state, _ = begun(DiffLocator(str(folder)), TextBlock("do it"))
    state.update(ToolCallUpdate("1", begins=True, status="completed", content=edit().content))
    await state.settle()
    assert shown(state).excerpts == {edit().content[0]: Excerpt(1, "two\n", "three\n")}


async def test_what_a_call_deletes_is_looked_up_once_and_whether_git_tracks_it(folder: Path) -> None:
    for arguments in (("init",), ("add", "a.py"), ("config", "core.fsmonitor", f"touch {folder}/ran; false")):
        subprocess.run(("git", "-C", str(folder), *arguments), check=True, capture_output=True)
    (folder / "[a].py").write_text("x" * (MAX_DELETED_CHARS + 1))
    for secret in (folder.parent / "outside", folder / ".env"):
        secret.write_text(TEXT)
    paths = ("a.py", f"{folder}/[a].py", "gone", "../outside", ".env")
    state, _ = begun(DiffLocator(str(folder)), TextBlock("do it"))
    for path in paths:
        state.update(ToolCallUpdate(path, begins=True, kind="delete", raw_input={"path": path}))
    await state.settle()
    found = [call.deletes for path in paths if (call := state.conversation.call(path))]
    assert found == [(TEXT, True), ("x" * MAX_DELETED_CHARS, False), *[("", None)] * 3]
    (folder / "a.py").write_text("again")
    state.update(ToolCallUpdate("a.py", status="completed"))
    await state.settle()
    assert shown(state).deletes == found[0]
    assert not (folder / "ran").exists()


async def test_a_replay_does_not_look_at_the_disk(folder: Path) -> None:
    state, _ = begun(DiffLocator(str(folder)))
    state.update(ToolCallUpdate("1", begins=True, content=edit().content))
    await state.settle()
    assert shown(state).excerpts == {}


async def test_the_question_waits_for_the_place_and_has_it_beside_what_the_agent_sent(disk: SlowDisk) -> None:
    state, person = begun(DiffLocator("", disk.read), TextBlock("do it"))
    permissions = Permissions(state, PolicyEvaluator(Settings()), Approvals(), RunningAgent())
    request = PermissionRequest(ToolCallUpdate("1", kind="edit", content=edit().content), OPTIONS)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(permissions.ask, request)
        await to_thread.run_sync(disk.asked.wait, LIMIT)
        assert person.questions == []
        disk.answers.set()
    (question,) = person.questions
    assert (question.call.excerpts, question.call.content) == ({edit().content[0]: TWO}, edit().content)


async def test_while_a_disk_hangs_updates_are_taken_in_and_shown_a_little_later_in_their_order(
    disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, person = begun(locator := DiffLocator("", disk.read), TextBlock("do it"))
    seen: list[int] = []
    monkeypatch.setattr(person, "show", lambda entry: seen.append(entry.id))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(locator.run, state)
        await anyio.wait_all_tasks_blocked()
        state.update(ToolCallUpdate("1", begins=True, content=edit().content))
        await to_thread.run_sync(disk.asked.wait, LIMIT)
        state.update(Chunk("agent", TextBlock("Done.")))
        said = state.conversation.entries[-1]
        assert (isinstance(said, Message), shown(state).excerpts, seen) == (True, {}, [])
        disk.answers.set()
        await state.settle()
        tasks.cancel_scope.cancel()
    assert (seen, [*shown(state).excerpts.values()]) == ([shown(state).id, said.id], [TWO])


async def test_a_chat_reads_its_folder(chat: Chat, settings: Settings) -> None:
    (Path(settings.cwd) / "a.py").write_text(TEXT)
    await ask(chat, "demo: edit a.py two => TWO", person := Person())
    (done,) = person.of(ToolCall)
    assert (done.status, [*done.excerpts.values()]) == ("completed", [Excerpt(1, "one\n", "\nthree\n")])
