"""Whether there can be a sandbox, and what stands in its way."""

import pytest
from copilot_kernel.sandbox import probe
from copilot_kernel.sandbox.probe import SandboxTools, SandboxUnavailable, find_tools, obstacles, try_bubblewrap

APPARMOR, CLONE = "kernel/apparmor_restrict_unprivileged_userns", "kernel/unprivileged_userns_clone"


@pytest.fixture
def bwrap(tmp_path):
    """Makes a program of that name."""

    def make(text):
        program = tmp_path / "bwrap"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        return str(program)

    return make


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ({}, probe._CONTAINER),
        ({CLONE: "1", APPARMOR: "0", "user/max_user_namespaces": "5000"}, probe._CONTAINER),
        ({CLONE: "0"}, "Set it by: sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        ({"user/max_user_namespaces": "0"}, "Set it by: sudo sysctl -w user.max_user_namespaces=15000"),
        (
            {APPARMOR: "1"},
            f"Set it by: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n{probe._APPARMOR}",
        ),
    ],
)
def test_the_switch_that_is_the_cause_is_named(tmp_path, values, hint):
    for name, value in values.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    assert obstacles(tmp_path) == hint


def test_a_sandbox_that_does_not_start_says_what_bubblewrap_said(bwrap):
    program = bwrap("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    with pytest.raises(SandboxUnavailable) as raised:
        try_bubblewrap(program)
    assert str(raised.value) == ("bubblewrap cannot make a sandbox here (bwrap: setting up uid map: Permission denied)")
    assert raised.value.hint


def test_a_program_where_the_agent_writes_is_not_used(bwrap, tmp_path):
    program = bwrap("exit 0")
    environ = {"PATH": f".:{tmp_path}"}
    assert find_tools(None, environ).bubblewrap == program
    with pytest.raises(SandboxUnavailable, match=r"bubblewrap \(bwrap\) is not installed"):
        find_tools(None, environ, (tmp_path,))


@pytest.mark.parametrize("missing", ["bwrap", "srt", "socat"])
def test_a_list_of_hosts_needs_three_programs(bwrap, tmp_path, monkeypatch, missing):
    monkeypatch.setattr(probe.sys, "platform", "linux")
    bwrap("exit 0")
    for name in ("srt", "socat"):
        (tmp_path / name).symlink_to("bwrap")
    environ = {"PATH": str(tmp_path)}
    assert find_tools((), environ) == SandboxTools(
        str(tmp_path), *(f"{tmp_path}/{name}" for name in ("bwrap", "srt", "socat"))
    )
    (tmp_path / missing).rename(tmp_path / "other")
    with pytest.raises(SandboxUnavailable, match=rf"{missing}.* is not installed") as raised:
        find_tools((), environ)
    assert "nstall" in raised.value.hint


def test_on_macos_it_is_srt_with_a_list_of_hosts(bwrap, tmp_path, monkeypatch):
    monkeypatch.setattr(probe.sys, "platform", "darwin")
    bwrap("exit 0")
    (tmp_path / "srt").symlink_to("bwrap")
    assert find_tools((), {"PATH": str(tmp_path)}) == SandboxTools(str(tmp_path), srt=f"{tmp_path}/srt")
    with pytest.raises(SandboxUnavailable, match="On macOS a sandbox needs a list of hosts"):
        find_tools(None, {"PATH": str(tmp_path)})


def test_elsewhere_there_is_none(monkeypatch):
    monkeypatch.setattr(probe.sys, "platform", "win32")
    with pytest.raises(SandboxUnavailable, match="needs Linux or macOS"):
        find_tools(None, {"PATH": "/usr/bin"})
