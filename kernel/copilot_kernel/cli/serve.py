"""`copilot-kernel serve`: the OpenAI-compatible API and the chat in a server of their own; start, stop, status."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import CopilotError, UsageError
from ..server import require_dependencies
from .exits import FAILED
from .settings import names

START_LIMIT = 60.0
ASK_LIMIT = 5.0
PAUSE = 0.05
"""Seconds."""
STOP_FIRST = (
    "Settings ({}) count only when a server starts: stop it first (`copilot-kernel serve stop`), "
    "or start another one: --port N"
)
MAIN = "from copilot_kernel.server.app import main; main()"

Server = dict[str, Any]


def run(arguments: argparse.Namespace) -> int:
    """Serve, or do what is asked with servers that run; the exit code."""
    require_dependencies()
    match arguments.action:
        case "start":
            return _start(arguments.port, arguments.more)
        case "stop":
            return _stop(arguments.port)
        case "status":
            return _status(arguments.port, arguments.json)
    return _serve(arguments.port, arguments.more)


def _serve(port: int | None, more: Sequence[str]) -> int:
    if port is not None:
        _require_free(port)
    from ..server.app import CopilotApp

    CopilotApp.launch_instance(_options(port, more))  # type: ignore[no-untyped-call]
    return 0


def _start(port: int | None, more: Sequence[str]) -> int:
    """In the background. Without a port it is that of the settings, which only the server reads."""
    if found := [server for server in _servers() if server["alone"] and port in (None, server["port"])]:
        if more:
            raise UsageError(f"A server runs already: {_line(found[0])}", STOP_FIRST.format(names(more)))
        print(f"It runs already: {_line(found[0])}")
        return 0
    if port is not None:
        _require_free(port)
    path = _log_file(port)
    server = _wait_for(_launch(port, more, path), path)
    print(f"{_line(server)}\nThe API key is the server's token: jupyter server list")
    return 0


def _launch(port: int | None, more: Sequence[str], path: Path) -> subprocess.Popen[bytes]:
    """In a session of its own; what it says, which is not its token, goes to a file that only the user can read."""
    command = [sys.executable, "-P", "-c", MAIN, *_options(port, more), "--StandaloneServer.tell_token=False"]
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as log:
        os.fchmod(log.fileno(), 0o600)
        log.truncate()
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def _options(port: int | None, more: Sequence[str]) -> list[str]:
    """Those of `jupyter copilot`; `more` are the user's own."""
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    return [*([f"--port={port}"] if port is not None else []), *as_root, *more]


def _stop(port: int | None) -> int:
    """Only servers of their own: Jupyter's are not ours to stop."""
    found = [server for server in _servers() if server["alone"] and port in (None, server["port"])]
    for server in found:
        from jupyter_server.serverapp import shutdown_server

        if not shutdown_server(server["info"]):  # type: ignore[no-untyped-call]
            raise CopilotError(f"The server at port {server['port']} does not stop.")
        print(f"Stopped: port {server['port']}")
    if not found:
        print("Nothing to stop: no such server runs.", file=sys.stderr)
    return 0 if found else FAILED


def _status(port: int | None, as_json: bool) -> int:
    found = [server for server in _servers() if port in (None, server["port"])]
    if as_json:
        told = [{name: value for name, value in server.items() if name != "info"} for server in found]
        print(json.dumps({"servers": told}))
    else:
        print("\n".join(map(_line, found)) or "stopped: no server with this extension runs")
    return 0 if found else FAILED


def _servers(pid: str = "*") -> Iterator[Server]:
    """The user's Jupyter servers that have the extension, with what each tells of itself."""
    for info in _infos(pid):
        try:
            status = _ask(info)
        except (OSError, ValueError):
            continue
        if isinstance(status, dict) and "turns" in status:
            yield {**status, "url": info["url"], "pid": info["pid"], "port": info["port"], "info": info}


def _infos(pid: str) -> Iterator[Server]:
    """What Jupyter writes down of each server that runs; its own function for this takes seconds to be imported."""
    from jupyter_core.paths import jupyter_runtime_dir
    from jupyter_server.utils import check_pid

    for path in Path(jupyter_runtime_dir()).glob(f"jpserver-{pid}.json"):
        try:
            info = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue  # it is being written, or is just gone
        if check_pid(info["pid"]):
            yield info


def _ask(info: Server) -> Any:
    """Through no proxy: it is on this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    headers = {"Authorization": f"token {info['token']}"}
    request = urllib.request.Request(f"{info['url']}copilot/status", headers=headers)
    with opener.open(request, timeout=ASK_LIMIT) as answer:
        return json.load(answer)


def _line(server: Server) -> str:
    models = ", ".join(server["models"]) or "not asked for yet"
    kind = "on its own" if server["alone"] else "in Jupyter"
    return (
        f"{server['state']} {kind}: {server['url']} (port {server['port']}), models: {models}, "
        f"sessions: {server['sessions']}, agents: {server['agents']}, turns: {server['turns']}"
    )


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            hint = "`copilot-kernel serve status` shows what runs; another port: --port N"
            raise UsageError(f"Port {port} cannot be used: {error.strerror}.", hint) from error


def _log_file(port: int | None) -> Path:
    from jupyter_core.paths import jupyter_runtime_dir

    folder = Path(jupyter_runtime_dir())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / ("copilot-serve.log" if port is None else f"copilot-serve-{port}.log")


def _wait_for(process: subprocess.Popen[bytes], log: Path) -> Server:
    """Raises CopilotError. A server that is ready says so by a file of Jupyter's alone, and nobody tells of files."""
    deadline = time.monotonic() + START_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        for server in _servers(str(process.pid)):
            return server
        time.sleep(PAUSE)
    process.kill()
    process.wait()
    last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-5:])
    raise CopilotError("The server did not start.", f"Its last words, from {log}:\n{last}")
