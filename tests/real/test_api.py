"""The OpenAI-compatible API in a server of its own, over a real agent; asked by OpenAI's client for Python."""

import json
import os
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import openai
import pytest

from ..jupyter.front_end import until
from ..limits import LIMIT
from . import model
from .agents import COPILOT, Agent
from .model import Model
from .test_listening import _free_port

pytestmark = [
    pytest.mark.real_agent,
    pytest.mark.usefixtures("isolated"),
    pytest.mark.parametrize("api", [COPILOT], ids=str, indirect=True),
]

Json = dict[str, Any]
TOKEN = "secret"


@contextmanager
def _serving(agent: Agent, port: int, scripted: Model) -> Iterator[None]:
    home = Path(os.environ["HOME"])
    env = {**os.environ, **agent.configure(home, scripted.url), "JUPYTER_TOKEN": TOKEN}
    env |= {"COPILOT_KERNEL_AGENT": shlex.join(agent.command()), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    command = [str(Path(sys.executable).with_name("copilot-kernel")), "serve", f"--port={port}"]
    with (home / "server.log").open("ab") as log:
        process = subprocess.Popen(command, env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   start_new_session=True)  # fmt: skip
    try:
        until(lambda: _is_well(port), "the server answers", LIMIT)
        yield
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.wait(10)


def _is_well(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=LIMIT) as answer:
        return bool(answer.status == 200)
    return False


def _messages(scripted: Model) -> list[str]:
    """What the model was sent last, as texts: those of the user."""
    _, body = scripted.requests[-1]
    return [json.dumps(message["content"]) for message in body["messages"] if message["role"] == "user"]


def _user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def play(agent: Agent) -> Json:
    port = _free_port()
    made = Path(os.environ["HOME"]) / "made-by-the-agent"
    findings: Json = {}
    with (
        model.running() as scripted,
        _serving(agent, port, scripted),
        openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=TOKEN, max_retries=0) as ai,
    ):
        create: Any = ai.chat.completions.create
        findings["models"] = [each.model_dump() for each in ai.models.list()]
        history: list[Any] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is one and one?"},
            {"role": "assistant", "content": "Two."},
            *_user(model.prompt({"say": "Four."}, words="And two and two?")),
        ]
        plain = create(model="any", messages=history)
        findings["plain"] = {"text": plain.choices[0].message.content, "usage": plain.to_dict().get("usage")}
        findings["received"] = _messages(scripted)
        stream = create(model="any", messages=_user(model.prompt({"say": "Streamed."})), stream=True)
        findings["stream"] = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        shell = agent.shell(f"touch {shlex.quote(str(made))}")
        create(model="any", messages=_user(model.prompt({"call": [shell]}, {"say": "Tried."})))
        findings["made"] = made.exists()
        kept: Json = {"extra_headers": {"X-Copilot-Session": "a"}, "model": "any"}
        create(messages=_user(model.prompt({"say": "Noted."}, note="blue")), **kept)
        again = create(messages=_user(model.prompt({"recall": True})), **kept)
        findings["recalls"] = again.choices[0].message.content
        alone = create(model="any", messages=_user(model.prompt({"recall": True})))
        findings["knows nothing"] = alone.choices[0].message.content
    return findings


# -- tests ----------------------------------------------------------------------------------------------------


def test_it_answers_plainly_and_as_a_stream(api: Json) -> None:
    assert (api["plain"]["text"], api["stream"]) == ("Four.", "Streamed.")


def test_the_model_gets_all_messages_of_all_roles_in_order_and_marked(api: Json) -> None:
    (sent,) = [text for text in api["received"] if "And two and two?" in text]
    marks = ["<message role=", "system", "Be brief.", "user", "What is one and one?", "assistant", "Two.", "And two"]
    places = [sent.find(mark) for mark in marks]
    assert -1 not in places
    assert sent.find("Be brief.") < sent.find("What is one and one?") < sent.find("Two.") < sent.find("And two and")


def test_the_agents_tools_do_nothing(api: Json) -> None:
    assert api["made"] is False


def test_a_session_that_is_kept_remembers_and_another_does_not(api: Json) -> None:
    assert (api["recalls"], api["knows nothing"]) == ("I remember: blue", "I remember: ")


def test_there_is_a_model(api: Json) -> None:
    assert [model["object"] for model in api["models"]] != []


def test_tokens_are_told_as_the_agent_tells_them(api: Json) -> None:
    usage = api["plain"]["usage"]
    assert usage is None or usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"] > 0
