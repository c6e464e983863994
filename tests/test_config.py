"""Where a setting comes from, and what becomes of one that cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.config import Settings, load, notebook, state_folder
from copilot_kernel.mcp_config import McpServer

ORIGINS = dict.fromkeys(
    (
        *("agent", "cwd", "permission_mode", "allow", "ask", "deny", "on_unasked", "start_timeout", "cancel_grace"),
        *("activity_timeout", "mcp_servers", "fs", "terminal", "answer_form", "option_member", "state"),
    ),
    "default",
)


def write(path: Path, values: Any) -> Path:
    path.write_text(values if isinstance(values, str) else json.dumps(values), "utf-8")
    return path


def test_without_anything_the_defaults_stand() -> None:
    settings = load({}, [])
    assert (settings, settings.origins, settings.problems) == (Settings(), ORIGINS, ())


def test_the_environment_sets_every_field() -> None:
    settings = load(
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
            "PATH": "/bin",
        },
        [],
    )
    servers = (McpServer("files", "stdio", "serve"),)
    lists = ("Read", "Edit"), ("Bash(git push)",), ("Bash(rm *)",)
    more = ("cancel", 2.5, 1.0, 600.0, servers, True, True, "flat", "optionId", "/state")
    assert settings == Settings("demo", "/project", "bypassPermissions", *lists, *more)
    assert settings.origins == dict.fromkeys(ORIGINS, "environment")


def test_the_environment_outranks_the_file_and_the_personal_file_the_common_one(tmp_path: Path) -> None:
    personal = write(tmp_path / "personal.json", {"agent": "mine", "cwd": "/mine"})
    common = write(tmp_path / "common.json", {"agent": "ours", "cwd": "/ours", "allow": ["Read"]})
    settings = load({"COPILOT_KERNEL_AGENT": "demo"}, [personal, common])
    assert settings == Settings(agent="demo", cwd="/mine", allow=("Read",))
    assert settings.origins == {**ORIGINS, "agent": "environment", "cwd": str(personal), "allow": str(common)}


def test_a_file_that_is_not_there_is_no_problem(tmp_path: Path) -> None:
    assert load({}, [tmp_path / "none.json"]).problems == ()


@pytest.mark.parametrize("text", ["{", "[]", '"demo"', "3"])
def test_a_file_that_cannot_be_read_is_a_problem_and_the_defaults_stand(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "bad.json", text)
    settings = load({}, [path])
    assert settings == Settings()
    (problem,) = settings.problems
    assert problem.startswith(f"{path}: ")


def test_a_folder_or_bytes_in_the_place_of_the_file_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder.json").mkdir()
    settings = load({}, [tmp_path / "bytes.json", tmp_path / "folder.json"])
    assert (settings, len(settings.problems)) == (Settings(), 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALLOW", "Read"),
        ("ALLOW", '"Read"'),
        ("ALLOW", '["Read", 1]'),
        ("ALLOW", "{}"),
        ("START_TIMEOUT", "soon"),
        ("START_TIMEOUT", "0"),
        ("START_TIMEOUT", "-1"),
        ("START_TIMEOUT", "nan"),
        ("START_TIMEOUT", "inf"),
        ("CANCEL_GRACE", "4000"),
        ("DENY", "{}"),
        ("DENY", "5"),
        ("DENY", "rm *, mv *"),
        ("ASK", "[" * 100_000),
        ("ON_UNASKED", "kill"),
    ],
)
def test_a_value_that_cannot_be_read_is_a_problem_and_the_default_stands(name: str, value: str) -> None:
    settings = load({f"COPILOT_KERNEL_{name}": value}, [])
    assert (settings, settings.origins) == (Settings(), ORIGINS)
    (problem,) = settings.problems
    assert problem.startswith(f"environment: {name.lower()}: ")


def test_a_variable_that_is_empty_limits_nothing() -> None:
    settings = load({"COPILOT_KERNEL_DENY": " ", "COPILOT_KERNEL_PERMISSION_MODE": "acceptEdits"}, [])
    assert (settings.deny, settings.problems, settings.permission_mode) == ((), (), "acceptEdits")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"agnet": "demo"}, "there is no setting 'agnet'"),
        ({"agent": ["demo"]}, "agent: must be text"),
        ({"allow": "Read"}, "allow: "),
        ({"on_unasked": ["badge"]}, "on_unasked: ['badge'] is not one of badge, cancel; badge is used"),
        ({"start_timeout": [1]}, "start_timeout: "),
        ({"start_timeout": None}, "start_timeout: "),
        ({"activity_timeout": -1}, "activity_timeout: must be a number of seconds between 0 and 604800"),
        ({"activity_timeout": "nan"}, "activity_timeout: must be"),
    ],
)
def test_a_file_with_a_wrong_value_names_it(tmp_path: Path, values: dict[str, Any], problem: str) -> None:
    path = write(tmp_path / "copilot_kernel.json", values)
    settings = load({}, [path])
    assert settings == Settings()
    (told,) = settings.problems
    assert told.startswith(f"{path}: {problem}")


def test_a_wrong_value_in_the_environment_leaves_the_files(tmp_path: Path) -> None:
    path = write(tmp_path / "copilot_kernel.json", {"on_unasked": "cancel"})
    settings = load({"COPILOT_KERNEL_ON_UNASKED": "kill"}, [path])
    assert (settings.on_unasked, settings.origins["on_unasked"]) == ("cancel", str(path))


@pytest.mark.parametrize("mode", ["acceptedits", "", "yolo", " plan"])
def test_an_unknown_mode_is_reported_and_means_default_whatever_the_file_says(tmp_path: Path, mode: str) -> None:
    path = write(tmp_path / "copilot_kernel.json", {"permission_mode": "bypassPermissions"})
    settings = load({"COPILOT_KERNEL_PERMISSION_MODE": mode}, [path])
    assert (settings.permission_mode, settings.origins["permission_mode"]) == ("default", "environment")
    (problem,) = settings.problems
    assert problem.startswith(f"environment: permission_mode: {mode!r} is not one of default, acceptEdits,")


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions", "plan"])
def test_a_known_mode_is_taken(mode: str) -> None:
    settings = load({"COPILOT_KERNEL_PERMISSION_MODE": mode}, [])
    assert (settings.permission_mode, settings.problems) == (mode, ())


def test_what_one_place_asks_about_or_denies_no_other_place_lifts(tmp_path: Path) -> None:
    path = write(tmp_path / "file.json", {"allow": ["Read"], "ask": ["Edit"], "deny": ["Bash(rm *)"]})
    settings = load(
        {"COPILOT_KERNEL_ALLOW": "[]", "COPILOT_KERNEL_ASK": "[]", "COPILOT_KERNEL_DENY": '["WebFetch", "Bash(rm *)"]'},
        [path],
    )
    assert (settings.allow, settings.ask, settings.deny) == ((), ("Edit",), ("Bash(rm *)", "WebFetch"))
    assert (settings.origins["allow"], settings.origins["deny"]) == ("environment", f"{path}, environment")


@pytest.mark.parametrize("name", ["ask", "deny"])
def test_of_what_asks_and_denies_the_rest_holds_if_one_entry_is_no_text(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "file.json", {name: ["Edit(data/**)", None, ["Read"]]})
    settings = load({f"COPILOT_KERNEL_{name.upper()}": '["Bash(rm *)", 5]'}, [path])
    assert getattr(settings, name) == ("Edit(data/**)", "Bash(rm *)")
    assert settings.origins[name] == f"{path}, environment"
    assert settings.problems == (
        f"{path}: {name}: None is not a rule and matches nothing; rules are strings",
        f"{path}: {name}: ['Read'] is not a rule and matches nothing; rules are strings",
        f"environment: {name}: 5 is not a rule and matches nothing; rules are strings",
    )


@pytest.mark.parametrize("name", ["ask", "deny"])
@pytest.mark.parametrize("text", ["Bash(rm *)", '"Bash(rm *)"', " Bash(rm *)\n"])
def test_one_rule_that_asks_or_denies_may_stand_alone(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path / "file.json", {name: "Edit(data/**)"})
    settings = load({f"COPILOT_KERNEL_{name.upper()}": text}, [path])
    assert (getattr(settings, name), settings.problems) == (("Edit(data/**)", "Bash(rm *)"), ())


@pytest.mark.parametrize("name", ["ask", "deny"])
@pytest.mark.parametrize(
    "text",
    [
        "Bash(rm *), Edit(src/{a,b}/**)",
        '["Bash(rm *)", "Edit(src/{a,b}/**)",]',
        "['Bash(rm *)', 'Edit(src/{a,b}/**)']",
        "[Bash(rm *), Edit(src/{a,b}/**)]",
        "Bash(rm *); Edit(src/{a,b}/**)",
        "Bash(rm *)\nEdit(src/{a,b}/**)",
    ],
)
def test_a_text_that_only_looks_like_a_list_asks_and_denies_as_one(name: str, text: str) -> None:
    settings = load({f"COPILOT_KERNEL_{name.upper()}": text, "COPILOT_KERNEL_PERMISSION_MODE": "bypassPermissions"}, [])
    assert getattr(settings, name) == ("Bash(rm *)", "Edit(src/{a,b}/**)")
    assert (settings.permission_mode, settings.problems) == ("bypassPermissions", ())


def test_what_is_no_rule_in_such_a_text_is_told_and_the_rest_holds() -> None:
    settings = load({"COPILOT_KERNEL_DENY": "Bash(rm *), mv x, Edit(data/**"}, [])
    assert settings.deny == ("Bash(rm *)",)
    assert settings.problems == (
        "environment: deny: 'mv x' is not a rule and matches nothing",
        "environment: deny: 'Edit(data/**' is not a rule and matches nothing",
    )


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize("lost", ["deny", "ask", "file"])
def test_no_mode_that_allows_begins_while_what_denies_cannot_be_read(tmp_path: Path, mode: str, lost: str) -> None:
    path = write(tmp_path / "file.json", '{"deny": ["Bash(rm *)"],}' if lost == "file" else {lost: {"Edit": True}})
    settings = load({"COPILOT_KERNEL_PERMISSION_MODE": mode}, [path])
    assert settings.permission_mode == "default"
    words = "does not begin while what denies or asks cannot be read; default is used"
    assert settings.problems[-1] == f"environment: permission_mode: {mode!r} {words}"
    assert settings.problems[0].startswith(f"{path}: ")


def test_the_mode_stays_where_something_else_cannot_be_read_and_a_plan_stays_in_any_case(tmp_path: Path) -> None:
    path = write(tmp_path / "file.json", {"permission_mode": "bypassPermissions", "allow": "Read", "agnet": "demo"})
    assert load({}, [path]).permission_mode == "bypassPermissions"
    assert (
        load({"COPILOT_KERNEL_PERMISSION_MODE": "plan", "COPILOT_KERNEL_DENY": "{}"}, [path]).permission_mode == "plan"
    )


@pytest.mark.parametrize("text", ["rm x", "rm *, mv *", '{"a": 1}'])
def test_what_cannot_deny_says_what_to_write(text: str) -> None:
    (problem,) = load({"COPILOT_KERNEL_DENY": text}, []).problems
    assert "matches nothing; it must be a JSON array of strings" in problem
    assert problem.endswith("""write COPILOT_KERNEL_DENY='["Bash(rm *)", "Edit(data/**)"]'""")


def test_what_is_allowed_in_several_files_adds_up(tmp_path: Path) -> None:
    """Else a rule that is saved in the user's own file would take away those of the others."""
    mine, ours = write(tmp_path / "mine.json", {"allow": ["Edit"]}), write(tmp_path / "ours.json", {"allow": ["Read"]})
    settings = load({}, [mine, ours])
    assert (settings.allow, settings.origins["allow"]) == (("Read", "Edit"), f"{ours}, {mine}")


