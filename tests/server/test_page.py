"""The chat page's files, and the answers beside the WebSocket."""

import re

import pytest
from copilot_kernel.server.chat.page import FILES, POLICY, STATIC, SUGGESTIONS

from .api import Api
from .sockets import Client


async def test_the_page_names_its_place_and_loads_nothing_from_elsewhere(api: Api) -> None:
    answer = await api.ask("copilot/chat")
    page = answer.text
    assert f'data-base="{api.base_url}copilot/chat"' in page
    assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|https?://", page) == []
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert not re.search(r"https?:|\*|unsafe-eval", policy)
    assert [name for name, value in POLICY.items() if "unsafe-inline" in value] == ["style-src-attr"]
    assert "_xsrf" in [cookie.partition("=")[0] for cookie in answer.headers.get_list("Set-Cookie")]


@pytest.mark.parametrize("environment", [{"CWD": "/<b>{mode}\u202e"}], indirect=True)
async def test_the_page_tells_the_folder_that_the_agent_works_in(api: Api) -> None:
    page = (await api.ask("copilot/chat")).text
    assert "in the folder <b title" in page
    assert ">&lt;b&gt;{mode}⟨U+202E⟩</b>. Ask first: " in page


async def test_recent_conversations_are_those_that_can_be_gone_on_with(api: Api, client: Client) -> None:
    await api.complete("demo: say over HTTP", "kept")
    here = await client.begin()
    await client.say("demo: say hello")
    listed = (await api.ask("copilot/chat/sessions")).body
    assert [(each["id"], each["open"]) for each in listed] == [(here, True)]
    await api.close_conversations()
    listed = (await api.ask("copilot/chat/sessions")).body
    assert [each["open"] for each in listed] == [False, False]


async def test_its_files_are_served_with_their_types_and_no_others(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """They need no login: a browser cannot send one for a module."""
    monkeypatch.setitem(api.serverapp.web_app.settings, "allow_unauthenticated_access", False)
    for name, kind in FILES.items():
        answer, head = [await api.raw(method, f"copilot/chat/static/{name}") for method in ("GET", "HEAD")]
        assert answer.text == (STATIC / name).read_text()
        assert (answer.headers["Content-Type"], answer.headers["X-Content-Type-Options"]) == (kind, "nosniff")
        assert head.status == 200
    for name in ("chat.html", "..%2fpage.py", "secret", "chat.js%00"):
        assert (await api.ask(f"copilot/chat/static/{name}")).status == 404


def test_nothing_of_the_page_comes_from_elsewhere_and_each_request_has_the_xsrf_token() -> None:
    texts = {name: (STATIC / name).read_text() for name in (*FILES, "chat.html")}
    for name, text in texts.items():
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(|eval\(|new Function", text), name
    scripts = "".join(text for name, text in texts.items() if name.endswith(".js"))
    assert (scripts.count("fetch("), "'X-XSRFToken': token" in scripts) == (1, True)


@pytest.mark.parametrize(("extension", "active"), [
    ({}, "scripted"), ({"defaultModel": "large"}, "scripted-large"),
], indirect=["extension"])  # fmt: skip
async def test_suggestions_and_models_for_those_who_are_logged_in(api: Api, active: str) -> None:
    for path in ("api/chat/suggestions", "copilot/api/chat/suggestions"):
        assert (await api.ask(path)).body == list(SUGGESTIONS)
    for path in ("api/models", "api/chat/models"):
        found = (await api.ask(path)).body
        assert ([each["id"] for each in found["models"]], found["active"]) == (["scripted", "scripted-large"], active)
    for path in ("api/chat/suggestions", "api/models", "copilot/chat/sessions"):
        assert (await api.ask(path, headers={"Authorization": ""})).status == 401
