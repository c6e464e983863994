"""Trust before an agent starts: what the project's files would make it run, and what the environment lets it do.

Agents run hooks, plugins and MCP servers of the folder that they work in, in every permission mode. Each such file is
known by a digest of its place and content; what is not known is shown in one question. The answers are files in the
user's state folder, which must not lie in the project.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

from anyio import to_thread

from ..acp.messages import PermissionOption, ToolCallUpdate, Update
from ..config import AGENT, DEMO_COMMAND, ENVIRONMENT, PREFIX, Settings, folder_beside, state_folder
from ..conversation.model import ToolCall
from ..errors import UsageError
from ..permissions import inputs
from ..permissions.paths import instructing_rows, plain_name, running_rows
from ..permissions.question import Question
from ..permissions.request import CHANGING
from ..programs import is_inside, project_folders, real
from ..rendering.plain import visible_line
from ..system.files import READING
from .session_store import replace_file
from .state import ConversationState

TRUST = PermissionOption("trust", "Trust these files", "allow_once")
USE = PermissionOption("trust", "Use these settings", "allow_once")
REFUSE = PermissionOption("refuse", "Don't start", "reject_once")
HEAD_FILES = "Files in this folder make the agent run programs. Trust them?"
HEAD_SETTINGS = "Environment variables let the agent do more than your settings allow. Use them?"
WHY_FILES = "The agent runs these without asking, in every permission mode. They came with the project."
WHY_SETTINGS = "A .env file of the project may have set these variables."
UNTRUSTED = "The agent was not started, because nobody has trusted {}"
HINT_AGAIN = "Run the cell again to answer differently."
HINT_FILES = (
    "A prompt in an open notebook shows what these files would run, and asks you. Where nobody can answer, add the "
    f"folder to the setting trusted_folders ({PREFIX}TRUSTED_FOLDERS)."
)
HINT_SETTINGS = "A prompt in an open notebook asks you. Or put these settings into your copilot_kernel.json."
UNREADABLE = "(cannot be read, or is too long to be shown)"

MAX_BYTES, MAX_FILES = 50_000, 1_000
"""Limits of one file, and of the number of files; what is more can be trusted only by its folder."""
ID_CHARS = 8
_KEY, _ENTRY_ID = 1_000_000, -1_000_000
"""Ids of our question, which is none of the agent's."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something to be trusted: a file, if it has a `path`, or a setting.

    `content` is what is shown of it. `key` is what is remembered; empty if the content is not known.
    """

    name: str
    key: str
    content: str
    path: str = ""


# -- what there is ----------------------------------------------------------------------------------------------------


def running_files(settings: Settings) -> list[Item]:
    """Return files that make the agent run programs, from its folder up to the root of the work tree."""
    folders = _searched(settings)
    rows = running_rows(settings.agent or "copilot") if settings.agent != "demo" else ()
    places = sorted({path for folder in folders for path in _matching(folder, rows)})
    files = list(islice((file for place in places for file in _files(place)), MAX_FILES + 1))
    items = [_item(file, folders[0]) for file in files[:MAX_FILES]]
    return [*items, *([Item("…", "", f"More than {MAX_FILES} files.")] if len(files) > MAX_FILES else ())]


def setting_items(settings: Settings) -> list[Item]:
    """Return what the environment widens for the agent of these settings."""
    others = {AGENT} if settings.origins.get("agent") != ENVIRONMENT else set()
    others |= {DEMO_COMMAND} if settings.agent != "demo" else set()
    return [
        Item("the environment", _key("setting", each.variable, each.value), f"{each.variable}={each.value}")
        for each in settings.widened
        if each.variable not in others
    ]


def instructions(settings: Settings) -> tuple[str, ...]:
    """Names of files there that instruct agents, and run nothing."""
    folders = _searched(settings)
    found = (path for folder in folders for path in _matching(folder, instructing_rows()))
    return tuple(dict.fromkeys(os.path.relpath(path, folders[0]) for path in found))


def introduction(settings: Settings, mode: str) -> str:
    """One line about what is not the default; empty if all is. Reads the disk."""
    beside = folder_beside(settings)
    facts = (
        ("agent", settings.agent),
        ("folder", f"{settings.folder} ({beside})" if beside else ""),
        ("permission mode", "" if mode == "default" else mode),
        ("sandbox", "" if settings.sandbox == "off" else settings.sandbox),
        ("instructions", ", ".join(instructions(settings))),
    )
    return visible_line(" · ".join(f"{name}: {value}" for name, value in facts if value))


def _searched(settings: Settings) -> list[Path]:
    """The agent's folder first. Without a work tree, agents look in all folders above, as far as below home."""
    folders, home = project_folders(settings.folder), real(Path.home())
    if not folders:
        return []
    above = (each for each in folders[0].parents if not home.is_relative_to(each))
    is_in_tree = (folders[-1] / ".git").exists()
    return [folders[0], *(each for each in above if not is_in_tree or each.is_relative_to(folders[-1]))]