def test_jupyters_config_path_is_where_the_file_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    path = write(tmp_path / "copilot_kernel.json", {"agent": "demo"})
    settings = load({})
    assert (settings.agent, settings.origins["agent"]) == ("demo", str(path))


def test_a_form_of_answers_that_nobody_knows_is_reported() -> None:
    settings = load({"COPILOT_KERNEL_ANSWER_FORM": "round"}, [])
    assert (settings.answer_form, settings.problems) == (
        "nested",
        ("environment: answer_form: 'round' is not one of nested, flat; nested is used",),
    )


def test_what_outlives_a_kernel_is_in_jupyters_data_folder_or_where_the_user_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    assert state_folder(Settings()) == tmp_path / "data" / "copilot_kernel"
    assert state_folder(Settings(state=str(tmp_path))) == tmp_path


def test_the_notebook_is_a_file_that_the_server_names(tmp_path: Path) -> None:
    book = write(tmp_path / "book.ipynb", "{}")
    names = [str(book), str(tmp_path / "Console 1"), str(tmp_path), "book.ipynb", ""]
    assert [notebook({"JPY_SESSION_NAME": name}) for name in names] == [str(book), "", "", "", ""]
    assert notebook({}) == ""


@pytest.mark.parametrize(("raw", "value"), [("on", True), (True, True), ("off", False), (False, False)])
def test_a_switch_is_on_or_off(tmp_path: Path, raw: Any, value: bool) -> None:
    settings = load({}, [write(tmp_path / "file.json", {"fs": raw, "terminal": "perhaps"})])
    assert (settings.fs, settings.terminal) == (value, False)
    assert settings.problems == (f"{tmp_path / 'file.json'}: terminal: 'perhaps' is neither on nor off; off is used",)
