"""A small MCP server with one tool that draws: over standard input and output, or over HTTP on loopback.

`python tools.py NAME` is the first; the tool is called `draw_NAME` and tells what is in the environment as `GREETING`.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
RED_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="


def answer(name: str, message: Json) -> Json | None:
    """The answer to one message, if it wants one."""
    if "id" not in message:
        return None
    result: Json = {}
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            about = {"name": name, "version": "1.0.0"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            schema = {"type": "object", "properties": {}}
            result = {"tools": [{"name": f"draw_{name}", "description": "Draws.", "inputSchema": schema}]}
        case "tools/call":
            text = {"type": "text", "text": f"A dot from {name}, {os.environ.get('GREETING', 'no greeting')}."}
            result = {"content": [text, {"type": "image", "mimeType": "image/png", "data": RED_DOT}]}
        case "ping":
            pass
        case other:
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": f"no {other}"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


@contextmanager
def serving(name: str) -> Iterator[str]:
    """The address of a server that answers until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = answer(name, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(said).encode() if said else b""
            self.send_response(200 if said else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_error(405)

        do_DELETE = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def main() -> None:
    for line in sys.stdin:
        if said := answer(sys.argv[1], json.loads(line)):
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
