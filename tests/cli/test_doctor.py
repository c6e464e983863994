"""What `doctor` finds, and what it says about it."""

import json
import stat
import sys
import tempfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from copilot_kernel.acp.locate import CANNOT_START, NOT_ON_PATH, START_THERE
from copilot_kernel.cli import doctor
from copilot_kernel.cli.doctor import Check
from copilot_kernel.config import Settings
from copilot_kernel.permissions.rulebook import EVERY_COMMAND, NOT_A_RULE

from .conftest import Program


def found(program: Program, *options: str, **environ: str) -> dict[str, list[tuple[str, str]]]:
    """The states and messages of a report, by name."""
    report = json.loads(program("doctor", "--json", *options, **environ).stdout)
    by_name: dict[str, list[tuple[str, str]]] = {}
    for check in report["checks"]:
        by_name.setdefault(check["name"], []).append((check["state"], check["message"]))
    return by_name


def test_where_all_is_well_every_line_says_so_and_settings_are_listed(program):
    done = program("doctor", COPILOT_KERNEL_ALLOW='["Read"]')
    lines = done.stdout.splitlines()
    marks = [line.partition(":")[0] for line in lines if line[:1] in "✓✗–"]
    assert (done.returncode, done.stderr) == (0, "")
    *needed, sandbox, sharing, vs_code = (mark for mark in marks if mark)
    names = ("kernelspec", "ipykernel", "widgets", "agent", "sign-in", "extension", "server extension")
    assert needed == [f"✓ {name}" for name in names]
    assert sandbox[2:] == "sandbox"  # possible or not, nobody has asked for one
    assert (sharing, vs_code) == ("✓ sharing", "– VS Code")
    settings = lines[lines.index("settings") + 1 :]
    assert settings[0] == '  agent             "demo"  (environment)'
    assert '  allow             ["Read"]  (environment)' in settings
    assert "  start_timeout     30.0  (default)" in settings


@pytest.mark.parametrize(("sandbox", "code", "mark"), [("required", 1, "✗"), ("on", 0, "–"), ("off", 0, "–")])
def test_where_there_can_be_no_sandbox_it_says_why(program, tmp_path, sandbox, code, mark):
    home = str(tmp_path / "home")
    Path(home).mkdir()
    done = program("doctor", "--no-start", HOME=home, COPILOT_KERNEL_CWD=home, COPILOT_KERNEL_SANDBOX=sandbox)
    lines = [line for line in done.stdout.splitlines() if line[2:].startswith("sandbox: ")]
    assert (done.returncode, [line[0] for line in lines]) == (code, [mark])
    assert "is or contains the home folder" in lines[0]


def test_json_has_the_same_and_the_versions(program):
    report = json.loads(program("doctor", "--json", "--no-start").stdout)
    assert (report["ok"], set(report)) == (True, {"ok", "version", "checks", "settings"})
    assert report["settings"]["agent"] == {"value": "demo", "origin": "environment"}
    assert [check["state"] for check in report["checks"] if check["name"] == "sign-in"] == ["unknown"]


def test_a_bug_report_has_versions_and_nothing_that_the_user_wrote(program, tmp_path):
    (tmp_path / "config").mkdir()
    canaries = {
        "agent": "agent-canary --token canary",
        "allow": ["Bash(canary)"],
        "mcp_servers": {"canary": {"command": "canary", "env": {"KEY": "canary"}}},
        "cwd": str(tmp_path),
        "sandbox": "canary",
    }
    (tmp_path / "config" / "copilot_kernel.json").write_text(json.dumps(canaries))
    more = {"COPILOT_KERNEL_AGENT": "agent-canary --token canary", "COPILOT_KERNEL_UNDO": "off", "KEY": "canary"}
    report = program("doctor", "--report", "--no-start", **more).stdout
    assert ("canary" in report, str(tmp_path) in report) == (False, False)
    lines = report.splitlines()
    for line in (
        "undo (environment): false",
        "allow (file): set",
        "✗ agent",
        "✗ settings",
        "✓ server extension: enabled",
    ):
        assert line in lines, report


def test_a_setting_of_a_file_names_the_file(program, tmp_path):
    file = tmp_path / "config" / "copilot_kernel.json"
    file.parent.mkdir()
    file.write_text('{"cwd": "~", "colour": "red"}')
    done = program("doctor", "--no-start")
    assert done.returncode == 1
    assert f'  cwd               "~"  ({file})' in done.stdout.splitlines()
    assert f"✗ settings: {file}: unknown setting 'colour'" in done.stdout.splitlines()


def fake_copilot(folder: Path, answers: str) -> str:
    """A program named copilot that knows its version, and answers each request with `answers`."""
    program = folder / "bin" / "copilot"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        "if sys.argv[1:] == ['--version']: sys.exit(print('9.8.7\\nmore'))\n"
        "assert sys.argv[1:] == ['--acp']\n"
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        f"    answer = ({answers})[request['method']]\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': request['id'], **answer}), flush=True)\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program.parent)


SIGNED_OUT = """{
    'initialize': {'result': {'protocolVersion': 1, 'authMethods': [{'id': 'login', 'name': 'Log in', 'description':
        'In a terminal', '_meta': {'terminal-auth': {'command': '/opt-x/copilot', 'args': ['login']}}}]}},
    'session/new': {'error': {'code': -32000, 'message': 'Authentication required'}},
}"""
SIGNED_IN = """{
    'initialize': {'result': {'protocolVersion': 1, 'agentInfo': {'name': 'Copilot', 'version': '9.8.7'}}},
    'session/new': {'result': {'sessionId': 's'}},
}"""


