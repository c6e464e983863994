"""A list of hosts: what `srt` is given, and what is reached inside."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.sandbox import SandboxUnavailable, create_sandbox, srt, summary, unavailable
from copilot_kernel.sandbox.mounts import EMPTY_FILE, Access, Mount
from copilot_kernel.sandbox.probe import SandboxTools
from copilot_kernel.sandbox.sandbox import SUMMARY

from ..limits import LIMIT
from .hostile_place import answering

READ, WRITE, HIDDEN = Access.READ, Access.WRITE, Access.HIDDEN
LINUX = SandboxTools("/bin", "/bin/bwrap", "/bin/srt", "/bin/so cat")
MACOS = SandboxTools("/bin", srt="/bin/srt")
FETCH = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=120).read().decode())"

# -- what srt is given ----------------------------------------------------------------------------------------------


def test_on_linux_only_the_network_is_left_to_srt(tmp_path):
    hosts = ("api.github.com", "127.0.0.1:80", "127.0.0.1:80")
    words = srt.command(LINUX, hosts, tmp_path, (), ("--tmpfs", "/a b"))
    given = json.loads((tmp_path / "srt.json").read_text())
    assert given["network"] == {
        "allowedDomains": ["api.github.com", "127.0.0.1:80"],
        "deniedDomains": [],
        "strictAllowlist": True,
        "allowAllUnixSockets": True,
    }
    assert (given["filesystem"]["disabled"], given["bwrapPath"], given["socatPath"]) == (
        True,
        "/bin/bwrap",
        "/bin/so cat",
    )
    assert (words[0], words[-6:]) == (
        "/bin/bwrap",
        ("/bin/srt", "--settings", f"{tmp_path}/srt.json", "--", "/bin/sh", f"{tmp_path}/start"),
    )
    relay, start = (tmp_path / "start").read_text().splitlines()
    assert shlex.split(relay)[:3] == [
        "/bin/so cat",
        "TCP-LISTEN:80,bind=127.0.0.1,fork,reuseaddr",
        "PROXY:localhost:127.0.0.1:80,proxyport=3128,proxyauth=$CLOUDSDK_PROXY_USERNAME:$CLOUDSDK_PROXY_PASSWORD",
    ]
    assert shlex.split(start)[-3:] == ["--tmpfs", "/a b", "$@"]


def test_on_macos_it_gets_the_rules_for_files():
    mounts = [
        Mount("/h", HIDDEN),
        Mount("/h/p", WRITE),
        Mount("/h/p/.git/hooks", READ),
        Mount("/h/p/ours", HIDDEN),
        Mount("/h/p/ours.json", HIDDEN, EMPTY_FILE),
        Mount("/h/.gitconfig", READ),
        Mount("/h/.cache", WRITE, "/h/state/1"),
        Mount("/h/.copilot/logs", WRITE, "/h/.copilot/logs"),
        Mount("/h/.copilot/settings.json", READ, "/h/dotfiles/settings.json"),
    ]
    given = srt.macos_settings(("api.github.com",), mounts)
    assert given == {
        "network": {"allowedDomains": ["api.github.com"], "deniedDomains": [], "strictAllowlist": True},
        "filesystem": {
            "denyRead": ["/h", "/h/p/ours", "/h/p/ours.json"],
            "allowRead": [
                *("/h/p/.git/hooks", "/h/.gitconfig", "/h/dotfiles/settings.json"),
                *("/h/p", "/h/state/1", "/h/.copilot/logs"),
            ],
            "allowWrite": ["/h/p", "/h/state/1", "/h/.copilot/logs"],
            "denyWrite": ["/h/p/.git/hooks", "/h/p/ours", "/h/p/ours.json"],
        },
    }


def test_on_macos_a_path_that_srt_would_read_as_a_pattern_is_refused():
    with pytest.raises(SandboxUnavailable, match=r"srt would read /p/\[x\] as a pattern"):
        srt.macos_settings((), [Mount("/p/[x]", WRITE)])


def test_on_macos_the_command_takes_what_bubblewrap_would_take(tmp_path):
    words = srt.command(MACOS, (), tmp_path)
    assert words == ("/bin/srt", "--settings", f"{tmp_path}/srt.json", "--", "/bin/sh", f"{tmp_path}/start")
    command = (*words[-2:], "--chdir", str(tmp_path), "--", "/bin/sh", "-c", 'pwd; echo "$NO_PROXY."')
    environ = {"NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=LIMIT)
    assert done.stdout == f"{tmp_path}\n.\n"
    assert srt.environment(MACOS, tmp_path, {"TMPDIR": "/var/x"})["CLAUDE_CODE_TMPDIR"] == f"{tmp_path}/tmp"


@pytest.mark.parametrize(
    ("hosts", "shown"),
    [
        (None, ""),
        ((), "; network: none"),
        (("a.b",), "; network: a.b"),
        (tuple("abcdefghij"), "; network: a, b, c, d, e, f, g, h and 2 more"),
    ],
)
def test_the_summary_names_the_hosts(hosts, shown):
    assert summary(Settings(sandbox_hosts=hosts)) == f"{SUMMARY}{shown}"


# -- what is reached inside -----------------------------------------------------------------------------------------


@pytest.fixture
def raised(bubblewrap, srt_path, tmp_path, monkeypatch):
    """Makes a sandbox."""
    monkeypatch.setenv("PATH", srt_path)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    project = tmp_path / "project"
    project.mkdir()

    def make(*hosts, ports=()):
        settings = Settings(cwd=str(project), state=str(tmp_path / "state"), sandbox="required", sandbox_hosts=hosts)
        return create_sandbox(settings, [(sys.executable,)], Path(folder), ports=ports)

    with TemporaryDirectory(dir=srt.SOCKETS) as folder:
        yield make


def run(sandbox, *argv, around=(), **environ):
    words = sandbox.command(argv, str(sandbox.comparison.project), {**os.environ, **environ})
    return subprocess.run(
        (*around, *words), env=sandbox.environment(os.environ), capture_output=True, text=True, timeout=LIMIT
    )


@pytest.mark.sandbox
def test_listed_ports_of_loopback_and_our_own_are_reached_without_a_proxy(raised):
    with answering("one") as one, answering("two") as two, answering("three") as three:
        sandbox = raised(f"127.0.0.1:{one}", ports=[two])
        addresses = (f"http://127.0.0.1:{port}/" for port in (one, two, three))
        done = [run(sandbox, sys.executable, "-c", FETCH, address) for address in addresses]
    assert ([each.stdout for each in done], "Connection refused" in done[2].stderr) == (["one\n", "two\n", ""], True)


@pytest.mark.sandbox
def test_a_listed_name_that_leads_to_loopback_or_metadata_is_refused(raised, tmp_path):
    """Unless that very port is listed, too."""
    (tmp_path / "hosts").write_text("127.0.0.1 localhost evil.test good.test\n169.254.169.254 cloud.test\n")
    place = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", str(tmp_path / "hosts"), "/etc/hosts")
    with answering("reached") as port:
        refused = ((f"evil.test:{port}",), 1), (("cloud.test",), 1)
        for hosts, status in (*refused, ((f"good.test:{port}", f"127.0.0.1:{port}"), 0)):
            done = run(raised(*hosts), sys.executable, "-c", FETCH, f"http://{hosts[0]}/", around=(*place, "--"))
            assert (done.returncode, "403" in done.stderr) == (status, bool(status))


@pytest.mark.sandbox
def test_what_an_agent_chooses_for_its_command_is_no_choice_for_srt(raised, tmp_path):
    chosen = {"HTTP_PROXY": "http://127.0.0.1:1", "NODE_OPTIONS": "--import=evil", "PATH": "/bin", "A": "b c'\n"}
    sandbox = raised()
    assert not set(chosen.items()) & set(sandbox.environment({**os.environ, **chosen}).items())
    names = json.dumps(list(chosen))
    show = f"import json, os; print(json.dumps({{name: os.environ[name] for name in {names}}}))"
    assert json.loads(run(sandbox, sys.executable, "-c", show, **chosen).stdout) == chosen


@pytest.mark.sandbox
def test_a_secret_that_the_command_must_not_see_is_not_there(raised, monkeypatch):
    monkeypatch.setenv("OUR_TOKEN", "x")
    sandbox = raised()
    words = sandbox.command(
        ("sh", "-c", "echo ${OUR_TOKEN-none}; cat /proc/1/environ"), str(sandbox.comparison.project), {}
    )
    done = subprocess.run(words, env=sandbox.environment(os.environ), capture_output=True, text=True, timeout=LIMIT)
    assert (done.stdout, "Permission denied" in done.stderr) == ("none\n", True)


@pytest.mark.sandbox
def test_a_list_that_srt_does_not_take_is_no_sandbox(bubblewrap, srt_path, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", srt_path)
    settings = Settings(cwd=str(tmp_path), state=str(tmp_path / "state"), sandbox="on", sandbox_hosts=("*.com",))
    problem = unavailable(settings)
    assert "Invalid domain pattern" in str(problem)
