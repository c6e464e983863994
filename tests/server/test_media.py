"""Files that agents produced: kept in memory, served so that no browser takes one for a page."""

import base64
import re

import pytest
from copilot_kernel.acp.messages import Block, EmbeddedResource, ImageBlock
from copilot_kernel.server.chat import media
from copilot_kernel.server.chat.media import MediaStore

from .api import Api

PNG = base64.b64decode("iVBORw0KGgo=")
PAGE = "<script>alert(1)</script>"


@pytest.fixture
def store() -> MediaStore:
    return MediaStore("/base/api/media/")


def data(content: bytes) -> str:
    return base64.b64encode(content).decode()


def key(file: media.StoredFile) -> str:
    return file.url.rpartition("/")[2]


def kept(store: MediaStore, block: Block) -> media.StoredFile:
    file = store.save(block)
    assert file is not None
    assert store.find(key(file)) is file
    return file


def test_a_file_has_an_address_that_nobody_can_guess(store: MediaStore) -> None:
    files = [kept(store, ImageBlock(data(PNG), "image/png")) for _ in range(2)]
    assert [file.content for file in files] == [PNG, PNG]
    assert all(re.fullmatch(r"/base/api/media/[\w-]{22}\.png", file.url) for file in files)
    assert files[0].url != files[1].url


@pytest.mark.parametrize("uri", ["../../etc/passwd", "file:///etc/passwd", "\0", "C:\\x", "x" * 5000, "..", ""])
def test_no_name_of_the_agent_is_part_of_an_address(store: MediaStore, uri: str) -> None:
    file = kept(store, EmbeddedResource(uri, text="x", mime_type="text/plain"))
    assert "/" not in file.name
    assert re.fullmatch(r"[\w-]{22}\.txt", key(file))


@pytest.mark.parametrize(("mime", "served", "inline"), [
    ("image/svg+xml", "image/svg+xml", True),
    ("audio/wav", "audio/wav", True),
    ("text/html", "text/plain; charset=utf-8", False),
    ("application/xhtml+xml", "application/octet-stream", False),
    ("image/png\r\nSet-Cookie: a=b", "application/octet-stream", False),
])  # fmt: skip
def test_only_pictures_and_sounds_are_shown(store: MediaStore, mime: str, served: str, inline: bool) -> None:
    file = kept(store, ImageBlock(data(PNG), mime))
    assert (file.content_type, file.is_inline) == (served, inline)


@pytest.mark.parametrize("block", [
    ImageBlock("", "image/png", "https://example.org/a.png"), ImageBlock("%%%", "image/png"), EmbeddedResource("a"),
    ImageBlock(data(b"x" * (media.MAX_MEDIA_BYTES + 1)), "image/png"),
])  # fmt: skip
def test_what_holds_no_file_is_not_kept(store: MediaStore, block: Block) -> None:
    assert store.save(block) is None


def test_the_oldest_go_when_there_is_too_much() -> None:
    store = MediaStore("/", max_bytes=20)
    files = [kept(store, ImageBlock(data(b"x" * 8), "image/png")) for _ in range(3)]
    assert [store.find(key(file)) for file in files] == [None, *files[1:]]


@pytest.mark.parametrize(("block", "kind", "disposition"), [
    (EmbeddedResource("evil.html", text=PAGE, mime_type="text/html"), "text/plain; charset=utf-8", "attachment"),
    (ImageBlock(data(PAGE.encode()), "image/svg+xml", "evil.html"), "image/svg+xml", "inline"),
])  # fmt: skip
async def test_files_are_shown_in_a_sandbox_or_saved_for_those_who_are_logged_in(
    api: Api, block: Block, kind: str, disposition: str
) -> None:
    path = f"api/media/{api.context.media.save(block).url.rpartition('/')[2]}"
    answer = await api.ask(path)
    assert (answer.text, answer.headers["Content-Type"]) == (PAGE, kind)
    assert answer.headers["Content-Disposition"] == f'{disposition}; filename="evil.html"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert (await api.raw("GET", path)).status == 401
    for name in ("nothing.png", "..%2f..%2fetc%2fpasswd"):
        assert (await api.ask(f"api/media/{name}")).status == 404
