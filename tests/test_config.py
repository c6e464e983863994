"""Where a setting comes from, and what becomes of one that cannot be read."""

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.config_reader import HOSTS_NEED_SANDBOX, load_settings
from copilot_kernel.mcp_config import McpServer
from copilot_kernel.places import made_state_folder, notebook, state_folder

ORIGINS = {each.name: "default" for each in fields(Settings) if each.compare}


def write(path: Path, values: Any) -> Path:
    path.write_text(values if isinstance(values, str) else json.dumps(values), "utf-8")
    return path


def test_without_anything_the_defaults_stand() -> None:
    settings = load_settings({}, [])
    assert (settings, settings.origins, settings.problems) == (Settings(), ORIGINS, ())


def test_the_environment_sets_every_field() -> None:
    settings = load_settings(
        {
            "COPILOT_KERNEL_AGENT": " demo ",
            "COPILOT_KERNEL_CWD": "/project",
            "COPILOT_KERNEL_PERMISSION_MODE": "bypassPermissions",
            "COPILOT_KERNEL_ALLOW": '["Read", "Edit"]',
            "COPILOT_KERNEL_ASK": '["Bash(git push)"]',
            "COPILOT_KERNEL_DENY": '["Bash(rm *)"]',
            "COPILOT_KERNEL_ON_UNASKED": "cancel",
            "COPILOT_KERNEL_START_TIMEOUT": "2.5",
            "COPILOT_KERNEL_CANCEL_GRACE": "1",
            "COPILOT_KERNEL_ACTIVITY_TIMEOUT": "600",
            "COPILOT_KERNEL_MCP_SERVERS": '[{"name": "files", "command": "serve"}]',
            "COPILOT_KERNEL_FS": "on",
            "COPILOT_KERNEL_TERMINAL": "on",
            "COPILOT_KERNEL_ANSWER_FORM": "flat",
            "COPILOT_KERNEL_OPTION_MEMBER": "optionId",
            "COPILOT_KERNEL_STATE": "/state",
            "COPILOT_KERNEL_NOTEBOOK_TOOLS": "off",
            "COPILOT_KERNEL_UNDO": "off",
            "COPILOT_KERNEL_ERROR_CONTEXT": "off",
            "COPILOT_KERNEL_CONTEXT_CHARS": "5000",
            "COPILOT_KERNEL_RERUN": "ask",
            "COPILOT_KERNEL_WARM_START": "off",
            "COPILOT_KERNEL_SANDBOX": "required",
            "COPILOT_KERNEL_SANDBOX_READ": '["/data"]',
            "COPILOT_KERNEL_SANDBOX_WRITE": '["~/cache"]',
            "COPILOT_KERNEL_SANDBOX_HOSTS": '["api.github.com"]',
            "COPILOT_KERNEL_AGENT_SHARING": "user",
            "COPILOT_KERNEL_TRUSTED_FOLDERS": '["/trusted"]',
            "PATH": "/bin",
        },
        [],
    )
    servers = (McpServer("files", "stdio", "serve"),)
    lists = ("Read", "Edit"), ("Bash(git push)",), ("Bash(rm *)",)
    more = ("cancel", 2.5, 1.0, 600.0, servers, True, True, "flat", "optionId", "/state")
    switches = (False, False, False)
    sandbox = ("required", ("/data",), (os.path.expanduser("~/cache"),), ("api.github.com",), "user", ("/trusted",))
    expected = Settings("demo", "/project", "bypassPermissions", *lists, *more, *switches, 5000, "ask", False, *sandbox)
    assert settings == expected
    assert settings.origins == dict.fromkeys(ORIGINS, "environment")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sandbox", "maybe"),
        ("sandbox", 1),
        ("sandbox_read", '"/data"'),
        ("sandbox_write", '["data"]'),
        ("agent_sharing", "on"),
    ],
)
def test_what_is_no_sandbox_is_reported(tmp_path: Path, name: str, value: object) -> None:
    file = write(tmp_path / "a.json", {name: value})
    settings = load_settings({}, [file])
    assert (settings, len(settings.problems)) == (Settings(), 1)
    assert settings.problems[0].startswith(f"{file}: {name}: ")


