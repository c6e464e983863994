"""The chat page's files, and the answers beside the WebSocket."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.server.page import FILES, POLICY, STATIC
from tornado.httpclient import HTTPClientError

from .api import Api
from .sockets import MagicSession


async def test_the_page_names_its_place_and_holds_no_script_of_its_own(jp_fetch: Any, jp_base_url: str) -> None:
    answer = await jp_fetch("copilot", "chat")
    page = answer.body.decode()
    assert f'data-base="{jp_base_url}copilot/chat"' in page
    assert "{base}" not in page
    assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|https?://", page) == []


async def test_the_policy_lets_nothing_in_from_elsewhere(jp_fetch: Any) -> None:
    policy = (await jp_fetch("copilot", "chat")).headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe-eval" not in policy
    assert [name for name, value in POLICY.items() if "unsafe-inline" in value] == ["style-src-attr"]
    assert not re.search(r"https?:|\*", policy)


async def test_the_page_tells_the_folder_that_the_agent_works_in(api: Api, tmp_path: Path) -> None:
    api.app.base_settings = replace(api.app.base_settings, cwd=str(tmp_path / "<b>{mode}\u202e"))
    page = (await api.ask("copilot/chat")).text
    assert "in the folder <b title" in page
    assert ">&lt;b&gt;{mode}⟨U+202E⟩</b>. New chats begin in permission mode default: " in page


async def test_recent_conversations_are_those_that_can_be_gone_on_with(api: Api, door: MagicSession) -> None:
    await api.complete("demo: say over HTTP", "kept")
    async with door.client() as client:
        here = await client.begin()
        await client.say("demo: say hello")
        listed = json.loads((await api.ask("copilot/chat/sessions")).text)
    assert [(each["id"], each["open"]) for each in listed] == [(here, True)]
    await api.app.dialogues.close()
    await api.app.chat_services.talks.close()
    listed = json.loads((await api.ask("copilot/chat/sessions")).text)
    assert [each["open"] for each in listed] == [False, False]


@pytest.mark.parametrize("name", sorted(FILES))
async def test_its_files_are_served_with_their_types(jp_fetch: Any, name: str) -> None:
    answer = await jp_fetch("copilot", "chat", "static", name)
    assert answer.body == (STATIC / name).read_bytes()
    assert answer.headers["Content-Type"] == FILES[name]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("name", sorted(FILES))
async def test_they_need_no_login_since_a_browser_cannot_send_one_for_a_module(
    jp_fetch: Any, jp_serverapp: Any, name: str, method: str
) -> None:
    jp_serverapp.web_app.settings["allow_unauthenticated_access"] = False
    answer = await jp_fetch("copilot", "chat", "static", name, method=method, headers={"Authorization": ""})
    assert answer.code == 200


def test_each_request_of_the_page_has_the_xsrf_token() -> None:
    scripts = "".join((STATIC / name).read_text() for name in FILES if name.endswith(".js"))
    assert scripts.count("fetch(") == 1
    assert "'X-XSRFToken': token" in scripts


async def test_the_page_brings_the_xsrf_token_as_a_cookie(jp_fetch: Any) -> None:
    cookies = (await jp_fetch("copilot", "chat")).headers.get_list("Set-Cookie")
    assert "_xsrf" in [cookie.partition("=")[0] for cookie in cookies]


@pytest.mark.parametrize("name", ["chat.html", "..%2fpage.py", "secret", "chat.js%00"])
async def test_other_files_are_not(jp_fetch: Any, name: str) -> None:
    with pytest.raises(HTTPClientError) as error:
        await jp_fetch("copilot", "chat", "static", name)
    assert error.value.code == 404


def test_the_page_tries_to_connect_again_after_three_seconds() -> None:
    script = (STATIC / "wire.js").read_text()
    assert "const AGAIN = 3000;" in script
    assert "setTimeout(() => this.connect(), AGAIN)" in script


def test_nothing_of_the_page_comes_from_elsewhere() -> None:
    for name in (*FILES, "chat.html"):
        text = (STATIC / name).read_text()
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(|eval\(|new Function", text), name


@pytest.mark.parametrize("path", ["api/chat/suggestions", "copilot/api/chat/suggestions"])
async def test_suggestions_are_an_array_of_texts(jp_fetch: Any, path: str) -> None:
    found = json.loads((await jp_fetch(*path.split("/"))).body)
    assert found
    assert all(isinstance(each, str) for each in found)


@pytest.mark.parametrize("path", ["api/models", "api/chat/models"])
async def test_models_and_the_active_one(jp_fetch: Any, path: str) -> None:
    found = json.loads((await jp_fetch(*path.split("/"))).body)
    assert [each["id"] for each in found["models"]] == ["scripted", "scripted-large"]
    assert found["active"] == "scripted"


@pytest.mark.parametrize("extension", [{"defaultModel": "large"}], indirect=True)
async def test_the_model_of_the_server_is_the_active_one(jp_fetch: Any) -> None:
    assert json.loads((await jp_fetch("api", "models")).body)["active"] == "scripted-large"


@pytest.mark.parametrize("path", ["api/chat/suggestions", "api/models", "copilot/chat/sessions"])
async def test_nothing_without_a_login(jp_fetch: Any, path: str) -> None:
    with pytest.raises(HTTPClientError) as error:
        await jp_fetch(*path.split("/"), headers={"Authorization": ""})
    assert error.value.code == 401
