"""A rule in the user's own config file, in which everything else stays; and where paths lead."""

import fcntl
import json
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from copilot_kernel.chat import rules
from copilot_kernel.chat.permission import OUR_OPTIONS
from copilot_kernel.chat.rules import PolicyEvaluator, save_rule
from copilot_kernel.config import Settings, load
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.errors import UsageError

from ..limits import LIMIT

FILE = "copilot_kernel.json"


def test_a_new_file_is_for_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    file = save_rule("allow", "Read")
    assert (file, json.loads(file.read_text())) == (tmp_path / "config" / FILE, {"allow": ["Read"]})
    assert (stat.S_IMODE(file.stat().st_mode), list(file.parent.iterdir())) == (0o600, [file])


def test_what_else_is_in_the_file_stays_and_so_do_its_mode_bits(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text('{"agent": "démo", "allow": ["Read"], "unknown": {"a": [1, null, 1.5]}, "deny": ["Bash"]}')
    file.chmod(0o644)
    save_rule("allow", "Bash(ls)", file)
    before = file.stat()
    save_rule("allow", "Read", file)
    assert (file.stat().st_ino, stat.S_IMODE(before.st_mode)) == (before.st_ino, 0o644)
    assert list(json.loads(file.read_text("utf-8")).items()) == [
        ("agent", "démo"),
        ("allow", ["Read", "Bash(ls)"]),
        ("unknown", {"a": [1, None, 1.5]}),
        ("deny", ["Bash"]),
    ]


async def test_each_list_that_allows_must_cover_a_call(tmp_path: Path) -> None:
    """What the user allows by a click belongs to the user's own lists, not to that of an administrator."""
    system = tmp_path / "system.json"
    system.write_text('{"allow": ["Bash(ls)", "Bash(date)"]}')

    async def allowed(evaluator: PolicyEvaluator, command: str) -> bool:
        call = ToolCall(id=1, turn=1, call_id="1", kind="execute", raw_input={"command": command})
        return (await evaluator.decide(call, OUR_OPTIONS, None)).outcome == "allow"

    for environ, by_list, by_click in (({}, True, False), ({"COPILOT_KERNEL_ALLOW": '["Bash(ls)"]'}, False, True)):
        evaluator = PolicyEvaluator(replace(load(environ, [system]), cwd=str(tmp_path)))
        assert await allowed(evaluator, "ls")
        assert await allowed(evaluator, "date") is by_list
        await evaluator.add_rule("allow", "Bash(date)")
        await evaluator.add_rule("allow", "Bash(id)")
        assert await allowed(evaluator, "date") is (by_list or by_click)
        assert not await allowed(evaluator, "id")


@pytest.mark.parametrize("text", ["{", "[]", '{"allow": [1]}', '{"agent": "a", "agent": "b"}'])
def test_what_is_not_understood_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / FILE
    file.write_text(text)
    with pytest.raises(UsageError, match=str(file)) as error:
        save_rule("allow", "Read", file)
    assert (file.read_text(), bool(error.value.hint)) == (text, True)
    assert list(tmp_path.iterdir()) == [file]


async def test_half_a_character_in_the_rule_or_in_the_file_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON can spell a lone surrogate, which cannot be written as UTF-8."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    with pytest.raises(UsageError, match="lone surrogate"):
        save_rule("allow", "Edit(\ud800.txt)")
    assert list(tmp_path.iterdir()) == []
    text = r'{"agent": "\ud800"}'
    (tmp_path / FILE).write_text(text)
    done = await rules.PolicyEvaluator(Settings()).add_rule("allow", "Read", to_settings=True)
    assert ("in this conversation only" in done, "lone surrogate" in done) == (True, True)
    assert (tmp_path / FILE).read_text() == text


def test_a_place_that_cannot_be_written_is_an_error_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / FILE).mkdir()
    for file in (tmp_path / "file" / FILE, tmp_path / FILE):
        with pytest.raises(UsageError, match="cannot be written"):
            save_rule("allow", "Read", file)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Some keep their settings elsewhere, under version control."""
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text('{"agent": "demo"}')
    (tmp_path / FILE).symlink_to(real)
    save_rule("deny", "Bash(rm *)", tmp_path / FILE)
    assert (tmp_path / FILE).is_symlink()
    assert json.loads(real.read_text()) == {"agent": "demo", "deny": ["Bash(rm *)"]}


def test_two_kernels_that_save_at_once_both_do(tmp_path: Path) -> None:
    rules = [f"Bash(echo {number})" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda rule: save_rule("allow", rule, tmp_path / FILE), rules))
    assert sorted(json.loads((tmp_path / FILE).read_text())["allow"]) == sorted(rules)


def test_a_lock_that_is_never_given_up_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "LOCK_SECONDS", 0.05)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match="Another program has locked"):
        save_rule("allow", "Read", tmp_path / FILE)
    assert list(tmp_path.iterdir()) == []
    os.close(descriptor)
    save_rule("allow", "Read", tmp_path / FILE)


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


def test_config_files_memory_and_kernelspecs_are_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    for name, module in (("ours", "copilot_kernel"), ("theirs", "ipykernel_launcher")):
        spec = tmp_path / "data" / "kernels" / name / "kernel.json"
        spec.parent.mkdir(parents=True)
        spec.write_text(json.dumps({"argv": ["python", "-m", module]}))
    (tmp_path / "data" / "kernels" / "broken").mkdir()
    (tmp_path / "data" / "kernels" / "broken" / "kernel.json").write_text("[")
    found = rules.protected(Settings(state=str(tmp_path / "state")))
    assert {str(tmp_path / "config" / "copilot_kernel.json"), str(tmp_path / "state")} <= set(found)
    assert [Path(each).name for each in found if "kernels" in each and str(tmp_path) in each] == ["ours"]
