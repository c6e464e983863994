"""A sandbox whose folders are exchanged while it starts is not entered."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.sandbox import Sandbox, mount_check, mountinfo, raise_sandbox
from copilot_kernel.sandbox.mounts import Access, Mount, placed

from ..limits import LIMIT

pytestmark = pytest.mark.sandbox


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "with space*[x]\\"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/AGENTS.md").touch()
    (tmp_path / "outside").mkdir()
    (tmp_path / "handover").mkdir()
    return folder


@pytest.fixture
def raised(bubblewrap: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes a sandbox for which a shell script runs at the last moment before bubblewrap does."""

    def make(meanwhile: str = "") -> Sandbox:
        program = tmp_path / "bin/bwrap"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\n[ -e ready ] && {{ {meanwhile or ":"}; }}\nexec {bubblewrap} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        settings = Settings(cwd=str(project), state=str(tmp_path / "state"), sandbox="required")
        sandbox = raise_sandbox(settings, [("/bin/true",)], tmp_path / "handover")
        (project / "ready").touch()
        return sandbox

    return make


def run(sandbox: Sandbox, command: str, **more: str) -> subprocess.CompletedProcess[str]:
    words = sandbox.command(("sh", "-c", command), str(sandbox.project))
    return subprocess.run(
        words, env=sandbox.environment() | more, cwd=sandbox.project, capture_output=True, text=True, timeout=20
    )


@pytest.mark.parametrize(
    "meanwhile",
    [
        "mv sub aside; ln -s ../outside sub",
        "mv sub aside; ln -s aside sub",
        'mv sub aside; ln -s "$(realpath ../outside)" sub; mkdir -p ../outside; touch ../outside/AGENTS.md',
        "mv sub aside; mkdir sub; ln -s ../../outside/file sub/AGENTS.md; touch ../outside/file",
    ],
)
def test_a_folder_that_is_exchanged_for_a_link_meanwhile_opens_nothing(raised, project, meanwhile):
    done = run(raised(meanwhile), "touch sub/made; echo entered")
    assert (done.stdout, done.returncode != 0) == ("", True)
    assert "made" not in {path.name for path in project.parent.rglob("*")}


def test_what_was_exchanged_is_named(raised, project):
    done = run(raised("mv sub aside; ln -s aside sub"), "echo entered")
    shown = str(project).replace("\\", "\\134").replace(" ", "\\040")
    why = "is not what it was made for. Something exchanged files meanwhile."
    assert (done.returncode, done.stdout) == (mount_check.REFUSED, "")
    assert done.stderr == f"The sandbox was not entered: at {shown}/aside {why}\n"


def test_a_sandbox_that_is_what_was_meant_is_entered_with_the_environment_as_it_was(raised, project):
    done = run(raised(), "env; touch sub/made", root="r", line="l")
    assert {"root=r", "line=l"} < set(done.stdout.splitlines())
    assert not [line for line in done.stdout.splitlines() if line.startswith("_ck")]
    assert (project / "sub/made").exists()


def test_mounts_that_were_in_the_project_before_are_there_inside_too(raised, project, tmp_path, bubblewrap):
    (project / "data").mkdir()
    (project / "sub/data").mkdir()
    inner = ("--tmpfs", str(project / "data"), "--tmpfs", str(project / "sub/data"))
    around = (bubblewrap, "--dev-bind", "/", "/", *inner, "--")
    code = (
        "import sys, subprocess; from pathlib import Path; from copilot_kernel.config import Settings;"
        "from copilot_kernel.sandbox import raise_sandbox;"
        f"s = raise_sandbox(Settings(cwd={str(project)!r}, state={str(tmp_path / 'state')!r}, sandbox='required'),"
        f" [('/bin/true',)], Path({str(tmp_path / 'handover')!r}));"
        f"command = s.command(('sh', '-c', 'echo entered'), {str(project)!r});"
        "sys.exit(subprocess.run(command, env=s.environment()).returncode)"
    )
    done = subprocess.run((*around, sys.executable, "-c", code), capture_output=True, text=True, timeout=LIMIT)
    assert (done.stdout, done.stderr, done.returncode) == ("entered\n", "", 0)


def test_what_is_expected_follows_the_mounts_outside():
    outside = [
        mountinfo.Entry("8:1", b"/", b"/", False),
        mountinfo.Entry("8:2", b"/@srv", b"/srv", False),
        mountinfo.Entry("8:3", b"/x", b"/srv/p/data", True),
    ]
    mounts = (
        Mount("/srv/p", Access.WRITE),
        Mount("/srv/p/data/AGENTS.md", Access.READ),
        Mount("/usr/x", Access.READ),
    )
    text = mount_check.script(placed(mounts), outside).decode()
    lines = ("8:2 /@srv/p /srv/p rw", "8:3 /x /srv/p/data ro", "8:3 /x/AGENTS.md /srv/p/data/AGENTS.md ro", "")
    assert "_ck_expected='" + "\n".join(lines) + "'\n" in text
    assert "        '8:3 /x /srv/p/data') ;;\n" in text
