"""Files that go with a prompt: as what, to whom, and when not."""

import base64
import os
from pathlib import Path

import pytest
from copilot_kernel.acp.messages import (
    AgentInfo,
    AudioBlock,
    Block,
    EmbeddedResource,
    ImageBlock,
    ResourceLink,
    TextBlock,
)
from copilot_kernel.chat.attachments import (
    MAX_ATTACHED_BYTES,
    MAX_BINARY_BYTES,
    MAX_MENTIONS,
    NEITHER,
    is_text,
    media_type,
    mentions,
    prepare,
    read,
)
from copilot_kernel.errors import UsageError
from copilot_kernel.tags import tagged

PNG = b"\x89PNG\r\n\x1a\n....IHDR"
EVERYTHING = AgentInfo(name="all", title="All", prompt=frozenset({"image", "audio", "embeddedContext"}))
NOTHING = AgentInfo(name="none", title="None")
COPILOT = AgentInfo(name="Copilot", prompt=frozenset({"image", "embeddedContext"}))

BEGINNINGS = [
    (PNG, "a.txt", "image/png"),
    (b"\xff\xd8\xff\xe0..JFIF", "a.jpg", "image/jpeg"),
    (b"GIF89a..", "a.gif", "image/gif"),
    (b"RIFF....WEBPVP8 ", "a.webp", "image/webp"),
    (b'<?xml version="1.0"?>\n<svg xmlns="...">', "a.svg", "image/svg+xml"),
    (b"RIFF....WAVEfmt ", "a.png", "audio/wav"),
    (b"ID3\x04....", "a.mp3", "audio/mp3"),
    (b"\xff\xfb\x90\x00", "a.txt", "audio/mp3"),
    (b"OggS....", "a.ogg", "audio/ogg"),
    (b"fLaC....", "a.flac", "audio/flac"),
    (b"\xff\xf1\x50\x80", "a.txt", "audio/aac"),
    (b"\x00\x01\x02", "a.aac", "audio/aac"),
]


def test_other_bytes_are_neither() -> None:
    others = {"a.png": b"text", "a.mp3": b"\xff\xfe\0\0", "a.wav": b"RIFF....AVI ", "a.svg": b"none", "a.xml": b"<svg>"}
    assert not any(media_type(head, name) for name, head in {**others, "a.aac": b"text", "a.pdf": b"%PDF"}.items())


def test_text_is_utf_8_that_may_be_cut() -> None:
    assert all(map(is_text, (b"", "größe €".encode(), "€".encode()[:2])))
    assert not any(map(is_text, (b"\xff", b"a\0", b"\xe4.")))


# -- attached -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """A project, beside other files."""
    (tmp_path / "project" / "src").mkdir(parents=True)
    return tmp_path / "project"


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(("head", "name", "kind"), BEGINNINGS)
def test_an_image_or_a_sound_goes_as_what_it_is_whatever_its_name(cwd: Path, head: bytes, name: str, kind: str) -> None:
    write(cwd / name, head)
    data = base64.b64encode(head).decode()
    wanted: Block = ImageBlock(data, kind) if kind.startswith("image") else AudioBlock(data, kind)
    assert read(name, EVERYTHING, str(cwd)) == wanted


def test_a_file_or_folder_of_the_project_is_a_link_that_the_agent_follows(cwd: Path) -> None:
    path = write(cwd / "src" / "a b.py", "x = 1\n")
    link = ResourceLink(path.as_uri(), "src/a b.py", mime_type="text/x-python", size=6)
    assert [read(str(path), agent, str(cwd)) for agent in (EVERYTHING, NOTHING, COPILOT)] == [link] * 3
    assert path.as_uri().endswith("/src/a%20b.py")
    folder = ResourceLink(f"{path.parent.as_uri()}/", "src", mime_type="inode/directory")
    assert read("src", NOTHING, str(cwd)) == folder


def test_text_from_elsewhere_goes_along_in_the_way_that_the_agent_takes(cwd: Path) -> None:
    path = write(cwd.parent / "notes.md", "# Ä\n```\ncode\n```\n")
    text = TextBlock(f'<attached-file path="{path}">\n# Ä\n```\ncode\n```\n</attached-file>')
    embedded = EmbeddedResource(path.as_uri(), "# Ä\n```\ncode\n```\n", mime_type="text/markdown")
    agents = (EVERYTHING, NOTHING, COPILOT)
    assert [read("../notes.md", agent, str(cwd)) for agent in agents] == [embedded] * 3
    assert [prepare([embedded], agent) for agent in agents] == [(embedded,), (text,), (text,)]


def test_other_bytes_from_elsewhere_are_embedded_or_a_link(cwd: Path) -> None:
    path = write(cwd.parent / "a.pdf", b"%PDF-\0")
    link = ResourceLink(path.as_uri(), str(path), mime_type="application/pdf", size=6)
    blob = EmbeddedResource(path.as_uri(), blob=base64.b64encode(b"%PDF-\0").decode(), mime_type="application/pdf")
    assert [read(str(path), agent, str(cwd)) for agent in (EVERYTHING, NOTHING, COPILOT)] == [blob, link, link]


