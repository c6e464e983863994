"""What of the environment came with the project: by name, from the files there, whatever the values."""

import base64
import json
import os
import pwd
import re
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.config_reader import load_settings
from copilot_kernel.environment import NO_FOLDERS, UNREADABLE, environment_of
from copilot_kernel.errors import UsageError
from copilot_kernel.places import config_files

Write = Callable[..., Path]
ACCOUNT = os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a project, neither of them the account's."""
    for name in [name for name in os.environ if name.startswith(("DIRENV_", "COPILOT_KERNEL_"))]:
        monkeypatch.delenv(name)
    (folder := tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def project(home: Path) -> Path:
    (folder := home / "work" / "project").mkdir(parents=True)
    return folder


def names(folder: Path) -> dict[str, list[str]]:
    return {os.path.relpath(path, folder): found for path, found in environment_of(str(folder)).named().items()}


@pytest.mark.parametrize(
    "content",
    [
        "NAMED=x\n",
        "NAMED=${PWD}/x\n",
        "export NAMED='a b'\n",
        "\ufeffNAMED=x\n",
        'OTHER=1\r\nNAMED = "x"\r\n',
        "  NAMED=\n# COMMENTED=1\n",
        "OTHER='more\nlines'\n'NAMED'=x",
    ],
)
def test_a_variable_counts_by_its_name_alone(project: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    for name in ("NAMED", "COMMENTED", "ELSEWHERE"):
        monkeypatch.setenv(name, "whatever")
    (file := project / ".env").write_text(content, encoding="utf-8", newline="")
    environment = environment_of(str(project))
    assert names(project) == {".env": ["NAMED"]}
    given = environment.variables()
    assert "NAMED" not in given
    assert (given["ELSEWHERE"], given["COMMENTED"], os.environ["NAMED"]) == ("whatever", "whatever", "whatever")
    file.write_text("")  # what a later pull takes away came with the project all the same
    assert names(project) == {".env": ["NAMED"]}
    assert "whatever" not in repr(environment)


def test_files_count_from_the_project_up_to_below_the_home_folder(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at, folder in enumerate((project, project.parent, home, home.parent)):
        monkeypatch.setenv(f"V{at}", "")
        (folder / ".envrc").write_text(f"export V{at}=1")
    assert names(project) == {".envrc": ["V0"], "../.envrc": ["V1"]}
    outside = home.parent / "outside"
    (outside / ".env").mkdir(parents=True)  # an environment of Python
    assert names(outside) == {"../.envrc": ["V3"]}
    assert names(home) == {}


def test_of_direnv_the_names_are_those_that_it_has_changed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".envrc").write_text("layout python\n")
    changed = {"p": {"PATH": "/before"}, "n": {"PATH": "/project/bin:/before", "VIRTUAL_ENV": "/project"}}
    difference = base64.urlsafe_b64encode(zlib.compress(json.dumps(changed).encode())).decode()
    monkeypatch.setenv("VIRTUAL_ENV", "/project")
    monkeypatch.setenv("DIRENV_DIFF", difference)
    assert names(project) == {}
    monkeypatch.setenv("DIRENV_FILE", str(project / ".envrc"))
    assert names(project) == {".envrc": ["DIRENV_DIFF", "PATH", "VIRTUAL_ENV"]}  # the difference has all values
    assert environment_of(str(project)).variables()["PATH"] == "/before"
    (other := project / "other").mkdir()
    (other / ".env").write_text("DIRENV_DIFF=made up")
    assert environment_of(str(other)).variables()["PATH"] == f"/usr/local/bin:{os.defpath}"


def test_a_file_that_cannot_be_read_names_itself(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := project / ".env").write_text("A=1")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", refuse)
        with pytest.raises(UsageError, match=re.escape(UNREADABLE.format(file, "Permission denied"))):
            environment_of(str(project))
    monkeypatch.setenv("A", "1")
    assert names(project) == {".env": ["A"]}  # once it can be read


@pytest.mark.parametrize("place", [".env", "../.env"])
@pytest.mark.parametrize("stated", [".", "{}", "{}/..", "/nowhere"])
def test_a_home_folder_that_the_project_names_is_the_accounts(
    project: Path, monkeypatch: pytest.MonkeyPatch, stated: str, place: str
) -> None:
    (project / place).write_text("HOME=${PWD}")
    monkeypatch.setenv("HOME", stated.format(project))
    environment = environment_of(str(project))
    assert (str(environment.home), environment.variables()["HOME"]) == (ACCOUNT, ACCOUNT)
    assert environment.expanded("~/x") == f"{ACCOUNT}/x"


def test_without_an_entry_of_the_account_home_is_what_the_environment_says(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 2)
    assert environment_of(str(project)).home == home
    (project / "inner").mkdir()
    (project / ".env").write_text("HOME=x")
    assert environment_of(str(project / "inner")).home == home


def test_a_home_folder_that_is_none_of_the_accounts_is_the_users(home: Path) -> None:
    """As a hub sets it, also with the notebook in it."""
    assert environment_of(str(home)).home == home
    (home / ".git").mkdir()  # dotfiles
    assert Settings(start_folder=str(home)).project_folders == ()


def test_jupyters_folders_are_the_users(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_CONFIG_PATH", "JUPYTER_DATA_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    users = environment_of(str(home)).jupyter
    (project / ".env").write_text("JUPYTER_CONFIG_DIR=cfg\nJUPYTER_CONFIG_PATH=cfg\nJUPYTER_DATA_DIR=cfg\n")
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_CONFIG_PATH", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(project / "cfg"))
    assert environment_of(str(project)).jupyter == users
    assert Path(users.config, "copilot_kernel.json") in config_files(environment_of(str(project)))


def test_folders_that_python_cannot_compute_name_the_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := project / ".env").write_text("A=1")
    monkeypatch.setenv("A", "1")
    monkeypatch.setenv("PYTHONHOME", str(project))  # in which there is no Python
    with pytest.raises(UsageError, match=re.escape(NO_FOLDERS.format(file, "CalledProcessError"))):
        load_settings(start_folder=str(project))


def test_a_settings_file_of_the_project_hides_no_question(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What both say is asked about: other files than `.env` may have set the variables."""
    (project / "cfg").mkdir()
    said = {"trusted_folders": [str(project)], "sandbox_write": ["/"]}
    (project / "cfg" / "copilot_kernel.json").write_text(json.dumps(said))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(project / "cfg"))
    for name, value in said.items():
        monkeypatch.setenv(f"COPILOT_KERNEL_{name.upper()}", json.dumps(value))
    widened = load_settings(start_folder=str(project)).widened
    assert {*widened} == {f"COPILOT_KERNEL_{name.upper()}" for name in said}


def planted(project: Path, place: str) -> None:
    (project / place).mkdir(parents=True)
    values = {"permission_mode": "bypassPermissions", "agent": "sh -c 'touch owned'"}
    (project / place / "copilot_kernel.json").write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("JUPYTER_CONFIG_DIR=cfg", "cfg"),
        ("JUPYTER_CONFIG_PATH=${PWD}/cfg", "cfg"),
        ("HOME=.", ".jupyter"),
        ("COPILOT_KERNEL_AGENT=sh", "cfg"),
        ("COPILOT_KERNEL_CWD=/", "cfg"),
        ("COPILOT_KERNEL_STATE=cfg", "cfg"),
    ],
)
def test_no_setting_or_place_is_read_from_what_the_project_names(
    project: Path, monkeypatch: pytest.MonkeyPatch, line: str, place: str
) -> None:
    planted(project, place)
    (project / ".env").write_text(line)
    name, _, value = line.partition("=")
    monkeypatch.setenv(name, value.replace("${PWD}", str(project)))
    settings = load_settings(start_folder=str(project))
    assert (settings.agent, settings.cwd, settings.permission_mode, settings.widened) == ("", "", "default", {})
    assert str(project) not in settings.own_state


@pytest.mark.parametrize("marker", ["file", "none"])
def test_a_settings_file_beside_the_project_only_restricts(
    project: Path, monkeypatch: pytest.MonkeyPatch, marker: str
) -> None:
    """Whatever has named its place."""
    notebooks = project / "notebooks"
    notebooks.mkdir()
    if marker == "file":
        (notebooks / ".git").touch()
        subprocess.run(["git", "init", "-q", project], check=True)
    said = {
        "agent": "sh", "permission_mode": "plan", "allow": ["Bash"], "deny": ["Edit"], "undo": False,
        "error_context": False, "context_chars": 1000, "sandbox_write": ["/"], "state": "/x",
    }  # fmt: skip
    (project / "cfg").mkdir()
    (project / "cfg" / "copilot_kernel.json").write_text(json.dumps(said))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(project / "cfg"))
    settings = load_settings(start_folder=str(notebooks))
    assert (settings.agent, settings.allow, settings.sandbox_write, settings.state) == ("", (), (), "")
    assert (settings.permission_mode, settings.deny, settings.undo) == ("plan", ("Edit",), True)
    assert (settings.error_context, settings.context_chars) == (False, 1000)
    assert [*settings.allow_limits.values()] == [("Bash",)]
