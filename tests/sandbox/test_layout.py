"""What is hidden in a sandbox, by the environment of the kernel."""

import socket
from pathlib import Path

import pytest
from copilot_kernel.config import Settings
from copilot_kernel.sandbox.layout import Layout
from copilot_kernel.sandbox.mounts import EMPTY_FILE, Access, Mount


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a socket, a file, and a link to the socket."""
    monkeypatch.chdir(tmp_path)  # addresses of sockets must be short
    for name in ("agent.sock", "a bus"):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("agent.sock")
    (tmp_path / "project").mkdir()
    return tmp_path


def hidden(place: Path, value: str, **more: object) -> set[str]:
    """Names in the place of what is hidden if a variable has this value."""
    settings = Settings(cwd=str(place / "project"), state=str(place / "state"), **more)
    layout = Layout(settings, {"HOME": "/nowhere", "ANY": value.format(place)})
    layout.add_system([])
    names = {path.name: Mount(str(path), Access.HIDDEN, EMPTY_FILE) for path in place.iterdir()}
    return {name for name, mount in names.items() if mount in layout.mounts}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("{}/agent.sock", {"agent.sock"}),
        ("{}/link", {"agent.sock"}),
        ("unix://{}/agent.sock", {"agent.sock"}),
        ("{}/agent.sock:7:1", {"agent.sock"}),
        ("unix:path={}/agent.sock,guid=1", {"agent.sock"}),
        ("tcp:host=localhost;unix:path={}/a%20bus", {"a bus"}),
        ("{}/a bus", {"a bus"}),
        *((value, set()) for value in ("{}/file", "{}/missing", "tcp://localhost:1", "/" + 5000 * "a", "/a\0")),
    ],
)
def test_a_socket_that_a_variable_names_is_hidden(place, value, names):
    assert hidden(place, value) == names


def test_a_socket_that_the_user_lists_is_not_hidden(place):
    assert hidden(place, f"{place}/agent.sock", sandbox_write=(f"{place}/agent.sock",)) == set()