def test_what_a_link_of_the_project_leads_to_outside_goes_along(cwd: Path) -> None:
    (cwd / "alias.txt").symlink_to(write(cwd.parent / "outside.txt", "out"))
    alias = (cwd / "alias.txt").as_uri()
    assert read("alias.txt", NOTHING, str(cwd)) == EmbeddedResource(alias, "out", mime_type="text/plain")


def test_a_drawing_is_text_where_no_images_are_taken(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(cwd.parent))
    path = write(cwd.parent / "a.svg", "<svg/>")
    assert prepare([read("~/a.svg", NOTHING, str(cwd))], NOTHING) == (
        TextBlock(f'<attached-file path="{path}">\n<svg/>\n</attached-file>'),
    )


def refusal(path: str, info: AgentInfo, cwd: Path) -> tuple[str, bool]:
    with pytest.raises(UsageError) as error:
        read(path, info, str(cwd))
    return str(error.value), bool(error.value.hint)


def test_what_the_agent_cannot_take_is_refused_with_the_capability(cwd: Path) -> None:
    write(cwd / "a.png", PNG)
    write(cwd / "a.wav", b"RIFF....WAVE")
    words = "None does not take {} (promptCapabilities.{}), so {} cannot be sent"
    assert refusal("a.png", NOTHING, cwd) == (words.format("images", "image", "a.png"), True)
    assert refusal("a.wav", NOTHING, cwd) == (words.format("sounds", "audio", "a.wav"), True)


def test_what_is_too_large_is_refused_with_both_sizes(cwd: Path) -> None:
    write(cwd / "a.png", PNG + bytes(MAX_BINARY_BYTES))
    write(cwd.parent / "a.txt", "x" * (MAX_ATTACHED_BYTES + 1))
    words = "{} is too large to attach: {:,} bytes, at most {:,}"
    size = len(PNG) + MAX_BINARY_BYTES
    assert refusal("a.png", EVERYTHING, cwd) == (words.format("a.png", size, 10_485_760), True)
    assert refusal("../a.txt", NOTHING, cwd) == (words.format("../a.txt", 1_048_577, 1_048_576), True)


def test_what_is_not_there_or_no_file_is_refused(cwd: Path) -> None:
    os.mkfifo(cwd / "pipe")
    assert refusal("none.txt", NOTHING, cwd) == ("none.txt cannot be read: no such file or directory", True)
    assert refusal("a\0b", NOTHING, cwd)[0].startswith("a\0b cannot be read: ")
    assert refusal("x" * 5000, NOTHING, cwd)[0].endswith("cannot be read: file name too long")
    assert refusal("pipe", NOTHING, cwd) == (NEITHER.format("pipe"), True)


# -- mentioned ------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(cwd: Path) -> Path:
    for name in ("file.py", "with blanks.txt", "src/deep.py", "a.b", "property", ".env", "ünïcode.txt"):
        write(cwd / name, "")
    return cwd


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Read @file.py, then @src/deep.py.", ["file.py", "src/deep.py"]),
        ("Is it @file.py?!", ["file.py"]),
        ('Read @"with blanks.txt" now', ["with blanks.txt"]),
        ("Read '@file.py' and \"@a.b\"", ["file.py", "a.b"]),
        ("@src and @src/", ["src"]),
        ("@./file.py @src/../file.py @file.py", ["file.py"]),
        ("@.env @ünïcode.txt", [".env", "ünïcode.txt"]),
        ("me@file.py, x@a.b, foo@bar.com", []),
        ("@none.py @\"no file.txt\" @ @@file.py @. @.. @/ @~", []),
        ("````\n```\n@file.py\n```\n````\n@a.b", ["a.b"]),
        ("```\n@file.py and no end", []),
        ("`@file.py` but ``x ` @a.b`` and @src", ["src"]),
        ("@" + "x" * 5000, []),
        ("@file.py\0", []),
    ],
)  # fmt: skip
def test_a_mention_is_a_file_that_exists_outside_of_code(project: Path, text: str, names: list[str]) -> None:
    assert [link.name for link in mentions(text, str(project)) if isinstance(link, ResourceLink)] == names


def test_a_file_elsewhere_can_be_mentioned_by_its_path_and_there_is_an_end_to_mentions(project: Path) -> None:
    path = write(project.parent / "x.txt", "abc")
    link = ResourceLink(path.as_uri(), str(path), mime_type="text/plain", size=3)
    assert mentions(f"@{path} @../x.txt", str(project)) == [link]
    names = [write(project / f"f{number}", "").name for number in range(MAX_MENTIONS + 5)]
    assert len(mentions(" ".join(f"@{name}" for name in names), str(project))) == MAX_MENTIONS


# -- another agent than when it was attached ------------------------------------------------------------------------


def test_another_agent_gets_a_text_as_text_and_refuses_what_it_cannot_take() -> None:
    text = tagged("notebook-cell", "x = 1", id="a")
    context = EmbeddedResource("notebook:cell/a", text, mime_type="text/plain")
    assert prepare([context], NOTHING) == (TextBlock(text),)
    with pytest.raises(UsageError, match="embeddedContext"):
        prepare([EmbeddedResource("file:///a.pdf", blob="aGk=")], NOTHING)
