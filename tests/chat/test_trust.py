"""What a folder would run, and what the environment widens: asked about before the agent starts, once."""

import json
import os
import stat
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from copilot_kernel.chat import trust
from copilot_kernel.chat.running_files import running_files
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.chat.trust import (
    CHANGED,
    NO_SANDBOX,
    NOT_NOW,
    NOT_SAVED,
    REFUSE,
    SANDBOX,
    TRUST,
    USE,
    TrustGate,
    TrustStore,
)
from copilot_kernel.config import Settings
from copilot_kernel.config_reader import load_settings
from copilot_kernel.errors import UsageError
from copilot_kernel.host import disk_stage
from copilot_kernel.permissions.question import PermissionAnswer, Question
from copilot_kernel.rendering.question import QuestionView

from ..limits import LIMIT
from .conftest import Open
from .people import Person, ask, cancelled

HOOK = {"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": "touch ran"}]}}
BYPASS = {"COPILOT_KERNEL_PERMISSION_MODE": "bypassPermissions"}


class Asked(Person):
    """Answers our own question with one option, everything else with a yes."""

    def __init__(self, option: str = "") -> None:
        super().__init__()
        self.option, self.trust = option, list[Question]()

    async def ask(self, question: Question) -> PermissionAnswer:
        if question.call:
            return await super().ask(question)
        self.trust.append(question)
        return PermissionAnswer(next((each for each in question.options if each.name == self.option), None), "you")


class Nobody(Person):
    attended = False


@pytest.fixture(autouse=True)
def own_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def copilot(settings: Settings) -> Settings:
    return replace(settings, agent="copilot --acp")


