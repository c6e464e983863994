"""How a rule is added, where paths lead, and what is guarded."""

import os
import sys
import sysconfig
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat import rules
from copilot_kernel.chat.permission import OUR_OPTIONS
from copilot_kernel.chat.rules import PolicyEvaluator
from copilot_kernel.config import Settings
from copilot_kernel.config_reader import load_settings
from copilot_kernel.config_writer import add_to_list
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.errors import UsageError
from copilot_kernel.permissions.policy import Decision

from ..limits import LIMIT
from ..notebook_tools.fakes import FakeNotebook

FILE = "copilot_kernel.json"


async def test_each_list_that_allows_must_cover_a_call(tmp_path: Path) -> None:
    """What the user allows by a click belongs to the user's own list, not to that of an administrator."""
    system = tmp_path / "system.json"
    system.write_text('{"allow": ["Bash(ls)", "Bash(date)"]}')

    async def allowed(evaluator: PolicyEvaluator, command: str) -> bool:
        call = ToolCall(id=1, turn=1, call_id="1", kind="execute", raw_input={"command": command})
        return (await evaluator.decide(call, OUR_OPTIONS, None)).outcome == "allow"

    for environ, by_list, by_click in (({}, True, False), ({"COPILOT_KERNEL_ALLOW": '["Bash(ls)"]'}, False, True)):
        evaluator = PolicyEvaluator(
            replace(load_settings(environ, [tmp_path / "mine.json", system]), cwd=str(tmp_path))
        )
        assert await allowed(evaluator, "ls")
        assert await allowed(evaluator, "date") is by_list
        await evaluator.add_rule("allow", "Bash(date)")
        await evaluator.add_rule("allow", "Bash(id)")
        assert await allowed(evaluator, "date") is (by_list or by_click)
        assert not await allowed(evaluator, "id")


async def test_a_change_of_the_users_file_restricts_at_once_and_allows_in_later_conversations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    file = tmp_path / FILE

    async def outcomes(evaluator: PolicyEvaluator) -> dict[str, str]:
        calls = [
            ToolCall(id=1, turn=1, call_id="1", kind="execute", raw_input={"command": each})
            for each in ("ls", "date", "id")
        ]
        return {each.raw_input["command"]: (await evaluator.decide(each, OUR_OPTIONS, None)).outcome for each in calls}

    file.write_text('{"allow": ["Bash(ls)", "Bash(date)"], "deny": ["Bash(id)"]}')
    evaluator = PolicyEvaluator(replace(load_settings({}), cwd=str(tmp_path)))
    assert await outcomes(evaluator) == {"ls": "allow", "date": "allow", "id": "reject"}
    evaluator.book = evaluator.book.without("Bash(id)")
    file.write_text('{"allow": ["Bash(date)", "Bash(id)"], "deny": ["Bash(id)", "Bash(date)"]}')
    assert await outcomes(evaluator) == {"ls": "ask", "date": "reject", "id": "ask"}
    file.write_text('{"allow": ["Bash(ls)"')  # half written
    assert await outcomes(evaluator) == {"ls": "ask", "date": "reject", "id": "ask"}
    file.write_text("{}")
    assert await outcomes(evaluator) == {"ls": "ask", "date": "reject", "id": "ask"}


async def test_half_a_character_in_the_rule_or_in_the_file_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON can spell a lone surrogate, which cannot be written as UTF-8."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    with pytest.raises(UsageError, match="lone surrogate"):
        add_to_list("allow", "Edit(\ud800.txt)", tmp_path / FILE)
    assert [each.name for each in tmp_path.iterdir()] == [f".{FILE}.lock"]
    text = r'{"agent": "\ud800"}'
    (tmp_path / FILE).write_text(text)
    done = await rules.PolicyEvaluator(Settings()).add_rule("allow", "Read", to_settings=True)
    assert ("in this conversation only" in done, "lone surrogate" in done) == (True, True)
    assert (tmp_path / FILE).read_text() == text


