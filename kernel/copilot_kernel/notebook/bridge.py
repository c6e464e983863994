"""Carries MCP from standard input and output to the notebook's server, for agents that only start servers.

Run as `python -I -S bridge.py FILE`: the standard library alone, started in 20 ms. FILE holds a JSON object with `url`
and `token`, and only the user can read it. Each line of the input is a message; an answer is written as soon as it
comes, so a call that waits holds up no other.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from stat import S_IMODE
from typing import Any
from urllib.parse import urlsplit

MAX_MESSAGE_BYTES = 8_000_000
"""Limit of a message, the same as the server's."""

MAX_REQUESTS = 24
"""Limit of requests at once, each in a thread; the server takes 32 connections, and notifications need one, too."""
TOO_MANY = f"more than {MAX_REQUESTS} requests are running"
TOOL_FAILED = -32000
VERSION = 1  # of FILE: the package may have been updated since the kernel was started


class Bridge:
    """Posts messages, each in a thread; nothing of what it knows is printed."""

    def __init__(self, url: str, token: str, write: Callable[[bytes], None]) -> None:
        place = urlsplit(url)
        self._host, self._port, self._path = place.hostname or "", place.port, place.path
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._write = write
        self._writing = threading.Lock()

    def take(self, line: bytes) -> None:
        """Post one message; notifications go at once, so that none is overtaken by what came after it."""
        message = _parsed(line)
        id = message.get("id") if isinstance(message, dict) else None
        if len(line) > MAX_MESSAGE_BYTES:
            self._fail(id, "the message is too long")
        elif id is None:
            self._post(line, None)
        elif threading.active_count() > MAX_REQUESTS:
            self._fail(id, TOO_MANY)
        else:
            threading.Thread(target=self._post, args=(line, id), daemon=True).start()

    def _post(self, line: bytes, id: Any) -> None:
        connection = HTTPConnection(self._host, self._port)
        try:
            connection.request("POST", self._path, body=line, headers=self._headers)
            answer = connection.getresponse()
            if answer.status not in (200, 202, 400):
                self._fail(id, f"the notebook refused the request ({answer.status})")
            elif answer.headers.get_content_type() == "text/event-stream":
                for event in answer:
                    if event.startswith(b"data: "):
                        self._put(event[len(b"data: ") :])
            else:
                self._put(answer.read())
        except (OSError, HTTPException):
            self._fail(id, "the notebook's kernel has ended")
        finally:
            connection.close()

    def _fail(self, id: Any, why: str) -> None:
        if id is not None:
            self._put(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": TOOL_FAILED, "message": why}}).encode())

    def _put(self, message: bytes) -> None:
        if message.strip():
            with self._writing:
                self._write(message.strip() + b"\n")


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def read_endpoint(path: str) -> tuple[str, str]:
    """Address and token. Refuses a file that others can read; on Windows, its folder keeps others out."""
    with open(path, encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        if sys.platform != "win32" and (S_IMODE(status.st_mode) & 0o077 or status.st_uid != os.getuid()):
            raise SystemExit("others can read the file with the token")
        endpoint = json.load(file)
    if endpoint.get("version", 1) != VERSION:
        raise SystemExit(
            "the file with the token is of another version of Copilot Kernel; restart the notebook's kernel"
        )
    return endpoint["url"], endpoint["token"]


def main(path: str) -> None:
    """Pass messages on until the input ends."""

    def write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    bridge = Bridge(*read_endpoint(path), write)
    while line := sys.stdin.buffer.readline():
        bridge.take(line)


if __name__ == "__main__":
    main(sys.argv[1])