@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        ("[]", ()),
        (" ", ()),
        ('["API.github.com", "*.example.com:443"]', ("api.github.com", "*.example.com:443")),
        ('["127.0.0.1:80", "localhost:65535", "[::1]:8080", "10.0.0.1:1"]',) * 2,
    ],
)
def test_hosts_are_names_or_addresses_with_a_port(given: str, hosts: str | tuple[str, ...]) -> None:
    settings = load_settings({"COPILOT_KERNEL_SANDBOX": "on", "COPILOT_KERNEL_SANDBOX_HOSTS": given}, [])
    expected = tuple(json.loads(hosts)) if isinstance(hosts, str) else hosts
    assert (settings.sandbox_hosts, settings.problems) == (expected, ())


@pytest.mark.parametrize(
    "given",
    [
        *("api.github.com", '"a.b"', "[1]", '["*"]', '["*.com"]', '["host"]', '["https://a.b"]', '["a.b/c"]'),
        *('["a.b:0"]', '["a.b:65536"]', '["localhost"]', '["127.0.0.1"]', '["127.1"]', '["2130706433"]', '["[::1]"]'),
        *('["0x7f.1"]', '["u@a.b"]', '["a.b,c.d"]', '["a.b", ""]', '["-*.a.b"]', '["a.b\\n"]'),
    ],
)
def test_with_a_list_of_hosts_that_cannot_be_read_no_host_is_reached(given: str) -> None:
    settings = load_settings({"COPILOT_KERNEL_SANDBOX": "on", "COPILOT_KERNEL_SANDBOX_HOSTS": given}, [])
    assert (settings.sandbox_hosts, len(settings.problems)) == ((), 1)
    assert settings.problems[0].startswith("environment: sandbox_hosts: must be")


def test_hosts_without_a_sandbox_are_reported() -> None:
    settings = load_settings({"COPILOT_KERNEL_SANDBOX_HOSTS": '["a.b"]'}, [])
    assert settings.problems == (HOSTS_NEED_SANDBOX.format("environment"),)


@pytest.mark.parametrize(("sandbox", "mode"), [("off", "default"), ("on", "sandboxed"), ("required", "sandboxed")])
def test_the_mode_sandboxed_needs_a_sandbox(sandbox: str, mode: str) -> None:
    environ = {"COPILOT_KERNEL_SANDBOX": sandbox, "COPILOT_KERNEL_PERMISSION_MODE": "sandboxed"}
    settings = load_settings(environ, [])
    assert (settings.permission_mode, bool(settings.problems)) == (mode, mode == "default")


def test_the_environment_outranks_the_file_and_the_personal_file_the_common_one(tmp_path: Path) -> None:
    personal = write(tmp_path / "personal.json", {"agent": "mine", "cwd": "/mine"})
    common = write(tmp_path / "common.json", {"agent": "ours", "cwd": "/ours", "allow": ["Read"]})
    settings = load_settings({"COPILOT_KERNEL_AGENT": "demo"}, [personal, common])
    assert settings == Settings(agent="demo", cwd="/mine", allow=("Read",))
    assert settings.origins == {**ORIGINS, "agent": "environment", "cwd": str(personal), "allow": str(common)}


@pytest.mark.parametrize("text", ["{", "[]", "3", "[" * 100_000, b"\xff\xfe\x00"], ids=lambda text: str(text)[:9])
def test_a_file_that_cannot_be_read_is_reported_and_the_defaults_stand(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    (tmp_path / "folder.json").mkdir()
    settings = load_settings({}, [tmp_path / "none.json", path, tmp_path / "folder.json"])
    assert (settings, settings.unread) == (Settings(permission_mode="plan"), settings.problems)
    assert len(settings.problems) == 2
    assert settings.problems[1].startswith(f"{path}: ")


NO_RULES = "must be a JSON array of strings, such as "


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("ALLOW", "Read", NO_RULES),
        ("ALLOW", '"Read"', NO_RULES),
        ("ALLOW", '["Read", 1]', NO_RULES),
        ("DENY", "{}", NO_RULES),
        ("DENY", "Bash(rm *), Edit(src/**)", NO_RULES),
        ("DENY", '["Bash(rm *)",]', NO_RULES),
        ("ASK", "[" * 100_000, ""),
        ("START_TIMEOUT", "soon", ""),
        ("START_TIMEOUT", "0", "must be a number of seconds between 0.001 and 3600"),
        ("START_TIMEOUT", "nan", "must be a number of seconds between 0.001 and 3600"),
        ("CANCEL_GRACE", "3601", "must be a number of seconds between 0.001 and 3600"),
        ("ACTIVITY_TIMEOUT", "-1", "must be a number of seconds between 0 and 604800"),
        ("ON_UNASKED", "kill", "'kill' is not one of cancel, badge"),
        ("ANSWER_FORM", "round", "'round' is not one of nested, flat"),
        ("CONTEXT_CHARS", "10", "must be a number of characters between 1000 and 1000000"),
        ("FS", "perhaps", "'perhaps' is not one of on, off"),
        ("MCP_SERVERS", "npx server", "must be JSON: "),
    ],
    ids=lambda text: text[:20],
)
def test_a_value_that_cannot_be_read_is_reported_and_the_default_stands(name: str, value: str, problem: str) -> None:
    settings = load_settings({f"COPILOT_KERNEL_{name}": value}, [])
    assert (settings, settings.origins) == (Settings(), ORIGINS)
    (found,) = settings.problems
    assert found.startswith(f"environment: {name.lower()}: {problem}")


