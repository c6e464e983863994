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
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import CopilotError, UsageError
from ..kept_files import VERSION, UnknownVersion, check_version
from ..server import require_dependencies
from ..system.processes import DETACHED
from .error_text import FAILED

OTHER_PORT = "`copilot-kernel serve status` shows what is running; choose another port with --port N."
ONLY_AT_START = (
    "Its options apply only when a server starts. Stop it first (copilot-kernel serve stop), or start another one with "
    "--port N."
)
CHAT = "The chat needs a key of its own: copilot-kernel serve start --CopilotApp.chat_key=KEY"
STOPPED = "stopped: no server with this extension is running"
START_SECONDS = 60.0
STATUS_SECONDS = 5.0
POLL_SECONDS = 0.05
MAIN = "from copilot_kernel.server import main; main()"

Server = dict[str, Any]


def run(arguments: argparse.Namespace) -> int:
    """Serve, or start, stop or show servers; the exit code. Raises UsageError without the extra `[server]`."""
    require_dependencies()
    match arguments.action:
        case "start":
            return _start(arguments.port, arguments.server_options)
        case "stop":
            return _stop(arguments.port)
        case "status":
            return _status(arguments.port, arguments.json)
    return _serve(arguments.port, arguments.server_options)


def bind_error(port: int) -> OSError | None:
    """Why this port of loopback cannot be used, if it cannot."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error
    return None


def _serve(port: int | None, options: Sequence[str]) -> int:
    _require_free(port)
    from ..server.app import CopilotApp

    CopilotApp.launch_instance(_command_line(port, options))  # type: ignore[no-untyped-call]
    return 0


def _start(port: int | None, options: Sequence[str]) -> int:
    """Start one in the background. Without a port it is that of the settings, which only the server reads."""
    if running := _standalone(_infos(port)):
        if options:
            raise UsageError(f"A server is already running: {_line(running[0])}", ONLY_AT_START)
        print(f"Already running: {_line(running[0])}")
        return 0
    _require_free(port)
    others, path = {info["pid"] for info in _infos(port)}, _log_file(port)
    server = _wait_for(_launch(port, options, path), port, others, path)
    print(f"{_line(server)}\nThe API key is the server's token: jupyter server list\n{CHAT}")
    return 0


def _stop(port: int | None) -> int:
    """Stop standalone servers only: Jupyter's are not ours to stop."""
    found = _standalone(_infos(port))
    for server in found:
        from jupyter_server.serverapp import shutdown_server

        with suppress(Exception):  # it may end by itself, before it has answered
            shutdown_server(server["info"])  # type: ignore[no-untyped-call]
        if any(left["pid"] == server["pid"] for left in _standalone(_infos(port))):
            raise CopilotError(f"The server at port {server['port']} does not stop.")
        print(f"Stopped: port {server['port']}")
    if not found:
        print("No matching server is running.", file=sys.stderr)
    return 0 if found else FAILED


def _status(port: int | None, as_json: bool) -> int:
    found = [*_servers(_infos(port))]
    if as_json:
        shown = [{name: value for name, value in server.items() if name != "info"} for server in found]
        print(json.dumps({"servers": shown}))
    else:
        print("\n".join(map(_line, found)) or STOPPED)
    return 0 if found else FAILED


def _line(server: Server) -> str:
    models = ", ".join(server["models"]) or "not known yet"
    kind = "standalone" if server["alone"] else "in Jupyter"
    return (
        f"{server['state']} {kind}: {server['url']} (port {server['port']}), models: {models}, "
        f"sessions: {server['sessions']}, agents: {server['agents']}, turns: {server['turns']}"
    )


def _require_free(port: int | None) -> None:
    if port is not None and (error := bind_error(port)):
        raise UsageError(f"Port {port} cannot be used: {error.strerror}.", OTHER_PORT) from error


# -- starting -------------------------------------------------------------------------------------------------------


def _launch(port: int | None, options: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Launch a server in a session of its own; its output, without its token, goes to a file that only the user can
    read.
    """
    command = [sys.executable, "-P", "-c", MAIN, *_command_line(port, options), "--StandaloneServer.tell_token=False"]
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        log.chmod(0o600)  # an older one may have another mode
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, **DETACHED)


def _command_line(port: int | None, options: Sequence[str]) -> list[str]:
    """Arguments of `jupyter copilot`; `options` are the user's own."""
    return ["--ServerApp.allow_root=True", *([f"--port={port}"] if port is not None else []), *options]


def _log_file(port: int | None) -> Path:
    from jupyter_core.paths import jupyter_runtime_dir

    folder = Path(jupyter_runtime_dir())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / ("copilot-serve.log" if port is None else f"copilot-serve-{port}.log")


def _wait_for(process: subprocess.Popen[bytes], port: int | None, others: Collection[int], log: Path) -> Server:
    """Wait until the server is ready; the `others` (process ids) ran before and are not asked. Raises CopilotError.

    In a virtual environment on Windows, the server is a child of `process`.
    """
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        for server in _standalone(info for info in _infos(port) if info["pid"] not in others):
            return server
        time.sleep(POLL_SECONDS)
    process.kill()
    process.wait()
    last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-5:])
    raise CopilotError("The server did not start.", f"Last lines of {log}:\n{last}")


# -- servers that run -----------------------------------------------------------------------------------------------


def _infos(port: int | None) -> Iterator[Server]:
    """The file that Jupyter writes for each server that runs, of the user's servers at `port` or at any port.

    Jupyter's own function to list them takes seconds to import.
    """
    from jupyter_core.paths import jupyter_runtime_dir
    from jupyter_server.utils import check_pid

    for path in Path(jupyter_runtime_dir()).glob("jpserver-*.json"):
        with suppress(OSError, ValueError):  # the file is being written, or the server is just gone
            info = json.loads(path.read_text("utf-8"))
            if port in (None, info["port"]) and check_pid(info["pid"]):
                yield info


def _standalone(infos: Iterable[Server]) -> list[Server]:
    return [server for server in _servers(infos) if server["alone"]]


def _servers(infos: Iterable[Server]) -> Iterator[Server]:
    """The status of each of these servers that has the extension. Raises UsageError if it is of a newer version."""
    for info in infos:
        with suppress(OSError, ValueError):  # the server is just gone, or has no such route
            status = _request_status(info)
            if isinstance(status, dict) and "turns" in status:
                _require_known(status, info["url"])
                yield {**status, "url": info["url"], "pid": info["pid"], "port": info["port"], "info": info}


def _require_known(status: Server, url: str) -> None:
    try:
        check_version(status.pop(VERSION, 1), f"The server at {url}")
    except UnknownVersion as error:
        raise UsageError(str(error)) from error


def _request_status(info: Server) -> Any:
    """Through no proxy: it is on this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    headers = {"Authorization": f"token {info['token']}"}
    request = urllib.request.Request(f"{info['url']}copilot/status", headers=headers)
    with opener.open(request, timeout=STATUS_SECONDS) as answer:
        return json.load(answer)
