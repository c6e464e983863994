"""Which place decides: the stricter value holds, and nothing of a project or the environment widens unseen."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.config import SETTINGS, Settings
from copilot_kernel.config_reader import IN_PROJECT, load_settings
from copilot_kernel.config_writer import add_to_list
from copilot_kernel.environment import environment_of
from copilot_kernel.permissions.rulebook import Rulebook
from copilot_kernel.places import is_in_own_kernelspec, user_file

from .test_config import write


@pytest.mark.parametrize("mode", ["acceptedits", ""])
def test_an_unknown_mode_is_reported_and_means_default_whatever_the_file_says(tmp_path: Path, mode: str) -> None:
    path = write(tmp_path / "copilot_kernel.json", {"permission_mode": "bypassPermissions"})
    settings = load_settings({"COPILOT_KERNEL_PERMISSION_MODE": mode}, [path])
    assert (settings.permission_mode, settings.origins["permission_mode"]) == ("default", "environment")
    (problem,) = settings.problems
    assert problem.startswith(f"environment: permission_mode: {mode!r} is not one of default, acceptEdits,")


def test_what_one_place_asks_about_or_denies_no_other_place_lifts(tmp_path: Path) -> None:
    path = write(tmp_path / "file.json", {"allow": ["Read"], "ask": ["Edit"], "deny": ["Bash(rm *)"]})
    settings = load_settings(
        {"COPILOT_KERNEL_ALLOW": "[]", "COPILOT_KERNEL_ASK": "[]", "COPILOT_KERNEL_DENY": '["WebFetch", "Bash(rm *)"]'},
        [path],
    )
    assert (settings.allow, settings.ask, settings.deny) == ((), ("Edit",), ("Bash(rm *)", "WebFetch"))
    assert (settings.origins["allow"], settings.origins["deny"]) == ("environment", f"{path}, environment")


BROKEN = '{"deny": ["Bash(rm *)"],}'


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize("lost", ["allow", "ask", "deny", "file"])
def test_while_rules_cannot_be_read_no_mode_and_no_setting_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, lost: str
) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    path = write(user_file(environment_of("")), BROKEN if lost == "file" else {lost: {"Edit": True}})
    more = write(tmp_path / "more.json", {"allow": ["Bash"], "deny": ["Edit(data/**)"]})
    settings = load_settings({"COPILOT_KERNEL_PERMISSION_MODE": mode}, [path, more])
    assert (settings.permission_mode, settings.allow, settings.deny) == ("default", (), ("Edit(data/**)",))
    assert settings.problems[0].startswith(f"{path}: ")
    assert settings.unread == settings.problems[:1]
    assert settings.problems[1:] == (
        f"environment: permission_mode: {mode} is not used while a list of rules cannot be read; default is used",
        f"{more}: allow: not used while a list of rules cannot be read",
    )


def test_while_a_file_of_the_system_cannot_be_read_the_mode_is_plan(tmp_path: Path) -> None:
    system = write(tmp_path / "system.json", BROKEN)
    mine = write(tmp_path / "mine.json", {"permission_mode": "bypassPermissions", "allow": ["Read"]})
    settings = load_settings({"COPILOT_KERNEL_PERMISSION_MODE": "acceptEdits"}, [mine, system])
    assert (settings.permission_mode, settings.allow) == ("plan", ())
    assert settings.origins["permission_mode"] == str(system)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"deny": ["Bash"], "permission_mode": "plan"}', "utf-8-sig")
    assert load_settings({}, [path]) == Settings(deny=("Bash",), permission_mode="plan")
    add_to_list("ask", "Read", path)
    assert load_settings({}, [path]) == Settings(deny=("Bash",), permission_mode="plan", ask=("Read",))


def test_the_mode_stays_where_another_value_cannot_be_read_and_a_plan_stays_in_any_case(tmp_path: Path) -> None:
    path = write(tmp_path / "file.json", {"permission_mode": "bypassPermissions", "agent": 5, "agnet": "demo"})
    assert load_settings({}, [path]).permission_mode == "bypassPermissions"
    plan = {"COPILOT_KERNEL_PERMISSION_MODE": "plan", "COPILOT_KERNEL_DENY": "{}"}
    assert load_settings(plan, [path]).permission_mode == "plan"


def test_what_the_user_allows_is_limited_by_each_list_of_the_systems(tmp_path: Path) -> None:
    mine, ours = write(tmp_path / "mine.json", {"allow": ["Edit"]}), write(tmp_path / "ours.json", {"allow": ["Read"]})
    settings = load_settings({"COPILOT_KERNEL_ALLOW": '["Bash"]'}, [mine, ours])
    assert (settings.allow, settings.origins["allow"]) == (("Bash",), "environment")
    assert settings.allow_limits == {str(ours): ("Read",)}
    book = Rulebook.of(settings).adding("allow", "WebFetch")
    assert [[rule.text for rule in each] for each in (book.rules.allow, *book.rules.allow_limits)] == [
        ["Bash", "WebFetch"],
        ["Read"],
    ]
    assert [each.text for each in book.without("Read").listed] == ["Bash", "WebFetch"]


STRICTER = [
    ("permission_mode", ["plan", "default", "acceptEdits", "sandboxed", "bypassPermissions"]),
    ("sandbox", ["required", "on", "off"]),
    ("on_unasked", ["cancel", "badge"]),
    ("fs", ["off", "on"]),
    ("terminal", ["off", "on"]),
]


@pytest.mark.parametrize(("name", "values"), STRICTER)
def test_of_the_users_value_and_the_systems_the_stricter_holds(tmp_path: Path, name: str, values: list[str]) -> None:
    sandbox = {"sandbox": "on"} if name == "permission_mode" else {}
    for strict, loose in combinations(values, 2):
        for one, other in ((strict, loose), (loose, strict)):
            by_user = write(tmp_path / "user.json", {name: one, **sandbox})
            by_system = write(tmp_path / "system.json", {name: other})
            of_files, expected = (
                load_settings({}, [by_user, by_system]),
                load_settings({}, [write(tmp_path / "x.json", {name: strict, **sandbox})]),
            )
            assert getattr(of_files, name) == getattr(expected, name)


@pytest.mark.parametrize(
    ("name", "one", "other", "both"),
    [
        ("sandbox_read", ["/a/b", "/c"], ["/a", "/d"], ("/a/b",)),
        ("sandbox_write", ["/a"], ["/ab"], ()),
        ("sandbox_hosts", ["*.a.org", "b.org:443"], ["x.a.org:80", "b.org"], ("x.a.org:80", "b.org:443")),
        ("sandbox_hosts", ["a.org:80"], ["a.org:443", "*.b.org"], ()),
        ("trusted_folders", ["/a"], ["/a/b"], ("/a/b",)),
    ],
)
def test_what_two_lists_name_is_what_both_name(
    tmp_path: Path, name: str, one: list[str], other: list[str], both: tuple[str, ...]
) -> None:
    files = [write(tmp_path / "a.json", {name: one, "sandbox": "on"}), write(tmp_path / "b.json", {name: other})]
    assert getattr(load_settings({}, files), name) == getattr(load_settings({}, files[::-1]), name) == both


@pytest.mark.parametrize(
    ("name", "value", "widens"),
    [
        ("AGENT", "sh -c id", True),
        ("AGENT", "demo", False),
        ("CWD", "/", True),
        ("STATE", "/tmp", True),
        ("MCP_SERVERS", '[{"name": "files", "command": "serve"}]', True),
        ("ALLOW", '["Read"]', True),
        ("DENY", '["Read"]', False),
        ("PERMISSION_MODE", "acceptEdits", True),
        ("PERMISSION_MODE", "plan", False),
        ("SANDBOX", "on", False),
        ("SANDBOX_WRITE", '["/data"]', True),
        ("FS", "on", True),
        ("TERMINAL", "on", True),
        ("TRUSTED_FOLDERS", '["/"]', True),
        ("DEMO_COMMAND", "sh -c id", True),
        ("ON_UNASKED", "cancel", False),
        ("RERUN", "ask", False),
    ],
)
def test_what_the_environment_widens_is_known(name: str, value: str, widens: bool) -> None:
    variable = f"COPILOT_KERNEL_{name}"
    assert load_settings({variable: value}, []).widened == ({variable: value} if widens else {})


@pytest.mark.parametrize(
    ("name", "said", "value", "asks"),
    [
        ("permission_mode", "plan", "default", True),
        ("permission_mode", "sandboxed", "acceptEdits", True),
        ("permission_mode", "acceptEdits", "sandboxed", True),
        ("permission_mode", "bypassPermissions", "acceptEdits", False),
        ("allow", ["Read", "Bash"], '["Bash"]', False),
        ("allow", ["Read"], '["Read", "Bash"]', True),
        ("ask", ["Read"], "[]", False),
        ("sandbox_write", ["/data"], '["/data/a", "/data/"]', False),
        ("sandbox_write", ["/data/a"], '["/data"]', True),
        ("trusted_folders", ["~"], '["~/a"]', False),
        ("sandbox_hosts", ["a.org", "b.org"], '["b.org"]', False),
        ("sandbox_hosts", ["b.org:443"], '["b.org"]', True),
        ("state", "/a", "/b", True),
    ],
)
def test_the_environment_overrides_the_users_file_and_what_allows_more_is_asked_about(
    tmp_path: Path, name: str, said: Any, value: str, asks: bool
) -> None:
    variable = f"COPILOT_KERNEL_{name.upper()}"
    environ = {"COPILOT_KERNEL_SANDBOX": "on", variable: value}
    settings = load_settings(environ, [write(tmp_path / "a", {name: said, "sandbox": "on"})])
    assert settings.widened == ({variable: value} if asks else {})
    alone = load_settings(environ, [])
    assert getattr(settings, name) == (("Read",) if name == "ask" else getattr(alone, name))


def test_what_the_system_limits_is_no_widening_of_the_environments(tmp_path: Path) -> None:
    files = [write(tmp_path / "mine", {"permission_mode": "plan"}), write(tmp_path / "system", {"fs": False})]
    settings = load_settings({"COPILOT_KERNEL_FS": "on", "COPILOT_KERNEL_PERMISSION_MODE": "plan"}, files)
    assert (settings.fs, settings.permission_mode, settings.widened) == (False, "plan", {})


def test_a_file_in_the_project_or_its_work_tree_is_no_settings_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    (tmp_path / "tree" / "project").mkdir()
    monkeypatch.chdir(tmp_path / "tree" / "project")
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", "../jupyter")
    Path("../jupyter").mkdir()
    file = write(Path("../jupyter/copilot_kernel.json"), {"permission_mode": "bypassPermissions"})
    settings = load_settings({})
    assert (settings.permission_mode, settings.problems) == ("default", (IN_PROJECT.format(file),))
    monkeypatch.setenv("HOME", str(tmp_path / "tree" / "project"))
    assert load_settings({}).permission_mode == "bypassPermissions"  # everything of the user's lies in the home folder


@pytest.mark.parametrize(("where", "is_own"), [("elsewhere", True), ("project", False)])
def test_an_agent_in_a_kernelspec_is_the_users_unless_that_lies_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, is_own: bool
) -> None:
    (tmp_path / "project").mkdir()
    folder = tmp_path / where / "kernels" / "mine"
    folder.mkdir(parents=True)
    write(folder / "kernel.json", {"argv": ["python", "-m", "copilot_kernel", "--agent=my agent"]})
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / where))
    assert is_in_own_kernelspec("my agent", str(tmp_path / "project")) is is_own
    assert not is_in_own_kernelspec("your agent", str(tmp_path / "project"))
    given = load_settings({"COPILOT_KERNEL_AGENT": "other"}, [], own_agent="my agent")
    assert (given.agent, given.widened) == ("my agent", {})


def test_every_setting_says_which_side_is_strict_or_that_it_has_none() -> None:
    for name, setting in SETTINGS.items():
        assert isinstance(setting.order, tuple) or setting.order in ("lower", "list", "none"), name
        assert (setting.order == "list") is (name == "allow" or setting.join is not None), name
        assert not isinstance(setting.order, tuple) or getattr(Settings, name) in setting.order, name


@pytest.mark.parametrize(
    ("name", "strict", "loose"),
    [
        ("notebook_tools", False, True),
        ("error_context", False, True),
        ("undo", True, False),
        ("context_chars", 1000, 9000),
        ("cancel_grace", 1, 60),
        ("agent_sharing", "off", "user"),
        ("rerun", "keep", "run"),
        ("permission_mode", "plan", "bypassPermissions"),
        ("sandbox", "required", "off"),
        ("on_unasked", "cancel", "badge"),
        ("fs", False, True),
        ("terminal", False, True),
    ],
)
def test_what_the_system_says_more_strictly_holds_but_the_user_overrides_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, strict: Any, loose: Any
) -> None:
    def typed(value: Any) -> str:
        return str(value) if not isinstance(value, bool) else "on" if value else "off"

    variable = f"COPILOT_KERNEL_{name.upper()}"
    users = [write(tmp_path / f"user{at}.json", {name: value}) for at, value in enumerate((strict, loose))]
    system = [write(tmp_path / f"system{at}.json", {name: value}) for at, value in enumerate((strict, loose))]
    for at, expected in enumerate((strict, loose)):
        assert getattr(load_settings({variable: typed(loose)}, [users[1], system[at]]), name) == expected
        assert getattr(load_settings({variable: typed(expected)}, [users[1 - at]]), name) == expected
    settings = load_settings({variable: typed(loose)}, [users[0], system[1]])
    assert (getattr(settings, name), settings.widened) == (loose, {})  # the system says the same
    widened = load_settings({variable: typed(loose)}, [users[0]]).widened
    assert widened == ({variable: typed(loose)} if SETTINGS[name].widens else {})


def test_a_value_that_also_stands_in_a_file_of_the_users_or_the_systems_is_not_asked_about(tmp_path: Path) -> None:
    user, system = write(tmp_path / "a.json", {"agent": "mine"}), write(tmp_path / "b.json", {"agent": "other"})
    for agent, asks in (("mine", False), ("other", False), ("third", True)):
        settings = load_settings({"COPILOT_KERNEL_AGENT": agent}, [user, system])
        assert settings.widened == ({"COPILOT_KERNEL_AGENT": agent} if asks else {})
