"""What of the wire may be shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from copilot_kernel.chat.log import LONGEST, readable
from copilot_kernel.errors import AuthRequired
from copilot_kernel.redaction import HIDDEN, redactor

from .conftest import Open
from .people import ask


def shown(message: Any, environ: dict[str, str] | None = None) -> Any:
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    (text,) = readable([("<", line)], redactor(environ or {}))
    assert text.startswith("< ")
    return text[2:] if isinstance(message, bytes) else json.loads(text[2:])


SERVERS = [
    (
        [{"name": "files", "command": "serve", "env": [{"name": "PLAIN", "value": "x"}]}],
        [{"name": "files", "command": "serve", "env": [{"name": "PLAIN", "value": HIDDEN}]}],
    ),
    (
        [{"name": "web", "url": "https://me:pw@host/", "headers": [{"name": "X-Own", "value": "x"}]}],
        [{"name": "web", "url": f"https://{HIDDEN}@host/", "headers": [{"name": "X-Own", "value": HIDDEN}]}],
    ),
    ({"env": {"PLAIN": "x"}, "headers": "rubbish"}, {"env": {"PLAIN": HIDDEN}, "headers": HIDDEN}),
]


@pytest.mark.parametrize(("servers", "readable"), SERVERS)
def test_what_a_server_is_given_is_hidden(servers: Any, readable: Any) -> None:
    assert shown({"params": {"mcpServers": servers}}) == {"params": {"mcpServers": readable}}


@pytest.mark.parametrize(
    "name",
    ["token", "accessToken", "access_token", "GITHUB_TOKEN", "api_key", "apiKey", "X-Api-Key", "password",
     "Authorization", "client_secret", "clientSecret", "Cookie", "privateKey"],
)  # fmt: skip
def test_what_is_called_a_secret_is_hidden(name: str) -> None:
    assert shown({name: "abc", "other": {"name": name, "value": "abc"}}) == {
        name: HIDDEN,
        "other": {"name": name, "value": HIDDEN},
    }


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("use ghp_0123456789abcdefghij please", f"use {HIDDEN} please"),
        ("github_pat_11ABCDEFG0123456789", HIDDEN),
        ("curl -H 'Authorization: Bearer abcdefghijk'", f"curl -H 'Authorization: Bearer {HIDDEN}'"),
        ("export MY_TOKEN=abc; ls", f"export MY_TOKEN={HIDDEN}; ls"),
        ('{"password": "abc"}', f'{{"password": "{HIDDEN}"}}'),
        ("git clone https://me:pw@host/x", f"git clone https://{HIDDEN}@host/x"),
        ("sk-ABCDEFGHIJKLMNOP", HIDDEN),
    ],
)
def test_what_looks_like_a_secret_is_hidden_in_texts(text: str, hidden: str) -> None:
    assert shown({"text": text}) == {"text": hidden}
    assert shown(text.encode()) == hidden


@pytest.mark.parametrize(
    "message",
    [
        {"usage": {"totalTokens": 12, "inputTokens": 3}},
        {"used": 5, "size": 10, "maxTokens": "many"},
        {"method": "session/prompt", "params": {"sessionId": "s-1", "prompt": [{"type": "text", "text": "a key"}]}},
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "call_1", "path": "/src/passage.py", "compass": "x"}},
        [1, None, True, "plain"],
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(message: Any) -> None:
    assert shown(message) == message


def test_values_of_secret_variables_are_hidden_wherever_they_stand() -> None:
    environ = {"GH_TOKEN": "quite-a-secret", "HOME": "/home/me/long/path", "SHORT_TOKEN": "abc"}
    assert shown({"text": "it is quite-a-secret in /home/me/long/path, abc"}, environ) == {
        "text": f"it is {HIDDEN} in /home/me/long/path, abc"
    }
    assert shown(b"noise quite-a-secret", environ) == f"noise {HIDDEN}"


def test_long_texts_are_cut() -> None:
    text = "é" * (LONGEST + 5)
    assert shown({"data": text}) == {"data": "é" * LONGEST + "… (5 more characters)"}


@pytest.mark.anyio
async def test_the_log_is_that_of_the_last_turn(opened: Open) -> None:
    async with opened() as chat:
        assert chat.log() == []
        await ask(chat, "demo: say one")
        assert ['"initialize"' in line for line in chat.log()][:1] == [True]
        await ask(chat, "demo: say two")
        lines = chat.log()
    assert (lines[0].startswith("> "), "say two" in lines[0]) == (True, True)
    assert [line for line in lines if '"initialize"' in line or "say one" in line] == []
    assert any(line.startswith("< ") and '"stopReason"' in line for line in lines)


@pytest.mark.anyio
async def test_the_log_of_an_agent_that_did_not_start_is_there(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "signed-out")
    async with opened() as chat:
        with pytest.raises(AuthRequired):
            await ask(chat, "demo: say one")
        assert any("-32000" in line for line in chat.log())