def test_who_is_signed_in_needs_nothing_more(program, tmp_path):
    folder = fake_copilot(tmp_path, SIGNED_IN)
    report = found(program, COPILOT_KERNEL_AGENT="", PATH=folder)
    assert (report["agent"], report["sign-in"]) == (
        [("ok", f"GitHub Copilot CLI: {folder}/copilot --acp (9.8.7)")],
        [("ok", "Copilot 9.8.7 opened a session")],
    )


def test_an_agent_that_cannot_start_says_why_before_a_cell_does(program, tmp_path):
    folder = fake_copilot(tmp_path, SIGNED_IN)
    copilot = Path(folder, "copilot")
    copilot.write_text("#!/bin/sh\necho 'asdf: No version is set for command node' >&2\nexit 126\n")
    done = program("doctor", COPILOT_KERNEL_AGENT="", PATH=folder)
    assert f"– agent: GitHub Copilot CLI: {copilot} --version fails\n    {START_THERE.format(copilot)}\n" in done.stdout
    expected = (
        "✗ sign-in: GitHub Copilot CLI stopped before it was ready: it exited with code 126\n    asdf: No version is"
    )
    assert (done.returncode, expected in done.stdout) == (1, True)
    copilot.write_text("#!/usr/bin/env node\n")
    assert found(program, "--no-start", COPILOT_KERNEL_AGENT="", PATH=folder, HOME=str(tmp_path))["agent"] == [
        ("broken", CANNOT_START.format(copilot, NOT_ON_PATH.format("node")))
    ]


def test_who_is_not_signed_in_gets_the_agents_own_commands(program, tmp_path):
    done = program("doctor", COPILOT_KERNEL_AGENT="", PATH=fake_copilot(tmp_path, SIGNED_OUT))
    after = done.stdout.partition("✗ sign-in: ")[2].splitlines()
    assert (done.returncode, after[1:4]) == (
        1,
        ["    Sign in, then try again:", "    Log in: In a terminal", "        /opt-x/copilot login"],
    )


def test_another_program_is_not_run_with_words_that_it_may_not_know(program, tmp_path):
    script = tmp_path / "guest"
    script.write_text('#!/bin/sh\necho "$@" >> arguments\n')
    script.chmod(0o755)
    assert found(program, "--no-start", COPILOT_KERNEL_AGENT=f"{script} acp")["agent"] == [
        ("ok", f"guest: {script} acp")
    ]
    assert not (tmp_path / "arguments").exists()


@pytest.mark.parametrize("edit", [{"argv": ["/gone/python", "-m", "copilot_kernel"]}, {"language": "copilot"}])
def test_a_kernelspec_that_does_not_work_or_not_in_vs_code_is_found(program, tmp_path, edit):
    program("install", "--user", "--name", "lost")
    file = tmp_path / "data" / "kernels" / "lost" / "kernel.json"
    spec = json.loads(file.read_text())
    file.write_text(json.dumps(spec | edit))
    report = found(program, "--no-start")["kernelspec"]
    assert [state for state, text in report if text.startswith("lost ")] == ["broken"]
    assert [state for state, text in report if not text.startswith("lost ")] == ["ok"]


def test_an_ipykernel_that_lost_what_we_override_is_found(monkeypatch):
    monkeypatch.setattr(doctor, "changed_internals", lambda: ("dispatch_shell",))
    check = doctor.check_internals()
    assert (check.state, "dispatch_shell" in check.message, check.hint) == (
        "broken",
        True,
        "pip install 'ipykernel>=7.4,<8'",
    )


@pytest.mark.parametrize(("lab", "manager", "state"), [
    ("4.6.6", "5.0.16", "ok"),
    ("4.6.6", "3.1.11", "broken"),
    ("4.6.6", None, "broken"),
    (None, None, "unknown"),
])  # fmt: skip
def test_buttons_need_a_lab_and_a_manager_that_go_together(monkeypatch, lab, manager, state):
    def version(name: str) -> str:
        if name == "jupyterlab" and lab is None:
            raise PackageNotFoundError
        return lab if name == "jupyterlab" else "8.1.9"

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor, "lab_extension", lambda name: manager)
    check = doctor.check_widgets()
    assert (check.state, bool(check.hint)) == (state, state != "ok")


def test_rules_that_match_nothing_or_mean_everything_are_reported():
    unread, foo, bash = doctor.check_settings(Settings(allow=("Bash",), deny=("Foo",), problems=("x: y",)))
    assert unread == Check("settings", "broken", "x: y", "The default is used.")
    assert (foo.state, foo.message.startswith(f"deny: {NOT_A_RULE.format('Foo')}")) == ("broken", True)
    assert (bash.state, bash.message) == ("unknown", f"careful: allow: Bash: {EVERY_COMMAND}")


def test_a_program_that_is_too_slow_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(doctor, "PROBE_SECONDS", 0.05)
    assert doctor.output([sys.executable, "-c", "import time; time.sleep(60)"]) is None


@pytest.mark.parametrize(("mode", "state"), [(0o700, "ok"), (0o755, "broken")])
def test_whether_notebooks_can_share_an_agent_is_checked(program, mode, state):
    with tempfile.TemporaryDirectory(prefix="ck-") as runtime:
        folder = Path(runtime, "copilot-agent")
        folder.mkdir()
        folder.chmod(mode)
        ((found_state, message),) = found(
            program, "--no-start", COPILOT_KERNEL_AGENT_SHARING="user", JUPYTER_RUNTIME_DIR=runtime
        )["sharing"]
    assert (found_state, str(folder) in message) == (state, True)
