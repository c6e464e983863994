"""A kernel behind a Jupyter gateway, as its environment tells it."""

from pathlib import Path

import pytest
from copilot_kernel.config import Settings, state_folder
from copilot_kernel.frontend import gateway
from copilot_kernel.frontend.kernel_session import KernelSession

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