def _matching(folder: Path, rows: Sequence[tuple[str, ...]]) -> Iterator[Path]:
    """Names in whatever case: file systems differ. A folder is listed once, since it may be large."""
    first = {row[0] for row in rows}
    with suppress(OSError):
        for name in filter(lambda name: plain_name(name) in first, os.listdir(folder) if rows else ()):
            rests = [row[1:] for row in rows if row[0] == plain_name(name)]
            if () in rests:
                yield folder / name
            yield from _matching(folder / name, [rest for rest in rests if rest])


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
    for folder, folders, names in os.walk(path, followlinks=True):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _item(file: Path, folder: Path) -> Item:
    name = os.path.relpath(file, folder)
    try:
        content = _content(file)
    except OSError:
        return Item(name, "", UNREADABLE, str(file))
    return Item(name, _key("file", str(file), content), content.decode("utf-8", "replace").rstrip("\n"), str(file))


def _content(file: Path) -> bytes:
    """Raises OSError if it is no regular file, or too large."""
    with open(os.open(file, READING), "rb") as stream:
        content = stream.read(MAX_BYTES + 1) if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else None
    if content is None or len(content) > MAX_BYTES:
        raise OSError("no regular file, or too large")
    return content


def _key(*parts: str | bytes) -> str:
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


# -- what is remembered -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remembered:
    """Something that the user trusts, in which folder."""

    id: str
    name: str
    folder: str


