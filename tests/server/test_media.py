"""Files that agents produced: saved privately, served so that no browser takes one for a page."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterator
from typing import Any

import pytest
from copilot_kernel.acp.messages import Audio, Block, Image, Resource
from copilot_kernel.server import media
from copilot_kernel.server.media import MediaStore
from tornado.httpclient import HTTPClientError

PNG = base64.b64decode("iVBORw0KGgo=")
PAGE = "<script>alert(1)</script>"


@pytest.fixture
def shelf() -> Iterator[MediaStore]:
    shelf = MediaStore("/base/api/media/")
    yield shelf
    shelf.close()


def data(content: bytes) -> str:
    return base64.b64encode(content).decode()


def kept(shelf: MediaStore, block: Block) -> tuple[str, media.Kept]:
    file = shelf.keep(block)
    assert file is not None
    found = shelf.find(file.url.rpartition("/")[2])
    assert found is not None
    return file.url, found


def test_a_file_is_kept_where_only_its_owner_can_read_it(shelf: MediaStore) -> None:
    url, file = kept(shelf, Image(data(PNG), "image/png"))
    assert url.startswith("/base/api/media/")
    assert file.path.read_bytes() == PNG
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(file.path.parent).st_mode) == 0o700
    shelf.close()
    assert not file.path.parent.exists()


@pytest.mark.parametrize(
    "uri", ["../../etc/passwd", "file:///etc/passwd", "a/../../b", "\0", "C:\\x", "x" * 5000, "..", ""]
)
def test_no_name_of_the_agent_is_part_of_a_path(shelf: MediaStore, uri: str) -> None:
    _, file = kept(shelf, Resource(uri, text="x", mime_type="text/plain"))
    assert "/" not in file.name
    assert ".." not in file.path.name
    assert file.path.parent.name.startswith("copilot-media-")


@pytest.mark.parametrize(
    ("mime", "served", "inline"),
    [
        ("image/png", "image/png", True),
        ("image/svg+xml", "image/svg+xml", True),
        ("audio/wav", "audio/wav", True),
        ("text/html", "text/plain; charset=utf-8", False),
        ("text/javascript", "text/plain; charset=utf-8", False),
        ("application/pdf", "application/octet-stream", False),
        ("application/xhtml+xml", "application/octet-stream", False),
        ("image/png\r\nSet-Cookie: a=b", "application/octet-stream", False),
        ("", "application/octet-stream", False),
    ],
)
def test_only_pictures_and_sounds_are_shown(shelf: MediaStore, mime: str, served: str, inline: bool) -> None:
    _, file = kept(shelf, Image(data(PNG), mime))
    assert (file.served_as, file.inline) == (served, inline)


@pytest.mark.parametrize(
    "block",
    [
        Image("", "image/png", "https://example.org/a.png"),
        Image("%%%", "image/png"),
        Audio("", "audio/wav"),
        Resource("a"),
        Image(data(b"x" * (media.LARGEST + 1)), "image/png"),
    ],
)
def test_what_holds_no_file_is_not_kept(shelf: MediaStore, block: Block) -> None:
    assert shelf.keep(block) is None


def test_the_oldest_go_when_there_is_too_much() -> None:
    shelf = MediaStore("/", most=20)
    urls = [kept(shelf, Image(data(b"x" * 8), "image/png")) for _ in range(3)]
    assert [shelf.find(url.rpartition("/")[2]) is not None for url, _ in urls] == [False, True, True]
    assert not urls[0][1].path.exists()
    shelf.close()


async def test_a_page_in_disguise_is_saved_and_never_shown(jp_serverapp: Any, jp_fetch: Any) -> None:
    file = _shelf(jp_serverapp).keep(Resource("evil.html", text=PAGE, mime_type="text/html"))
    answer = await jp_fetch("api", "media", file.url.rpartition("/")[2])
    assert answer.body.decode() == PAGE
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="evil.html"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")


async def test_a_picture_is_shown_in_a_sandbox(jp_serverapp: Any, jp_fetch: Any) -> None:
    file = _shelf(jp_serverapp).keep(Image(data(b"<svg/>"), "image/svg+xml"))
    answer = await jp_fetch("api", "media", file.url.rpartition("/")[2])
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert answer.headers["Content-Disposition"].startswith("inline")
    assert "sandbox" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("name", ["nothing.png", "..", "..%2f..%2fetc%2fpasswd"])
async def test_what_is_not_on_the_shelf_is_404(jp_serverapp: Any, jp_fetch: Any, name: str) -> None:
    with pytest.raises(HTTPClientError) as error:
        await jp_fetch("api", "media", name)
    assert error.value.code == 404


async def test_without_a_login_there_are_no_files(jp_serverapp: Any, jp_fetch: Any) -> None:
    file = _shelf(jp_serverapp).keep(Image(data(PNG), "image/png"))
    with pytest.raises(HTTPClientError) as error:
        await jp_fetch("api", "media", file.url.rpartition("/")[2], headers={"Authorization": ""})
    assert error.value.code == 401


def _shelf(serverapp: Any) -> Any:
    return serverapp.extension_manager.extension_apps["copilot_kernel"].copy().pop().chat_services.shelf
