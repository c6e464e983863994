"""The scripted model answers each dialect as its script says, from nothing but the request."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from .model import next_step, prompt, running
from .wires import Anthropic, Call, Gemini, OpenAI, Said, Step, Wire, sse

Json = dict[str, Any]
FIRST = {"say": "I run it.", "think": "Hm.", "call": [["bash", {"command": "ls"}]]}
SCRIPT = prompt(FIRST, {"say": "Done."}, note="blue")
TOOLS = [{"name": "bash"}]


@pytest.mark.parametrize(
    ("said", "step"),
    [
        ([Said("user", SCRIPT)], Step("I run it.", "Hm.", (Call("call_0_0_0", "bash", {"command": "ls"}),), "0_0")),
        ([Said("user", SCRIPT), Said("assistant", "I run it."), Said("tool", "a")], Step("Done.", name="0_1")),
        ([Said("user", SCRIPT), *[Said("assistant", "")] * 2], Step("The script is over.")),
        ([Said("user", "Hello")], Step("There is no script in this prompt.")),
        (
            [Said("user", SCRIPT), Said("assistant", ""), Said("user", prompt({"recall": True}, note="red"))],
            Step("I remember: blue, red", name="2_0"),
        ),
    ],
)
def test_the_step_depends_only_on_what_was_said(said: list[Said], step: Step) -> None:
    assert next_step(said) == step


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (
            OpenAI(),
            {
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": SCRIPT}]},
                    {"role": "assistant", "content": None, "tool_calls": []},
                    {"role": "tool", "content": "a.txt"},
                ]
            },
        ),
        (
            Anthropic(),
            {
                "messages": [
                    {"role": "user", "content": SCRIPT},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "bash", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "a.txt"}]},
                ]
            },
        ),
        (
            Gemini(),
            {
                "contents": [
                    {"role": "user", "parts": [{"text": SCRIPT}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {}}}]},
                ]
            },
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, OpenAI | Anthropic | Gemini) else "",
)
def test_each_dialect_is_read_into_the_same_conversation(wire: Wire, body: Json) -> None:
    assert next_step(wire.said(body)) == Step("Done.", name="0_1")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": SCRIPT}], "tools": TOOLS}),
        ("/v1/messages", {"messages": [{"role": "user", "content": SCRIPT}], "tools": TOOLS}),
        ("/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": SCRIPT}]}], "tools": TOOLS}),
    ],
)
def test_the_server_streams_or_sends_whole_and_records_what_it_was_asked(path: str, body: Json, stream: bool) -> None:
    path = path.replace(":generate", ":streamGenerate") if stream else path
    body = {**body, "stream": stream}
    with running() as model:
        kind, answer = _post(f"{model.url}{path}?alt=sse", body)
    assert model.requests == [(path, body)]
    assert kind == ("text/event-stream" if stream else "application/json")
    assert [word for word in ("Hm.", "I run it.", "bash", "call_0_0_0") if word in answer] == _carried(path, stream)


def _carried(path: str, stream: bool) -> list[str]:
    whole_chat_completion = path.endswith("completions") and not stream
    return ["I run it.", "bash", "call_0_0_0"] if whole_chat_completion else ["Hm.", "I run it.", "bash", "call_0_0_0"]


def test_a_request_without_tools_gets_a_title_and_a_refusal_gets_its_status() -> None:
    untooled = {"messages": [{"role": "user", "content": SCRIPT}]}
    refused = {"messages": [{"role": "user", "content": prompt({"refuse": 418})}], "tools": TOOLS}
    with running() as model:
        _, answer = _post(f"{model.url}/v1/chat/completions", untooled)
        with pytest.raises(urllib.error.HTTPError) as refusal:
            _post(f"{model.url}/v1/chat/completions", refused)
        refusal.value.close()
    assert json.loads(answer)["choices"][0]["message"]["content"] == "A scripted session"
    assert refusal.value.code == 418


def test_an_event_is_named_only_where_the_dialect_names_events() -> None:
    assert sse({"type": "message_stop"}) == b'event: message_stop\ndata: {"type": "message_stop"}\n\n'
    assert sse({"choices": []}) == b'data: {"choices": []}\n\n'


def _post(url: str, body: Json) -> tuple[str, str]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.headers["Content-Type"], answer.read().decode()
