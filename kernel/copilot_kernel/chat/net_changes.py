"""Net changes of a turn, with the place of each in its file as it is now; and what else changed meanwhile.

What may not be the agent's is known from undo's snapshots. Of files that may hold secrets, no content is shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from ..conversation.changes import FileChange, TurnChanges, changes_of
from ..conversation.excerpt import Excerpt
from ..conversation.line_diff import MAX_SHOWN_LINES, Change, compared, counted
from ..errors import HostError, HostMissing
from ..host import read_for_display
from ..rendering.highlight import language_of, lexer_of
from ..undo.record import ChangedFile, what_of
from .diff_locator import MAX_DIFFS, MAX_LOCATED_BYTES

if TYPE_CHECKING:
    from ..conversation.outcome import TurnOutcome
    from .undo import Undo

# Until it is said without the places, and without the others.
READ_SECONDS = 1.0
MAX_OTHERS = 20
# Of all others together, compared line by line.
MAX_COMPARED_CHARS = 200_000
DIGEST_CHARS = 16


async def net_changes(turn: TurnOutcome, folder: str, undo: Undo) -> TurnChanges:
    """Return the changes of `turn`, which has just ended, in `folder`. Reads the files in a thread."""

    def work() -> TurnChanges:
        found = changes_of(turn.tool_calls, folder, _reader(folder))
        digests = _digests(folder, [file.path for file in found.files])
        files = tuple(replace(file, digest=digest) for file, digest in zip(found.files, digests, strict=True))
        others = undo.uncertain(turn.number)
        also = tuple(islice(_others(others, folder, undo.history.content_before), MAX_OTHERS))
        for file in (*found.files, *also):
            lexer_of(language_of(file.path))
        return replace(found, files=files, also=also, more=max(len(others) - MAX_OTHERS, 0))

    with anyio.move_on_after(READ_SECONDS):
        return await to_thread.run_sync(work, abandon_on_cancel=True)
    return changes_of(turn.tool_calls, folder)


async def unchanged(files: Mapping[str, str], folder: str) -> Sequence[str]:
    """Return the paths of `files` whose text still has the digest that is given. Reads the files in a thread."""
    with anyio.move_on_after(READ_SECONDS):
        now = await to_thread.run_sync(_digests, folder, files, abandon_on_cancel=True)
        return [path for path, digest in zip(files, now, strict=True) if digest and digest == files[path]]
    return ()


def _digests(folder: str, paths: Iterable[str]) -> list[str]:
    """Return a digest of each file; empty unless its text may be shown, since the digest of a short secret tells it."""
    texts = map(_reader(folder), paths)
    return ["" if text is None else sha256(text.encode()).hexdigest()[:DIGEST_CHARS] for text in texts]


def _reader(folder: str) -> Callable[[str], str | None]:
    left = MAX_DIFFS

    def text_of(path: str) -> str | None:
        """Return the text of a file, of so many files, if it may be shown."""
        nonlocal left
        left -= 1
        try:
            return read_for_display(folder, os.path.join(folder, path), MAX_LOCATED_BYTES) if left >= 0 else None
        except HostError:
            return None

    return text_of


def _others(
    files: Sequence[ChangedFile], folder: str, content_before: Callable[[ChangedFile], bytes | None]
) -> Iterator[FileChange]:
    left = MAX_COMPARED_CHARS
    for file in files:
        texts = _texts(file, folder, content_before)
        left -= len(texts[0]) + len(texts[1]) if texts else 0
        yield FileChange(file.path, what_of(file), (_change(*texts, is_short=left >= 0),) if texts else ())


def _change(before: str, after: str, *, is_short: bool) -> Change:
    whole = Excerpt(1, "", "") if before else None
    return compared(before, after, whole, MAX_SHOWN_LINES) if is_short else counted(before, after)


def _texts(
    file: ChangedFile, folder: str, content_before: Callable[[ChangedFile], bytes | None]
) -> tuple[str, str] | None:
    """Return a file's text before the turn and now; None if they may not be shown, or are not known."""
    if not {file.before.kind, file.after.kind} <= {"file", "absent"}:
        return None
    try:
        after = read_for_display(folder, os.path.join(folder, file.path), MAX_LOCATED_BYTES)
    except HostMissing:
        after = ""
    except HostError:
        return None
    before = b"" if what_of(file) == "new" else content_before(file)
    try:
        return None if before is None or b"\0" in before or "\0" in after else (before.decode("utf-8-sig"), after)
    except UnicodeDecodeError:
        return None
