"""HEAD: what GET answers, without its body (RFC 9110, 9.3.2)."""

from __future__ import annotations

import httpx
import pytest

from .api import CHAT, Api, raw

ALL = [
    "health", "v1/models", "v1/models/scripted", "v1/models/none", "copilot/status", "copilot/openapi.json",
    "copilot/chat", "copilot/chat/static/chat.js", "copilot/chat/static/none", "copilot/chat/sessions",
    "api/chat/suggestions", "api/models", "api/media/none", "v1/nothing", "v1/embeddings", CHAT,
]  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
async def test_head_is_get_without_a_body(api: Api, known: bool) -> None:
    headers = api.bearer if known else {}
    await raw(api, "GET", "v1/models", headers=headers)  # so that as much is known of them as later
    for path in ALL:
        get, head = [await raw(api, method, path, headers=headers) for method in ("GET", "HEAD")]
        assert (path, head.status_code, head.content) == (path, get.status_code, b"")
        assert told_in(head) == told_in(get)


def told_in(got: httpx.Response) -> dict[str, str]:
    """Its headers, without the time and what is made up for each answer."""
    return {name: value for name, value in got.headers.items() if name not in ("date", "set-cookie")}


async def test_head_of_the_figures_counts_itself_alone(api: Api) -> None:
    got = await raw(api, "HEAD", "copilot/metrics", headers=api.bearer)
    assert (got.status_code, got.content, got.headers["Content-Type"].split(";")[0]) == (200, b"", "text/plain")


async def test_the_socket_has_no_head(api: Api) -> None:
    got = await raw(api, "HEAD", "api/chat/ws", headers=api.bearer)
    assert (got.status_code, got.headers["Allow"], got.content) == (405, "GET", b"")
