"""A small MCP server with one tool that draws: over standard input and output; `model.py` serves it over HTTP, too.

`python tools.py NAME` is the first; the tool is called `draw_NAME` and tells what is in the environment as `GREETING`.
"""

import json
import os
import sys
from typing import Any

Json = dict[str, Any]
RED_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="


def answer(name: str, message: Json) -> Json | None:
    """The answer to one message, if it wants one."""
    if "id" not in message:
        return None
    text = {"type": "text", "text": f"A dot from {name}, {os.environ.get('GREETING', 'no greeting')}."}
    tool = {"name": f"draw_{name}", "description": "Draws.", "inputSchema": {"type": "object", "properties": {}}}
    results: Json = {
        "initialize": {
            "protocolVersion": message.get("params", {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1.0.0"},
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [text, {"type": "image", "mimeType": "image/png", "data": RED_DOT}]},
        "ping": {},
    }
    method = message["method"]
    unknown = {"error": {"code": -32601, "message": f"no {method}"}}
    return {"jsonrpc": "2.0", "id": message["id"], **({"result": results[method]} if method in results else unknown)}


if __name__ == "__main__":
    for line in sys.stdin:
        if said := answer(sys.argv[1], json.loads(line)):
            print(json.dumps(said), flush=True)
