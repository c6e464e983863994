"""A kernel behind a Jupyter gateway, as its environment tells it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.places import notebook_at_start, state_folder
from copilot_kernel.prompts import gateway
from copilot_kernel.prompts.kernel_session import KernelSession

GATEWAY = {"KERNEL_GATEWAY": "1", "PATH": "/usr/bin"}


# -- the folder -----------------------------------------------------------------------------------------------------


BOOK = "JPY_SESSION_NAME"


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ({"KERNEL_WORKING_DIR": "{}", BOOK: "/etc/book.ipynb"}, "{}"),
        ({"KERNEL_WORKING_DIR": "/no/such/folder", BOOK: "{}/renamed since.ipynb"}, "{}"),
        ({BOOK: "{}/.."}, "{}"),
        ({"KERNEL_WORKING_DIR": "relative", BOOK: "/no/such/folder/book.ipynb"}, ""),
        ({BOOK: "book.ipynb"}, ""),
    ],
)
def test_the_agent_works_in_the_notebooks_folder(tmp_path: Path, named: dict[str, str], found: str) -> None:
    environ = {name: value.format(tmp_path) for name, value in named.items()}
    folder = found.format(tmp_path)
    assert gateway.notebook_folder(environ) == folder
    settings = KernelSession(environ=environ, started_in="/").load()
    assert settings.folder == (folder or "/")
    assert bool(gateway.notices(settings, {**GATEWAY, **environ})) is not bool(folder)


def test_a_folder_that_was_set_is_relative_to_that(tmp_path: Path) -> None:
    environ = {BOOK: f"{tmp_path}/book.ipynb", "COPILOT_KERNEL_CWD": "sub", "COPILOT_KERNEL_STATE": "state"}
    settings = KernelSession(environ=environ).load()
    assert (settings.folder, state_folder(settings)) == (f"{tmp_path}/sub", tmp_path / "state")
    assert gateway.notices(settings, GATEWAY) == []


@pytest.mark.parametrize("named", ["/no/such/folder", ".", "", "/dev/null", "/etc\0", None])
def test_a_folder_that_is_not_here_is_not_used_and_the_first_cell_says_which_is(named: str | None) -> None:
    environ = {**GATEWAY, **({} if named is None else {"KERNEL_WORKING_DIR": named})}
    (notice,) = gateway.notices(Settings(start_folder="/started"), environ)
    assert "The agent works in /started" in notice
    assert "COPILOT_KERNEL_CWD" in notice
    assert ("/no/such/folder" in notice) is (named == "/no/such/folder")


@pytest.mark.parametrize(
    ("launcher", "is_own"),
    [
        ({BOOK: "{}/book.ipynb", "KERNEL_WORKING_DIR": "{}"}, False),
        ({BOOK: "{}/other.ipynb", "KERNEL_WORKING_DIR": "/"}, True),
        ({}, True),
        ({BOOK: "{}/book.ipynb", "KERNEL_WORKING_DIR": "{}", "JPY_PARENT_PID": "{pid}"}, True),  # wraps this kernel
    ],
)
def test_what_the_process_that_launched_the_kernel_has_too_is_of_another_notebook(
    tmp_path: Path, launcher: dict[str, str], is_own: bool
) -> None:
    (tmp_path / "book.ipynb").touch()
    code = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
    program = [sys.executable, "-c", code]
    if "JPY_PARENT_PID" in launcher:  # which is known only to the process itself
        code = f"import os; os.environ['JPY_PARENT_PID'] = str(os.getpid()); os.execv({sys.executable!r}, {program!r})"
    environ = {**os.environ, **{name: value.format(tmp_path, pid="") for name, value in launcher.items()}}
    with subprocess.Popen([sys.executable, "-c", code], env=environ, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        pid = process.stdout.readline().strip()
        named = {BOOK: f"{tmp_path}/book.ipynb", "KERNEL_WORKING_DIR": str(tmp_path), "JPY_PARENT_PID": pid}
        assert gateway.notebook_folder(named) == (str(tmp_path) if is_own else "")
        assert gateway.notebook_key(named) == (named[BOOK] if is_own else "")
        process.communicate()
    assert gateway.notebook_folder(named) == (str(tmp_path) if is_own else "")


@pytest.mark.parametrize("pid", ["", "x", "-1", "0", "99999999999999999999"])
def test_if_the_launcher_cannot_be_asked_the_notebook_is_the_kernels(tmp_path: Path, pid: str) -> None:
    assert gateway.notebook_folder({BOOK: f"{tmp_path}/book.ipynb", "JPY_PARENT_PID": pid}) == str(tmp_path)


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "path", "key"),
    [
        ("alice", "/home/user/a.ipynb", '["alice", "/home/user/a.ipynb"]'),
        ("bob", "/home/user/a.ipynb", '["bob", "/home/user/a.ipynb"]'),
        ("", "/home/user/a.ipynb", ""),
        ("alice", "a.ipynb", ""),
        ("alice", "", ""),
    ],
)
def test_a_notebook_on_another_machine_is_remembered_for_its_user(user: str, path: str, key: str) -> None:
    assert gateway.notebook_key({**GATEWAY, "KERNEL_USERNAME": user, "JPY_SESSION_NAME": path}) == key


def test_a_notebook_on_this_machine_is_remembered_as_well(tmp_path: Path) -> None:
    book = tmp_path / "book.ipynb"
    book.write_text("{}")
    named = {"JPY_SESSION_NAME": str(book)}
    assert gateway.notebook_key(named) == str(book)
    assert gateway.notebook_key({**named, "KERNEL_USERNAME": "alice"}) == str(book)
    assert gateway.notebook_key({**named, **GATEWAY}) == f'["", "{book}"]'
    assert gateway.notebook_key({"JPY_SESSION_NAME": "/no/such/book.ipynb", "KERNEL_USERNAME": "alice"}) == ""


def test_no_notebook_is_one_that_a_file_of_the_project_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (book := tmp_path / "other" / "book.ipynb").parent.mkdir()
    book.write_text("{}")
    (project := tmp_path / "project").mkdir()
    (project / ".env").write_text(f"JPY_SESSION_NAME={book}")
    monkeypatch.setenv("JPY_SESSION_NAME", str(book))
    settings = KernelSession(started_in=str(project)).load()
    assert (settings.folder, notebook_at_start()) == (str(project), "")