class TrustStore:
    """What the user trusts, each in a file of its own, so that several kernels can write at once."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._given = settings, set[str]()
        folder = state_folder(Settings(state=settings.own_state))
        # What lies in the project may be anybody's answer.
        self._folder = None if is_inside(folder, project_folders(settings.folder)) else folder / "trusted"

    def has(self, item: Item) -> bool:
        """Return True if the user trusts `item`, with just this content."""
        is_kept = bool(self._folder and item.key and self._read(self._folder / f"{item.key}.json"))
        return is_kept or item.key in self._given

    def remember(self, items: Sequence[Item]) -> None:
        """Trust `items`. What cannot be written counts for this conversation."""
        self._given |= {item.key for item in items if item.key}
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for item in items:
                values = {"name": item.name, "folder": self._settings.folder, "answer": "trusted"}
                if item.key:
                    replace_file(self._folder / f"{item.key}.json", json.dumps(values), 0o600)

    def all(self) -> list[Remembered]:
        """All that is kept, by name."""
        files = sorted(self._folder.glob("*.json")) if self._folder else ()
        return sorted(filter(None, map(self._read, files)), key=lambda each: (each.folder, each.name))

    def revoke(self, id: str) -> Remembered:
        """Forget one. Raises UsageError if there is none with this id."""
        found = [each for each in self.all() if id and each.id.startswith(id)]
        if len(found) != 1 or self._folder is None:
            raise UsageError(f'Nothing trusted has the id "{id}".', "%permissions lists what is trusted.")
        next(self._folder.glob(f"{found[0].id}*.json")).unlink(missing_ok=True)
        self._given.clear()
        return found[0]

    @staticmethod
    def _read(file: Path) -> Remembered | None:
        with suppress(OSError, ValueError, RecursionError):
            match json.loads(file.read_text("utf-8")):
                case {"name": str(name), "folder": str(folder), "answer": "trusted"}:
                    return Remembered(file.stem[:ID_CHARS], name, folder)
        return None


# -- the gate ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Found:
    """Items that the user does not trust yet."""

    files: list[Item]
    settings: list[Item]


class TrustGate:
    """Asks before an agent starts, and before each session.

    `was_clicked`: whether the user allowed the call of this entry.
    """

    def __init__(self, settings: Settings, state: ConversationState, was_clicked: Callable[[int], bool]) -> None:
        self.settings, self._state, self._was_clicked = settings, state, was_clicked
        self.store = TrustStore(settings)
        state.observers.append(self._note_edit)

    async def check(self) -> None:
        """Raise UsageError unless the user trusts all that there is."""
        found = await to_thread.run_sync(self.look)
        running = self._state.running
        if running is None or not running.view.attended:
            found.settings = found.settings if running is None else []  # in a batch run, they are the user's own
            if found.files or found.settings:
                raise _untrusted(found)
        elif any(not item.key for item in found.files):
            raise _untrusted(found)
        elif found.files or found.settings:
            await self._ask(found)

    def is_settled(self) -> bool:
        """Return True if nothing needs a question. Reads the disk."""
        found = self.look()
        return not (found.files or found.settings)

    def look(self) -> Found:
        """Read the disk."""
        trusted = [real(Path(each).expanduser()) for each in self.settings.trusted_folders]
        files = (item for item in running_files(self.settings) if not self.store.has(item))
        unknown = [item for item in files if not is_inside(Path(item.path or self.settings.folder), trusted)]
        return Found(unknown, [item for item in setting_items(self.settings) if not self.store.has(item)])

    def _note_edit(self, update: Update | None) -> None:
        """Trust what the user has let the agent write, as it is then. Reads the disk."""
        call = self._state.conversation.call(update.id) if isinstance(update, ToolCallUpdate) else None
        if call and call.status == "completed" and call.kind in CHANGING and self._was_clicked(call.id):
            changed = {real(Path(self.settings.folder, path)) for path in inputs.read(call).paths}
            items = [item for item in running_files(self.settings) if real(Path(item.path)) in changed]
            self.store.remember(items)

    async def _ask(self, found: Found) -> None:
        """Raises UsageError if the answer is no."""
        running = self._state.running
        assert running is not None
        if (await running.view.ask(_question(found))).option not in (TRUST, USE):
            raise _untrusted(found, HINT_AGAIN)
        await to_thread.run_sync(self.store.remember, [*found.files, *found.settings])


def _question(found: Found) -> Question:
    items = (*found.files, *found.settings)
    call = ToolCall(
        id=_ENTRY_ID, turn=0, call_id="", title=", ".join(dict.fromkeys(item.name for item in items)), kind="execute",
        raw_input={"commands": [f"# {item.name}\n{item.content}" for item in items]},
    )  # fmt: skip
    why = " ".join((*([WHY_FILES] if found.files else ()), *([WHY_SETTINGS] if found.settings else ())))
    options, head = ((TRUST, REFUSE), HEAD_FILES) if found.files else ((USE, REFUSE), HEAD_SETTINGS)
    return Question(_KEY, call, options, why, head=head)


def _untrusted(found: Found, hint: str = "") -> UsageError:
    names = (item.name if item.path else item.content for item in (*found.files, *found.settings))
    hints = (*([HINT_FILES] if found.files else ()), *([HINT_SETTINGS] if found.settings else ()))
    return UsageError(UNTRUSTED.format(", ".join(names)), hint or "\n".join(hints))
