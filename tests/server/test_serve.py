"""A server of its own: started, looked at and stopped from the command line."""

import json
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest
from copilot_kernel.cli import main
from copilot_kernel.cli.serve import OTHER_PORT, STOPPED
from jupyter_server.serverapp import list_running_servers
from websockets.sync.client import connect

from ..jupyter.front_end import until
from ..limits import LIMIT
from ..ports import free_port
from ..processes import children, facts, gone

PROGRAM = str(Path(sys.executable).with_name("copilot-kernel"))
TOKEN, KEY = "secret", "of the chat"
Here = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_CONFIG_DIR", "_DATA_DIR", "_RUNTIME_DIR"):
        monkeypatch.setenv(f"JUPYTER{name}", str(tmp_path / name))
    monkeypatch.setenv("JUPYTER_TOKEN", TOKEN)
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "demo")


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A free one; what is started there is ended."""
    yield free_port()
    left = [psutil.Process(info["pid"]) for info in list_running_servers(str(tmp_path / "_RUNTIME_DIR"))]
    facts(psutil.Process.terminate, left)
    until(lambda: all(map(gone, left)), "the end of the servers")


def serve(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "serve", *arguments], capture_output=True, text=True, timeout=LIMIT)


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Here:
    """The same in this process, for all but `start`, whose process ends before the server's."""
    return lambda *arguments: (main(["serve", *arguments]), capsys.readouterr().out)


def ask(port: int, path: str, key: str = TOKEN) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(f"http://127.0.0.1:{port}/{path}", headers=headers, trust_env=False, timeout=LIMIT)


HEADS = (b"", b"GET /health HTTP/1.1\r\nHost: 127.0", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
"""Connections on which no head comes, not all of one, or none after the first answer."""


def test_start_status_stop(here: Here, port: int, tmp_path: Path) -> None:
    assert here("status") == (1, f"{STOPPED}\n")
    assert here("status", "--json") == (1, '{"servers": []}\n')

    started = serve("start", f"--port={port}", "--CopilotApp.header_seconds=3")
    assert (started.returncode, f"port {port}" in started.stdout) == (0, True), started.stderr
    silent = [socket.create_connection(("127.0.0.1", port), LIMIT) for _ in HEADS]
    for connection, head in zip(silent, HEADS, strict=True):
        connection.sendall(head)
    assert ask(port, "health").json() == {"status": "ok", "models_available": 0}
    assert [model["id"] for model in ask(port, "v1/models").json()["data"]] == ["scripted", "scripted-large"]
    for nothing in ("api/kernels", "api/contents", "api/terminals", "nothing"):
        got = ask(port, nothing)
        assert (got.status_code, got.json()["error"]["type"]) == (404, "not_found")
    for of_chat in ("copilot/chat", "copilot/chat/sessions", "api/chat/ws", "api/media/x"):
        assert ask(port, of_chat).status_code == 403
    assert ask(port, "").headers["Location"].rstrip("?") == "/copilot/chat"

    (server,) = json.loads(here("status", "--json")[1])["servers"]
    agents = children(server["pid"])
    expected = {"state": "running", "alone": True, "port": port, "models": ["scripted", "scripted-large"], "agents": 1}
    assert {name: server[name] for name in expected} == expected
    assert TOKEN not in json.dumps(server)
    (log,) = (tmp_path / "_RUNTIME_DIR").glob("copilot-serve-*.log")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600

    for connection in silent:
        with connection, connection.makefile("rb") as answer:
            answer.read()  # to the end of the connection
    status, printed = here("start", f"--port={port}")
    assert (status, printed.startswith("Already running")) == (0, True)
    assert here("stop", f"--port={port}") == (0, f"Stopped: port {port}\n")
    until(lambda: all(map(gone, agents)), "the end of the agents")
    assert here("stop") == (1, "")


def test_without_a_port_it_is_that_of_the_settings_and_no_log_holds_the_token(
    here: Here, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUPYTER_TOKEN")
    log = tmp_path / "_RUNTIME_DIR" / "copilot-serve.log"
    for folder in ("_CONFIG_DIR", "_RUNTIME_DIR"):
        (tmp_path / folder).mkdir()
    (tmp_path / "_CONFIG_DIR" / "jupyter_copilot_config.py").write_text(f"c.CopilotApp.port = {port}\n")
    log.write_text("older, and longer than it should be " * 1000)
    log.chmod(0o644)
    started = serve("start")
    assert (started.returncode, f"port {port}" in started.stdout) == (0, True), started.stderr
    (info,) = list_running_servers(str(log.parent))  # what `jupyter server list` shows
    assert len(info["token"]) == 48
    assert "?token=..." in log.read_text()
    said = log.read_text() + started.stdout + here("status", "--json")[1]
    assert info["token"] not in said
    assert "older" not in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize("action", [(), ("start",)], ids=["here", "start"])
def test_a_port_in_use_is_a_clear_error(action: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        assert main(["serve", *action, f"--port={number}"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.splitlines()) == ("", [
        f"copilot-kernel: Port {number} cannot be used: Address already in use.",
        OTHER_PORT,
    ])  # fmt: skip


def test_without_a_terminal_an_interrupt_ends_it_and_its_agents(port: int) -> None:
    """So JupyterHub ends servers; while a question waits, the agent's task and its threads are there."""
    command = [PROGRAM, "serve", f"--port={port}", f"--CopilotApp.chat_key={KEY}"]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        until(lambda: answers(port), "the server answers", LIMIT)
        assert ask(port, "copilot/chat/sessions").status_code == 403
        headers = {"Authorization": f"Bearer {KEY}"}
        with connect(f"ws://127.0.0.1:{port}/copilot/chat/ws", additional_headers=headers, proxy=None) as chat:
            chat.send(json.dumps({"action": "new_session"}))
            chat.send(json.dumps({"action": "send", "text": "demo: create poem.txt roses"}))
            while json.loads(chat.recv(LIMIT)).get("event") != "tool_approval_request":
                pass
            agents = children(server.pid)
            server.send_signal(signal.SIGINT)
            assert server.wait(LIMIT) == 0
    finally:
        server.kill()
        server.wait(LIMIT)
    assert agents
    until(lambda: all(map(gone, agents)), "the end of the agents")


def answers(port: int) -> bool:
    with suppress(httpx.TransportError):
        return ask(port, "health").status_code == 200
    return False