@pytest.fixture
def plant(settings: Settings) -> Callable[..., Path]:
    def plant(name: str = ".github/hooks/x.json", content: object = HOOK) -> Path:
        file = Path(settings.cwd, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    return plant


async def started(opened: Open, person: Person, **more: object) -> bool:
    """Whether the agent answers a prompt."""
    async with opened(**more) as chat:
        try:
            return (await ask(chat, "demo: say hello", person)).text == "hello"
        except UsageError:
            assert chat.agent.link is None
            return False


async def test_a_folder_without_such_files_is_not_asked_about(opened: Open, plant: Callable[..., Path]) -> None:
    plant("AGENTS.md", "Be kind.")
    plant(".github/prompts/x.md", "Say hello.")
    assert await started(opened, person := Asked())
    assert person.trust == []


async def test_what_would_run_is_shown_command_by_command(opened: Open, plant: Callable[..., Path]) -> None:
    plant()
    plant("opencode.json", {"mcp": {"files": {"command": ["npx", "serve it"]}}, "plugin": ["./beside"]})
    plant(".opencode/plugin/x.js", "export const x = () => steal()")
    person = Asked(REFUSE.name)
    assert not await started(opened, person)
    text = QuestionView(person.trust[0]).text
    for line in ("# .github/hooks/x.json", "touch ran", "npx 'serve it'", "./beside", "export const x = () => steal()"):
        assert line in text
    assert [each.name for each in person.trust[0].options][:2] == [TRUST.name, REFUSE.name]


async def test_trust_is_remembered_for_this_content(opened: Open, plant: Callable[..., Path]) -> None:
    file = plant()
    for option, asked in ((TRUST.name, 1), ("", 0)):
        assert await started(opened, person := Asked(option))
        assert len(person.trust) == asked
    file.write_text(json.dumps({**HOOK, "version": 2}))
    assert not await started(opened, person := Asked(REFUSE.name))
    assert len(person.trust) == 1


async def test_a_refusal_is_remembered_until_it_is_revoked_or_a_file_comes(
    opened: Open, plant: Callable[..., Path], copilot: Settings
) -> None:
    plant()
    for asked in (1, 0):
        async with opened() as chat:
            for again in (asked, 0):
                with pytest.raises(UsageError, match=r"x\.json") as raised:
                    await ask(chat, "demo: say hello", person := Asked(REFUSE.name))
                assert len(person.trust) == again
                (refused,) = chat.trust.store.all()
                assert (refused.answer, refused.folder) == ("refused", copilot.folder)
                assert f"%permissions revoke {refused.id}" in raised.value.hint
    assert not await started(opened, Nobody())
    plant(".github/hooks/y.json")
    assert not await started(opened, person := Asked(REFUSE.name))
    assert [each.partition("\n")[0] for each in person.trust[0].about.commands] == [
        "# .github/hooks/x.json",
        "# .github/hooks/y.json",
    ]
    store = TrustStore(copilot)
    store.revoke(store.all()[0].id)
    assert await started(opened, person := Asked(TRUST.name))
    assert len(person.trust) == 1


async def test_where_there_is_no_sandbox_the_question_and_the_refusal_say_so(
    opened: Open, plant: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant()
    monkeypatch.setattr(trust, "unavailable", lambda settings: "no sandbox")
    async with opened() as chat:
        for asked in (1, 0):
            with pytest.raises(UsageError) as raised:
                await ask(chat, "demo: say hello", person := Asked(REFUSE.name))
            assert raised.value.hint.startswith(f"{NO_SANDBOX}\n")
            assert [NO_SANDBOX in QuestionView(each).text for each in person.trust] == [True] * asked


async def test_a_trusted_file_that_has_changed_is_shown_as_a_diff(
    opened: Open, plant: Callable[..., Path], copilot: Settings, tmp_path: Path
) -> None:
    file = plant(content=json.dumps(HOOK, indent=1))
    assert await started(opened, Asked(TRUST.name))
    file.write_text(file.read_text().replace("touch ran", "touch run"))
    plant("opencode.json", {"plugin": ["./beside"]})
    await started(opened, person := Asked(REFUSE.name))
    text = QuestionView(person.trust[0]).text
    assert '-    "bash": "touch ran"' in text
    assert '+    "bash": "touch run"' in text
    assert '"version"' not in text  # far from the change
    assert "./beside" in text
    assert CHANGED in text
    kept = list(tmp_path.rglob("trusted/*.json"))
    assert len(kept) == 3
    assert {stat.S_IMODE(each.stat().st_mode) for each in kept} == {0o600}


async def test_an_answer_that_cannot_be_saved_says_so(opened: Open, plant: Callable[..., Path], tmp_path: Path) -> None:
    plant()
    (tmp_path / "data" / "copilot_kernel").mkdir(parents=True)
    (tmp_path / "data" / "copilot_kernel" / "trusted").write_text("no folder")
    for _ in range(2):
        assert await started(opened, person := Asked(TRUST.name))
        assert (len(person.trust), [each[:40] for each in person.notices]) == (1, [NOT_SAVED[:40]])


async def test_where_nobody_can_be_asked_the_error_names_files_and_setting(
    opened: Open, plant: Callable[..., Path]
) -> None:
    plant()
    async with opened() as chat:
        with pytest.raises(UsageError, match=r"\.github/hooks/x\.json") as raised:
            await ask(chat, "demo: say hello", Nobody())
        assert "trusted_folders" in raised.value.hint
        with pytest.raises(UsageError):  # nor without a prompt
            await chat.sessions()


async def test_a_trusted_folder_covers_all_below_it(opened: Open, plant: Callable[..., Path], tmp_path: Path) -> None:
    plant()
    assert await started(opened, Nobody(), trusted_folders=(str(tmp_path),))
    assert not await started(opened, Nobody(), trusted_folders=(str(tmp_path / "other"),))
    (inner := tmp_path / "project" / "inner").mkdir()  # below the file
    assert not await started(opened, Nobody(), trusted_folders=(str(inner),), cwd=str(inner))


async def test_a_stop_while_the_question_is_open_starts_nothing(opened: Open, plant: Callable[..., Path]) -> None:
    plant()
    async with opened() as chat, anyio.create_task_group() as tasks:
        person = Person(kind=None)

        async def stop() -> None:
            await person.asked.wait()
            chat.cancel()

        tasks.start_soon(stop)
        assert (await ask(chat, "demo: say hello", person)).stop_reason == "cancelled"
        assert chat.agent.link is None


async def test_a_running_agent_opens_no_session_beside_new_files(opened: Open, plant: Callable[..., Path]) -> None:
    async with opened() as chat:
        assert (await ask(chat, "demo: say one", Asked())).text == "one"
        plant()
        assert (await ask(chat, "demo: say two", Asked())).text == "two"  # the session is open
        await chat.new()
        with pytest.raises(UsageError):
            await ask(chat, "demo: say three", Asked(REFUSE.name))


@pytest.mark.parametrize("does", ["create {} changed", "edit {} touch ran => touch run"])
async def test_what_the_user_lets_the_agent_write_is_trusted_as_it_was_shown(
    opened: Open, plant: Callable[..., Path], settings: Settings, does: str
) -> None:
    file = plant()
    async with opened() as chat:
        await ask(chat, "demo: say one", Asked(TRUST.name))
        await ask(chat, f"demo: {does.format(file.relative_to(settings.cwd))}", Asked())
        assert file.read_text() != json.dumps(HOOK)
    assert await started(opened, person := Asked())
    assert person.trust == []
    file.write_text("pulled")
    assert not await started(opened, Asked(REFUSE.name))


async def test_an_edit_of_what_came_meanwhile_trusts_only_what_was_shown(
    opened: Open, plant: Callable[..., Path], settings: Settings
) -> None:
    async with opened() as chat:
        await ask(chat, "demo: say one", Asked())
        pulled = plant()
        await ask(chat, f"demo: edit {pulled.relative_to(settings.cwd)} touch ran => touch run", Asked())
        await ask(chat, "demo: create opencode.json {}", Asked())
    assert not await started(opened, person := Asked(REFUSE.name))
    assert [each.partition("\n")[0] for each in person.trust[0].about.commands] == ["# .github/hooks/x.json"]


async def test_a_disk_that_hangs_trusts_nothing_and_keeps_neither_turn_nor_undo_waiting(
    opened: Open, plant: Callable[..., Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, answers, read = plant(), threading.Event(), []
    async with opened() as chat:
        await ask(chat, "demo: say one", Asked(TRUST.name))
        with monkeypatch.context() as patch:
            patch.setattr(disk_stage, "LOOKUP_SECONDS", 0.05)
            patch.setattr(trust, "running_files", lambda of: [read.append(of), answers.wait(LIMIT)] * 0)
            edit = f"demo: edit {file.relative_to(settings.cwd)} touch ran => touch run"
            turn = await ask(chat, f"{edit}\nask", Asked())
            assert await cancelled(
                chat, f"{edit.replace('ran', 'run', 1)}\nhang hi", person := Asked(), lambda: person.heard
            )
        (change,) = chat.undo.history.turns[turn.number].files
        assert (len(read), chat.undo.history.content_before(change)) == (1, json.dumps(HOOK).encode())
        answers.set()
    assert not await started(opened, Asked(REFUSE.name))


async def test_nothing_starts_early_where_something_is_unknown(opened: Open, plant: Callable[..., Path]) -> None:
    plant()
    async with opened() as chat:
        await chat.prepare()
        assert chat.agent.link is None


@pytest.mark.parametrize("agent", ["copilot --acp", "opencode acp", "gemini --acp", "qwen --acp"])
def test_each_agent_is_asked_about_its_own_files(settings: Settings, plant: Callable[..., Path], agent: str) -> None:
    names = {
        "copilot": ".github/hooks/a/b.json",
        "opencode": "opencode.jsonc",
        "gemini": ".gemini/settings.json",
        "qwen": ".qwen/settings.json",
    }
    for name in names.values():
        plant(name)
    found = [item.name for item in running_files(replace(settings, agent=agent))]
    assert found == [names[agent.split()[0]]]
    assert {item.name for item in running_files(replace(settings, agent="unknown --acp"))} == {*names.values()}
    assert len(running_files(replace(settings, agent=f"/home/{agent.split()[0]}/bin/unknown"))) == len(names)
    assert running_files(replace(settings, agent="demo")) == []


def test_files_are_looked_for_up_to_the_root_of_the_work_tree(copilot: Settings, plant: Callable[..., Path]) -> None:
    plant()
    inner = Path(copilot.cwd, "a", "b")
    inner.mkdir(parents=True)
    inside = replace(copilot, cwd=str(inner))
    for tree, found in (("", True), (".", True), ("a", False)):  # agents look in all folders above, if there is none
        if tree:
            subprocess.run(["git", "init", "-q", Path(copilot.cwd, tree)], check=True)
        assert [item.name for item in running_files(inside)] == (["../../.github/hooks/x.json"] if found else [])


async def test_what_cannot_be_read_is_never_trusted(opened: Open, plant: Callable[..., Path]) -> None:
    os.mkfifo(plant().with_name("y.json"))
    assert not await started(opened, person := Asked(TRUST.name))
    assert person.trust == []


def test_answers_that_lie_in_the_project_do_not_count(copilot: Settings, plant: Callable[..., Path]) -> None:
    plant()
    inside = replace(copilot, own_state=f"{copilot.cwd}/state")
    items = running_files(inside)
    TrustStore(replace(copilot, own_state="")).remember(items, "trusted")
    assert TrustStore(copilot).answer(items[0].key) == "trusted"
    (store := TrustStore(inside)).remember(items, "trusted")
    assert store.answer(items[0].key) == "trusted"  # in this conversation
    assert TrustStore(inside).answer(items[0].key) is None
    assert not Path(inside.own_state).exists()


def test_an_answer_of_an_older_version_is_forgotten(
    copilot: Settings, plant: Callable[..., Path], tmp_path: Path
) -> None:
    plant()
    store = TrustStore(copilot)
    store.remember(running_files(copilot), "trusted")
    (file,) = tmp_path.rglob("trusted/*.json")
    values = json.loads(file.read_text())
    file.write_text(json.dumps({name: values[name] for name in ("name", "folder", "answer")}))
    assert (store.all(), TrustStore(copilot).answer(file.stem)) == ([], None)


def test_an_answer_can_be_taken_back(copilot: Settings, plant: Callable[..., Path]) -> None:
    plant()
    store = TrustStore(copilot)
    store.remember(running_files(copilot), "trusted")
    (known,) = store.all()
    assert (known.name, known.folder) == (".github/hooks/x.json", copilot.folder)
    assert store.revoke(known.id) == known
    assert store.all() == []
    with pytest.raises(UsageError):
        store.revoke(known.id)


# -- the environment --------------------------------------------------------------------------------------------------


async def test_what_the_environment_widens_is_asked_once_for_each_value(opened: Open, tmp_path: Path) -> None:
    assert not await started(opened, person := Asked(REFUSE.name), widened=BYPASS)
    assert "COPILOT_KERNEL_PERMISSION_MODE=bypassPermissions" in QuestionView(person.trust[0]).text
    assert person.trust[0].about.head == (
        "COPILOT_KERNEL_PERMISSION_MODE is `bypassPermissions`, which allows more than your settings. Use it?"
    )
    assert [each.name for each in person.trust[0].options] == [USE.name, NOT_NOW.name]
    assert await started(opened, Asked(USE.name), widened=BYPASS)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    assert await started(opened, person := Asked(), widened=BYPASS, cwd=str(elsewhere))  # of the account, not a folder
    assert person.trust == []
    other = {**BYPASS, "COPILOT_KERNEL_PERMISSION_MODE": "acceptEdits"}
    assert not await started(opened, Asked(REFUSE.name), widened=other)


async def test_in_a_batch_run_the_environment_is_the_users_own(opened: Open) -> None:
    assert await started(opened, Nobody(), widened=BYPASS)


async def test_files_and_variables_are_two_questions(opened: Open, plant: Callable[..., Path]) -> None:
    plant()
    person = Asked(TRUST.name)
    assert not await started(opened, person, widened=BYPASS)
    files, variables = map(QuestionView, person.trust)
    assert "touch ran" in files.text
    assert "bypassPermissions" not in files.text
    assert "bypassPermissions" in variables.text
    assert "touch ran" not in variables.text
    person = Asked(TRUST.name)
    assert not await started(opened, person, widened=BYPASS)
    assert len(person.trust) == 1  # the files are trusted
    assert await started(opened, Asked(USE.name), widened=BYPASS)


def test_only_a_command_that_is_used_is_asked_about() -> None:
    environ = {"COPILOT_KERNEL_AGENT": "sh -c id", "COPILOT_KERNEL_DEMO_COMMAND": "sh -c id"}
    settings = load_settings(environ, [])

    def asked(settings: Settings) -> list[str]:
        found = TrustGate(settings, ConversationState(), TrustStore(settings), can_sandbox=False).look()
        return [item.lines[0].partition("=")[0] for item in found.settings]

    assert asked(settings) == ["COPILOT_KERNEL_AGENT"]
    by_hand = replace(settings, agent="demo", origins={**settings.origins, "agent": "%agent"})
    assert asked(by_hand) == ["COPILOT_KERNEL_DEMO_COMMAND"]


# -- the sandbox ------------------------------------------------------------------------------------------------------


@pytest.mark.sandbox
async def test_in_the_sandbox_the_files_are_absent(opened: Open, plant: Callable[..., Path]) -> None:
    plant()
    plant("opencode.json", {"plugin": ["x"]})
    look = "demo: terminal ls .github/hooks; cat opencode.json"
    for person in (Asked(SANDBOX.name), Asked()):
        async with opened(agent=os.environ["COPILOT_KERNEL_DEMO_COMMAND"], terminal=True) as chat:
            turn = await ask(chat, look, person)
            assert chat.agent.sandbox is not None
            assert "x.json" not in turn.text
            assert "{}" in turn.text
    assert person.trust == []
