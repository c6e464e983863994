"""Inside there is loopback and nothing else, and no credentials."""

import sys
from pathlib import Path

import pytest

from . import namespace

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]

LOOK_AROUND = """
import errno, os, socket
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname(), 5).close()
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    print(errno.errorcode[error.errno], sorted(name for _, name in socket.if_nameindex()), os.getppid())
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return namespace.environment(tmp_path, tmp_path / "cache")


def test_only_loopback_answers(env: dict[str, str]) -> None:
    done = namespace.run([sys.executable, "-c", LOOK_AROUND], env)
    assert (done.stdout, done.returncode) == ("ENETUNREACH ['lo'] 1\n", 0), done.stderr


def test_the_environment_holds_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "secret")
    given = namespace.environment(tmp_path, tmp_path / "cache")
    assert [name for name, value in given.items() if value == "secret"] == []
    assert given["HOME"] == str(tmp_path)
