"""A scripted model on loopback: it says and calls what the prompt tells it to, in the dialect it is asked in.

The last user message that holds `SCRIPT:` and a JSON object is the script:
    SCRIPT: {"note": "blue", "steps": [{"say": "…", "think": "…", "call": [["tool", {…}]]}, {"say": "done"}]}
The server keeps nothing between requests: the step to give is the number of assistant messages after the script.
`{"recall": true}` says the notes of all scripts in sight, so that a test sees whether earlier turns were sent along;
`{"hang": true}` never ends the answer; `{"refuse": 400}` answers with that HTTP status. A `name` beside the note makes
the ids of the calls differ from those of other scripts.
By itself: `python -m tests.real.model --port 8080`.
"""

import argparse
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .wires import Call, Gemini, OpenAI, Said, Step, Wire, sse

MARKER = "SCRIPT:"
LONGEST_HANG = 60.0
TITLE = Step(say="A scripted session")


def prompt(*steps: dict[str, Any], note: str = "", name: str = "", words: str = "Please follow the script.") -> str:
    """The text of a prompt that makes the model take these steps. A sub-agent's may stand in it, with a `name`."""
    script = {"note": note, **({"name": name} if name else {}), "steps": steps}
    inside = json.dumps(script).replace(MARKER, f"\\u{ord(MARKER[0]):04x}{MARKER[1:]}")
    return f"{words}\n{MARKER} {inside}"


def next_step(said: list[Said]) -> Step:
    """What the script wants now; a step past its end says so, which ends the turn."""
    scripts = [(at, _script(message.text)) for at, message in enumerate(said) if _holds_script(message)]
    if not scripts:
        return Step(say="There is no script in this prompt.")
    start, script = scripts[-1]
    at = sum(message.speaker == "assistant" for message in said[start + 1 :])
    if at >= len(script["steps"]):
        return Step(say="The script is over.")
    notes = [earlier["note"] for _, earlier in scripts if earlier["note"]]
    return _step(script["steps"][at], f"{script.get('name', '')}{start}_{at}", notes)


def _holds_script(message: Said) -> bool:
    return message.speaker == "user" and MARKER in message.text


def _script(text: str) -> dict[str, Any]:
    after = text.rpartition(MARKER)[2].lstrip()
    script: dict[str, Any] = json.JSONDecoder().raw_decode(after)[0]
    return script


def _step(raw: dict[str, Any], name: str, notes: list[str]) -> Step:
    calls = enumerate(raw.get("call", []))
    return Step(
        say="I remember: " + ", ".join(notes) if raw.get("recall") else raw.get("say", ""),
        think=raw.get("think", ""),
        name=name,
        calls=tuple(Call(f"call_{name}_{at}", tool, arguments) for at, (tool, arguments) in calls),
        hang=raw.get("hang", False),
        refuse=raw.get("refuse", 0),
    )


class Model(ThreadingHTTPServer):
    """The server; `requests` holds each (path, body) in the order of arrival."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def running(port: int = 0) -> Iterator[Model]:
    """A model that serves until the block ends."""
    model = Model(port)
    thread = threading.Thread(target=model.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.closing.set()
        model.shutdown()
        model.server_close()
        thread.join(5)


def _wire(path: str) -> Wire | None:
    if path.endswith("/chat/completions"):
        return OpenAI()
    return Gemini() if "enerateContent" in path else None


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_GET(self) -> None:
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "tests"}
        self._json({"object": "list", "data": [model]} if self.path.endswith("/models") else model)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        self.server.requests.append((path, body))
        wire = _wire(path)
        if wire is None:
            return self._json({"totalTokens": 1000, "input_tokens": 1000})
        step = next_step(wire.said(body)) if wire.offers_tools(body) else TITLE
        if step.refuse:
            return self._json({"error": {"message": "refused by the script", "code": step.refuse}}, step.refuse)
        if body.get("stream") or ":stream" in path:
            return self._stream(wire, step)
        return self._json(wire.whole(step))

    def _stream(self, wire: Wire, step: Step) -> None:
        self._head(200, "text/event-stream")
        for event in wire.events(step):
            self._event(sse(event))
        if step.hang:
            self.server.closing.wait(LONGEST_HANG)
            return
        for event in wire.ending(step):
            self._event(sse(event))
        if isinstance(wire, OpenAI):
            self._event(b"data: [DONE]\n\n")

    def _event(self, data: bytes) -> None:
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except ConnectionError:
            self.close_connection = True

    def _json(self, body: dict[str, Any], status: int = 200) -> None:
        self._head(status, "application/json")
        self._event(json.dumps(body).encode())

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Silence: standard error belongs to the test."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    with running(parser.parse_args().port) as model:
        print(model.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
