"""A scripted model on loopback: it says and calls what the prompt tells it to, in the dialect it is asked in.

The last user message that holds `SCRIPT:` and a JSON object is the script:
    SCRIPT: {"note": "blue", "steps": [{"say": "…", "think": "…", "call": [["tool", {…}]]}, {"say": "done"}]}
The server keeps nothing between requests: the step to give is the number of assistant messages after the script.
`{"recall": true}` says the notes of all scripts in sight, so that a test sees whether earlier turns were sent along;
`{"hang": true}` never ends the answer; `{"refuse": 400}` answers with that HTTP status. A `name` beside the note makes
the ids of the calls differ from those of other scripts. It always streams: no agent here asks for anything else.
Below `/mcp/NAME` of the same server is an MCP server with the tool of `tools.py`.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import tools

Json = dict[str, Any]
Said = tuple[str, str]
"""The role, and the text, of one message of the conversation that the agent sent along."""
MARKER = "SCRIPT:"
LONGEST_HANG = 60.0
NO_SCRIPT = "There is no script in this prompt."
OVER = "The script is over."


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model; see above. No other step of the conversation has its `name`."""

    say: str = ""
    think: str = ""
    call: tuple[tuple[str, Json], ...] = ()
    name: str = "0"
    hang: bool = False
    refuse: int = 0

    @property
    def pieces(self) -> list[str]:
        return [self.say[at : at + 16] for at in range(0, len(self.say), 16)]

    @property
    def calls(self) -> list[tuple[str, str, Json]]:
        """Each with its id."""
        return [(f"call_{self.name}_{at}", *call) for at, call in enumerate(self.call)]


# -- scripts --------------------------------------------------------------------------------------------------------


def prompt(*steps: Json, note: str = "", name: str = "", words: str = "Please follow the script.") -> str:
    """The text of a prompt that makes the model take these steps. A sub-agent's may stand in it, with a `name`."""
    script = {"note": note, **({"name": name} if name else {}), "steps": steps}
    inside = json.dumps(script).replace(MARKER, f"\\u{ord(MARKER[0]):04x}{MARKER[1:]}")
    return f"{words}\n{MARKER} {inside}"


def next_step(said: list[Said]) -> Step:
    """What the script wants now; a step past its end says so, which ends the turn."""
    scripts = [(at, _script(text)) for at, (role, text) in enumerate(said) if role == "user" and MARKER in text]
    if not scripts:
        return Step(say=NO_SCRIPT)
    start, script = scripts[-1]
    at = sum(role == "assistant" for role, _ in said[start + 1 :])
    if at >= len(script["steps"]):
        return Step(say=OVER)
    if script["steps"][at].get("recall"):
        return Step(say="I remember: " + ", ".join(each["note"] for _, each in scripts if each["note"]))
    return Step(**script["steps"][at], name=f"{script.get('name', '')}{start}_{at}")


def _script(text: str) -> Json:
    script: Json = json.JSONDecoder().raw_decode(text.rpartition(MARKER)[2].lstrip())[0]
    return script


# -- dialects -------------------------------------------------------------------------------------------------------


def said(body: Json) -> list[Said]:
    """The conversation, as an agent sends it in either dialect."""
    roles = {"model": "assistant"}
    messages = body.get("messages") or body.get("contents") or []
    return [
        (roles.get(each["role"], each["role"]), _text(each.get("content") or each.get("parts"))) for each in messages
    ]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or [])


def openai(step: Step) -> list[Json]:
    """The chunks of a streamed chat completion, of which the last is its end."""
    calls = [
        {"index": at, "id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (key, name, arguments) in enumerate(step.calls)
    ]
    deltas = [
        {"role": "assistant", "content": ""},
        *([{"reasoning_content": step.think, "reasoning_text": step.think}] if step.think else []),
        *({"content": piece} for piece in step.pieces),
        *({"tool_calls": [call]} for call in calls),
    ]
    common = {"id": "chatcmpl-1", "created": 1767225600, "model": "scripted", "object": "chat.completion.chunk"}
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    last = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}
    chunks = [{**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, {**common, "choices": [last], "usage": usage}]


def gemini(step: Step) -> list[Json]:
    """The chunks of a streamed `generateContent`, of which the last is its end."""
    calls = [{"functionCall": {"id": key, "name": name, "args": arguments}} for key, name, arguments in step.calls]
    parts: list[list[Json]] = [
        *([[{"text": step.think, "thought": True}]] if step.think else []),
        *([{"text": piece}] for piece in step.pieces),
        *([calls] if calls else []),
    ]
    common = {
        "usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020},
        "modelVersion": "scripted",
    }
    contents = [{"index": 0, "content": {"role": "model", "parts": each}} for each in [*parts, [{"text": ""}]]]
    contents[-1]["finishReason"] = "STOP"
    return [{"candidates": [content], **common} for content in contents]


# -- the server -----------------------------------------------------------------------------------------------------


class Model(ThreadingHTTPServer):
    """The server; `requests` holds each (path, body) in the order of arrival."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, Json]] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def running() -> Iterator[Model]:
    """A model that serves until the block ends."""
    model = Model()
    thread = threading.Thread(target=model.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.closing.set()
        model.shutdown()
        model.server_close()
        thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_GET(self) -> None:
        if "/mcp/" in self.path:
            return self.send_error(405)
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "tests"}
        return self._json({"object": "list", "data": [model]} if self.path.endswith("/models") else model)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        if path.startswith("/mcp/"):
            answer = tools.answer(path.removeprefix("/mcp/"), body)
            return self._json(answer) if answer else self._head(202, "application/json")
        self.server.requests.append((path, body))
        if not path.endswith(("/chat/completions", ":streamGenerateContent")):
            return self._json({"totalTokens": 1000})
        step = next_step(said(body)) if body.get("tools") else Step(say="A scripted session")
        if step.refuse:
            return self._json({"error": {"message": "refused by the script", "code": step.refuse}}, step.refuse)
        chunks = openai(step) if "messages" in body else gemini(step)
        return self._stream(chunks, step.hang)

    def _stream(self, chunks: list[Json], hang: bool) -> None:
        self._head(200, "text/event-stream")
        for chunk in chunks[:-1]:
            self._write(f"data: {json.dumps(chunk)}\n\n")
        if hang:
            self.server.closing.wait(LONGEST_HANG)
        else:
            self._write(f"data: {json.dumps(chunks[-1])}\n\n")

    def _json(self, body: Json, status: int = 200) -> None:
        self._head(status, "application/json")
        self._write(json.dumps(body))

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def _write(self, text: str) -> None:
        try:
            self.wfile.write(text.encode())
            self.wfile.flush()
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Silence: standard error belongs to the test."""