# -- Where paths lead, and what holds our own settings.


async def test_links_are_followed_and_a_loop_of_them_or_what_is_no_path_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    new = str(tmp_path / "link" / "a" / "b.txt")
    found = await rules.resolve_in_time([str(tmp_path / "loop" / "x"), "/nul\0", "/" + "a" * 5000, new])
    assert (found[new], "/nul\0" in found) == (str(tmp_path / "real" / "a" / "b.txt"), False)


async def test_a_disk_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(rules, "PATH_SECONDS", 0.05)
    monkeypatch.setattr(rules, "resolve", lambda paths: release.wait(10) or {})
    try:
        with anyio.fail_after(LIMIT):
            assert await rules.resolve_in_time(["/a"]) == {}
    finally:
        release.set()


def test_config_files_and_memory_are_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    found = rules.protected(Settings(state=str(tmp_path / "state")))
    assert {str(tmp_path / "config" / "copilot_kernel.json"), str(tmp_path / "state")} <= set(found)


# -- what is guarded --------------------------------------------------------------------------------------------------


async def outcome(settings: Settings, kind: str, *paths: str, opened: Sequence[str] = (), key: str = "1") -> Decision:
    """Of a call of this kind about `paths`."""
    notebook = FakeNotebook()
    notebook.opened = [*opened]
    given = {"command": paths[0]} if kind == "execute" else {"path": paths[0]}
    diffs = (Diff(paths[0], "a", "b"),) if kind == "edit" else ()
    call = ToolCall(1, 1, key, kind=kind, raw_input=given, content=diffs)
    evaluator = PolicyEvaluator(settings, lambda: settings.sandbox != "off", notebook)
    return await evaluator.decide(call, OUR_OPTIONS, None, inside=True)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python environment with what it has of ours, of which the running Python is."""
    for name in ("bin/pytest", "pyvenv.cfg", "share/jupyter/kernels/python3/kernel.json", "etc/ipython/startup/a.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    library = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    (library / "copilot_kernel").mkdir(parents=True)
    (library / "copilot_kernel" / "policy.py").touch()
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setenv("PATH", os.pathsep.join((str(folder / "bin"), os.environ["PATH"])))
    return library.relative_to(folder)


@pytest.mark.parametrize("environment", [".venv", "env", "envs/py", "."])
@pytest.mark.parametrize("mode", ["acceptEdits", "rule"])
async def test_what_runs_this_kernel_is_changed_by_no_mode_and_no_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: str, mode: str
) -> None:
    project = tmp_path / "project"
    library = install(project / environment, monkeypatch)
    settings = Settings(cwd=str(project), state=str(tmp_path / "state"))
    settings = replace(settings, permission_mode=mode) if mode == "acceptEdits" else replace(settings, allow=("Edit",))
    ours = (f"{library}/copilot_kernel/policy.py", f"{library}/ipykernel/new.py", "etc/ipython/startup/a.py")
    for name in (*ours, "bin/pytest", "bin/new", "pyvenv.cfg", "share/jupyter/kernels/python3/kernel.json"):
        decision = await outcome(settings, "edit", os.path.normpath(f"{environment}/{name}"))
        assert (decision.outcome, rules.OWN_CODE in decision.reason) == ("ask", True), name
    for name in ("src/a.py", "node_modules/.bin/tool", "other/bin/pytest", "binary"):
        assert (await outcome(settings, "edit", name)).outcome == "allow", name
    if environment != ".":
        allowing = replace(settings, allow=("Bash(rm *)", "Bash(cat *)", "Bash(ruff *)", "Read"))
        for command, expected in ((f"rm -r {environment}", "ask"), (f"cat {environment}/pyvenv.cfg", "allow")):
            assert (await outcome(allowing, "execute", command)).outcome == expected, command
        assert (await outcome(allowing, "execute", "ruff check .")).outcome == "allow"
        assert (await outcome(allowing, "read", f"{environment}/pyvenv.cfg")).outcome == "allow"


async def test_so_are_the_agents_program_kernelspecs_and_folders_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path / "tools"), os.environ["PATH"])))
    agent = tmp_path / "packages" / "node_modules" / "agent" / "cli.js"
    agent.parent.mkdir(parents=True)
    agent.touch(mode=0o755)
    settings = Settings(agent=str(agent), cwd=str(tmp_path / "project"), allow=(f"Edit({tmp_path}/**)",))
    for name in ("jupyter/kernels/any/kernel.json", "tools/git", "packages/node_modules/other/index.js"):
        decision = await outcome(settings, "edit", str(tmp_path / name))
        assert (decision.outcome, rules.OWN_CODE in decision.reason) == ("ask", True), name
    assert (await outcome(settings, "edit", str(tmp_path / "packages" / "a.js"))).outcome == "allow"


@pytest.mark.parametrize("opened", [["book.ipynb"], ["other.ipynb", "book.ipynb"], ["linked.ipynb"]])
@pytest.mark.parametrize("kind", ["edit", "delete"])
@pytest.mark.parametrize("mode", ["acceptEdits", "sandboxed", "rule"])
async def test_the_file_of_an_open_notebook_is_changed_by_no_mode_and_no_rule(
    tmp_path: Path, mode: str, kind: str, opened: list[str]
) -> None:
    (tmp_path / "book.ipynb").touch()
    (tmp_path / "linked.ipynb").symlink_to(tmp_path / "book.ipynb")
    settings = Settings(cwd=str(tmp_path), state=str(tmp_path / "state"), sandbox="on")
    settings = replace(settings, allow=("Edit",)) if mode == "rule" else replace(settings, permission_mode=mode)
    decision = await outcome(settings, kind, "book.ipynb", opened=[str(tmp_path / each) for each in opened])
    assert (decision.outcome, rules.OPEN_NOTEBOOK in decision.reason) == ("ask", True)
    assert (await outcome(settings, kind, "closed.ipynb", opened=[str(tmp_path / "book.ipynb")])).outcome == "allow"
    asking = await outcome(
        replace(settings, permission_mode="default", allow=()),
        kind,
        "book.ipynb",
        opened=[str(tmp_path / each) for each in opened],
    )
    assert (asking.is_routine, rules.OPEN_NOTEBOOK in asking.reason) == (False, True)  # so the question says it
    bypassing = replace(settings, permission_mode="bypassPermissions")
    assert (await outcome(bypassing, kind, "book.ipynb", opened=[str(tmp_path / "book.ipynb")])).outcome == "allow"


async def test_the_notebooks_own_tools_are_not_its_file(tmp_path: Path) -> None:
    settings = Settings(cwd=str(tmp_path), permission_mode="acceptEdits")
    opened = [str(tmp_path / "book.ipynb")]
    for key, expected in (("copilot-kernel-notebook-1", "allow"), ("copilot-kernel-1", "ask")):
        assert (await outcome(settings, "edit", "book.ipynb", opened=opened, key=key)).outcome == expected


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("mode", "outcome"), [("bypassPermissions", "ask"), ("acceptEdits", "ask"), ("plan", "reject")]
)
async def test_while_settings_cannot_be_read_nothing_is_allowed_without_a_question(mode: str, outcome: str) -> None:
    evaluator = PolicyEvaluator(Settings(permission_mode=mode, allow=("Read",), unread=("file: error",)))
    call = ToolCall(1, 1, "1", "Read", "read", raw_input={"path": "a.txt"})
    decision = await evaluator.decide(call, OUR_OPTIONS, None)
    assert (decision.outcome, decision.by) == (outcome, "mode")
    with pytest.raises(UsageError, match="every call asks"):
        await evaluator.add_rule("allow", "Edit")
