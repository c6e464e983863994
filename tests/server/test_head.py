"""HEAD: what GET answers, without its body (RFC 9110, 9.3.2)."""

import httpx

from .api import CHAT, Api, raw

ALL = [
    "health", "v1/models", "v1/models/scripted", "v1/models/none", "copilot/status", "copilot/openapi.json",
    "copilot/chat", "copilot/chat/static/chat.js", "copilot/chat/static/none", "copilot/chat/sessions",
    "api/chat/suggestions", "api/models", "api/media/none", "v1/nothing", "v1/embeddings", CHAT,
]  # fmt: skip


async def test_head_is_get_without_a_body(api: Api) -> None:
    await raw(api, "GET", "v1/models", headers=api.bearer)  # so that as much is known of them as later
    for path, headers in [*((path, api.bearer) for path in ALL), *((path, {}) for path in ALL[:2])]:
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