def test_a_variable_that_is_empty_is_an_empty_list() -> None:
    settings = load_settings({"COPILOT_KERNEL_DENY": " ", "COPILOT_KERNEL_PERMISSION_MODE": "acceptEdits"}, [])
    assert (settings.deny, settings.problems, settings.permission_mode) == ((), (), "acceptEdits")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"agnet": "demo"}, "unknown setting 'agnet'"),
        ({"agent": ["demo"]}, "agent: must be a string"),
        ({"allow": "Read"}, f"allow: {NO_RULES}"),
        ({"deny": ["Edit(data/**)", None]}, f"deny: {NO_RULES}"),
        ({"on_unasked": ["badge"]}, "on_unasked: ['badge'] is not one of cancel, badge"),
        ({"start_timeout": None}, "start_timeout: "),
    ],
)
def test_a_file_with_a_wrong_value_is_named(tmp_path: Path, values: dict[str, Any], problem: str) -> None:
    path = write(tmp_path / "copilot_kernel.json", values)
    settings = load_settings({}, [path])
    assert settings == Settings()
    (found,) = settings.problems
    assert found.startswith(f"{path}: {problem}")


def test_jupyters_config_path_is_where_the_file_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    path = write(tmp_path / "copilot_kernel.json", {"agent": "demo"})
    settings = load_settings({})
    assert (settings.agent, settings.origins["agent"]) == ("demo", str(path))


def test_what_outlives_a_kernel_is_in_jupyters_data_folder_or_where_the_user_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    assert state_folder(Settings()) == tmp_path / "data" / "copilot_kernel"
    assert state_folder(Settings(state=str(tmp_path))) == tmp_path


def test_only_the_user_can_read_a_new_state_folder_and_an_existing_one_keeps_its_mode(tmp_path: Path) -> None:
    (old := tmp_path / "old").mkdir(mode=0o755)
    folders = [made_state_folder(Settings(state=str(path))) for path in (tmp_path / "above" / "new", old)]
    assert [oct(each.stat().st_mode & 0o777) for each in folders] == ["0o700", "0o755"]


def test_a_state_folder_that_cannot_be_made_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not made_state_folder(Settings(state=str(tmp_path / "file" / "state"))).exists()


def test_the_tests_themselves_leave_the_users_state_folder_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert state_folder(load_settings()).is_relative_to(tmp_path_factory.getbasetemp())


def test_the_notebook_is_a_file_that_the_server_names(tmp_path: Path) -> None:
    book = write(tmp_path / "book.ipynb", "{}")
    names = [str(book), str(tmp_path / "Console 1"), str(tmp_path), "book.ipynb", ""]
    assert [notebook({"JPY_SESSION_NAME": name}) for name in names] == [str(book), "", "", "", ""]
    assert notebook({}) == ""


@pytest.mark.parametrize(("raw", "value"), [("on", True), (True, True), ("off", False), (False, False)])
def test_a_switch_is_on_or_off(tmp_path: Path, raw: Any, value: bool) -> None:
    assert load_settings({}, [write(tmp_path / "file.json", {"fs": raw})]) == Settings(fs=value)
