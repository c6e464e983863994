"""A JupyterHub as programs see it: the endpoint with tokens, what a culler takes for idle, and the end of a server."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import openai
import pytest
from websockets.sync.client import ClientConnection, connect

from ..browser.hub import OTHER, USER, Hub, require_proxy, running_hub
from ..jupyter.asked import Asked
from ..jupyter.front_end import LIMIT, until
from .engine import await_none_of, belonging_to
from .remote import Remote

pytestmark = [pytest.mark.engine, pytest.mark.timeout(240)]

IDLE, CELL, CHAT, STREAM = CULLED = ("idle", "cell", "chat", "stream")
CULLER = f"""
c.JupyterHub.load_groups = {{"culled": {{"users": {list(CULLED)}}}}}
scopes = ["list:users!group=culled", "read:users:activity!group=culled", "servers!group=culled"]
c.JupyterHub.load_roles.append({{"name": "culler", "services": ["culler"], "scopes": scopes}})
command = [{sys.executable!r}, "-m", "jupyterhub_idle_culler", "--timeout=10", "--cull-every=1"]
c.JupyterHub.services.append({{"name": "culler", "command": command}})
c.Spawner.environment["JUPYTERHUB_ACTIVITY_INTERVAL"] = "1"
c.Spawner.args.append("--ServerApp.jpserver_extensions=jupyterlab=False")
"""
OFTEN_IN_SERVERS = "from copilot_kernel.server import app\napp.SWEEP_MILLISECONDS = 500\n"
OFTEN_IN_KERNELS = """
from copilot_kernel.__main__ import main
from copilot_kernel.output import questions
questions.ACTIVITY_SECONDS = 0.5
main()
"""
"""Activity is noted much more often, since this culler takes seconds for what others take hours."""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    require_proxy()
    root = tmp_path_factory.mktemp("hub")
    with running_hub(root, CULLER) as running:
        yield running
    await_none_of(root)


def own(hub: Hub, user: str) -> str:
    """A token for the user's own server alone."""
    return hub.token(f"access:servers!server={user}/", user=user)


@contextmanager
def client(hub: Hub, token: str, user: str = USER) -> Iterator[openai.OpenAI]:
    with httpx.Client(trust_env=False, timeout=LIMIT) as web:
        yield openai.OpenAI(base_url=f"{hub.server(user)}/v1", api_key=token, http_client=web, max_retries=0)


def stream(ai: openai.OpenAI, text: str) -> Iterator[str]:
    chunks: Any = ai.chat.completions.create(model="x", messages=[{"role": "user", "content": text}], stream=True)
    return (chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


@contextmanager
def chat(hub: Hub, user: str) -> Iterator[ClientConnection]:
    """A session of the chat."""
    url = f"{hub.server(user).replace('http', 'ws', 1)}/copilot/chat/ws"
    headers = {"Authorization": f"token {own(hub, user)}"}
    with connect(url, additional_headers=headers, proxy=None, open_timeout=LIMIT) as socket:
        socket.send(json.dumps({"action": "new_session"}))
        yield socket


def ask_in_chat(hub: Hub, user: str) -> None:
    """Leave a question open, and go."""
    with chat(hub, user) as socket:
        socket.send(json.dumps({"action": "send", "text": "demo: ask"}))
        while json.loads(socket.recv(timeout=LIMIT)).get("event") != "tool_approval_request":
            pass


def ask_in_cell(hub: Hub, user: str, kernel: str = "copilot") -> None:
    """Leave a question open, and go."""
    remote = Remote(hub.server(user), own(hub, user))
    begun = remote.ask("POST", "api/kernels", {"name": kernel})
    with remote.connected(begun["id"]) as notebook:
        Asked(notebook, "demo: ask")


# -- the endpoint -------------------------------------------------------------------------------------------------


def test_the_client_of_openai_streams_with_a_token_of_the_hub(hub: Hub) -> None:
    with client(hub, own(hub, USER)) as ai:
        assert "".join(stream(ai, "demo: slow 3 0.01")) == "1 2 3 "


def test_nobody_else_may_ask(hub: Hub) -> None:
    hub.ask("POST", f"/hub/api/users/{OTHER}")
    for token in (own(hub, OTHER), hub.token("read:users!user"), "wrong"):
        with client(hub, token) as ai, pytest.raises(openai.AuthenticationError, match="access:servers"):
            list(stream(ai, "demo: say Hello"))


# -- the end ------------------------------------------------------------------------------------------------------


def test_a_server_at_work_that_is_stopped_leaves_no_process(hub: Hub) -> None:
    hub.start_servers(OTHER)
    ask_in_cell(hub, OTHER)
    ask_in_chat(hub, OTHER)
    assert len(belonging_to(hub.home(OTHER))) > 4, "a server, a kernel and an agent for each"
    hub.ask("DELETE", f"/hub/api/users/{OTHER}/server")
    await_none_of(hub.home(OTHER))


def started(hub: Hub, user: str) -> str:
    """Start a server that notes activity all the time, as its kernel `often` does; the user's name."""
    config = hub.home(user) / ".jupyter" / "jupyter_server_config.py"
    spec = hub.home(user) / ".local/share/jupyter/kernels/often/kernel.json"
    for path in (config, spec):
        path.parent.mkdir(parents=True)
    config.write_text(OFTEN_IN_SERVERS)
    argv = [sys.executable, "-P", "-c", OFTEN_IN_KERNELS, "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": argv, "display_name": "Often", "language": "copilot"}))
    hub.start_servers(user)
    return user


def test_a_culler_ends_an_idle_server_but_none_that_waits_for_an_answer_or_streams_one(hub: Hub) -> None:
    ask_in_cell(hub, started(hub, CELL), "often")
    ask_in_chat(hub, started(hub, CHAT))
    with client(hub, own(hub, started(hub, STREAM)), STREAM) as ai:
        chunks = stream(ai, "demo: slow 10000 0.1")
        next(chunks)
        started(hub, IDLE)
        assert Remote(hub.server(IDLE), own(hub, IDLE)).ask("GET", "api/contents")["type"] == "directory"
        until(lambda: belonging_to(hub.home(IDLE)) == [], "the end of the idle server", 60)
        assert [user for user in CULLED if hub.is_ready(user)] == [CELL, CHAT, STREAM]
        assert next(chunks)
