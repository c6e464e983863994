"""Trust before an agent starts: what the project's files would make it run, and what the environment lets it do.

Agents run hooks, plugins and MCP servers of the folder that they work in, in every permission mode. Each such file is
known by a digest of its place and content; what is not known is shown in one question. The answers are files in the
user's state folder, which must not lie in the project.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Literal

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
from ..sandbox import unavailable
from ..system.files import READING
from .session_store import replace_file
from .state import ConversationState

Answer = Literal["trusted", "sandboxed"]

TRUST = PermissionOption("trust", "Trust these files", "allow_once")
USE = PermissionOption("trust", "Use these settings", "allow_once")
REFUSE = PermissionOption("refuse", "Don't start", "reject_once")
SANDBOX = PermissionOption("sandbox", "Start in the sandbox without them", "sandbox")
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
UNREADABLE = "(cannot be read)"
WHOLE = "# The whole file:"

MAX_BYTES, MAX_FILES = 4_000_000, 1_000
"""Limits of one file, and of the number of files; what is more can be trusted only by its folder."""
MAX_SHOWN = 20_000
"""Characters of a file that a question shows."""
ID_CHARS = 8
_COMMAND_NAMES = ("command", "bash", "powershell", "cmd", "script", "run", "url", "httpUrl")
_KEY, _ENTRY_ID = 1_000_000, -1_000_000
"""Ids of our question, which is none of the agent's."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something to be trusted. `key` is what is remembered; empty if the content is not known.

    `path` of a file; `place` is the file or folder that the agent looks for.
    """

    name: str
    key: str
    lines: tuple[str, ...]
    path: str = ""
    place: str = ""

    @property
    def text(self) -> str:
        """Programs that run, below the name of the file that says so."""
        return "\n".join((f"# {self.name}", *self.lines))


# -- what there is ----------------------------------------------------------------------------------------------------


def running_files(settings: Settings) -> list[Item]:
    """Return files that make the agent run programs, from its folder up to the root of the work tree."""
    folders = _searched(settings)
    rows = running_rows(settings.agent or "copilot") if settings.agent != "demo" else ()
    places = sorted({path for folder in folders for path in _matching(folder, rows)})
    files = list(islice(((file, place) for place in places for file in _files(place)), MAX_FILES + 1))
    items = [_item(file, place, folders) for file, place in files[:MAX_FILES]]
    return [*items, *([Item("…", "", (f"More than {MAX_FILES} files.",))] if len(files) > MAX_FILES else ())]


def setting_items(settings: Settings) -> list[Item]:
    """Return what the environment widens for the agent of these settings."""
    others = {AGENT} if settings.origins.get("agent") != ENVIRONMENT else set()
    others |= {DEMO_COMMAND} if settings.agent != "demo" else set()
    return [
        Item("the environment", _key("setting", each.variable, each.value), (f"{each.variable}={each.value}",))
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


def _item(file: Path, place: Path, folders: Sequence[Path]) -> Item:
    name = os.path.relpath(file, folders[0])
    try:
        content = _content(file)
    except OSError:
        return Item(name, "", (UNREADABLE,), str(file), str(place))
    return Item(name, _key("file", str(file), content), tuple(_shown(content)), str(file), str(place))


def _shown(content: bytes) -> Iterator[str]:
    """The commands first, then the whole file: it may run something under a name that we do not know."""
    text = content.decode("utf-8", "replace")
    if commands := list(_commands(_parsed(text))):
        yield from (*commands, WHOLE)
    yield text[:MAX_SHOWN].rstrip("\n")
    if len(text) > MAX_SHOWN:
        yield f"… and {len(text) - MAX_SHOWN:,} more characters"


def _content(file: Path) -> bytes:
    """Raises OSError if it is no regular file, or too large."""
    with open(os.open(file, READING), "rb") as stream:
        content = stream.read(MAX_BYTES + 1) if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else None
    if content is None or len(content) > MAX_BYTES:
        raise OSError("no regular file, or too large")
    return content


def _parsed(text: str) -> Any:
    for parse in (json.loads, tomllib.loads):
        with suppress(ValueError, RecursionError):
            return parse(text)
    return None


def _commands(value: Any) -> Iterator[str]:
    """Return what known members run, with their arguments."""
    if isinstance(value, dict):
        for name in _COMMAND_NAMES:
            if isinstance(named := value.get(name), str):
                arguments = value.get("args")
                more = map(str, arguments) if isinstance(arguments, list) else ()
                yield " ".join((named, *map(shlex.quote, more)))
            elif isinstance(named, list) and all(isinstance(word, str) for word in named):
                yield shlex.join(named)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _commands(each)


def _key(*parts: str | bytes) -> str:
    digest = sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


# -- what is remembered -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer: about what, in which folder."""

    id: str
    name: str
    folder: str
    answer: Answer


class TrustStore:
    """The user's answers, each in a file of its own, so that several kernels can write at once."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._given = settings, dict[str, Answer]()
        folder = state_folder(Settings(state=settings.own_state))
        # What lies in the project may be anybody's answer.
        self._folder = None if is_inside(folder, project_folders(settings.folder)) else folder / "trusted"

    def answer(self, key: str) -> Answer | None:
        """Return the user's answer; None if it is not known."""
        found = self._read(self._folder / f"{key}.json") if self._folder and key else None
        return found.answer if found else self._given.get(key)

    def remember(self, items: Sequence[Item], answer: Answer) -> None:
        """Keep the answer. One that cannot be written counts for this conversation."""
        self._given |= dict.fromkeys((item.key for item in items if item.key), answer)
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for item in items:
                values = {"name": item.name, "folder": self._settings.folder, "answer": answer}
                if item.key:
                    replace_file(self._folder / f"{item.key}.json", json.dumps(values), 0o600)

    def all(self) -> list[Remembered]:
        """Every answer, by name."""
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
                case {"name": str(name), "folder": str(folder), "answer": "trusted" | "sandboxed" as answer}:
                    return Remembered(file.stem[:ID_CHARS], name, folder, answer)
        return None


# -- the gate ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Found:
    """Findings: unknown items, and files that the agent must not see."""

    files: list[Item] = field(default_factory=list)
    settings: list[Item] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)


class TrustGate:
    """Asks before an agent starts, and before each session.

    `was_clicked`: whether the user allowed the call of this entry. `can_sandbox`: the agent may start in a sandbox.
    """

    def __init__(
        self, settings: Settings, state: ConversationState, was_clicked: Callable[[int], bool], *, can_sandbox: bool
    ) -> None:
        self.settings, self._state, self._was_clicked, self._can_sandbox = settings, state, was_clicked, can_sandbox
        self.store = TrustStore(settings)
        state.observers.append(self._note_edit)

    async def check(self) -> tuple[str, ...]:
        """Files that must not exist for the agent, which then needs a sandbox. Raises UsageError."""
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
        if found.absent and not self._can_sandbox:
            raise UsageError(UNTRUSTED.format(", ".join(found.absent)), HINT_FILES)
        return tuple(dict.fromkeys(found.absent))

    def is_settled(self) -> bool:
        """Return True if nothing needs a question, or a sandbox of its own. Reads the disk."""
        found = self.look()
        return not (found.files or found.settings or found.absent)

    def look(self) -> Found:
        """Read the disk."""
        found = Found(settings=[item for item in setting_items(self.settings) if not self.store.answer(item.key)])
        trusted = [real(Path(each).expanduser()) for each in self.settings.trusted_folders]
        items = running_files(self.settings)
        for item in (each for each in items if not is_inside(Path(each.path or self.settings.folder), trusted)):
            match self.store.answer(item.key):
                case None:
                    found.files.append(item)
                case "sandboxed":
                    found.absent.append(item.place)
        return found

    def _note_edit(self, update: Update | None) -> None:
        """Trust what the user has let the agent write, as it is then. Reads the disk."""
        call = self._state.conversation.call(update.id) if isinstance(update, ToolCallUpdate) else None
        if call and call.status == "completed" and call.kind in CHANGING and self._was_clicked(call.id):
            changed = {real(Path(self.settings.folder, path)) for path in inputs.read(call).paths}
            items = [item for item in running_files(self.settings) if real(Path(item.path)) in changed]
            self.store.remember(items, "trusted")

    async def _ask(self, found: Found) -> None:
        """Raises UsageError if the answer is no."""
        running = self._state.running
        assert running is not None
        with_sandbox = self._can_sandbox and bool(found.files)
        why_not = await to_thread.run_sync(unavailable, self.settings) if with_sandbox else None
        answer = (await running.view.ask(_question(found, with_sandbox=with_sandbox and why_not is None))).option
        if answer not in (TRUST, USE, SANDBOX):
            raise _untrusted(found, HINT_AGAIN)
        remember = self.store.remember
        await to_thread.run_sync(remember, found.settings, "trusted")
        await to_thread.run_sync(remember, found.files, "sandboxed" if answer == SANDBOX else "trusted")
        if answer == SANDBOX:
            found.absent += [item.place for item in found.files]


def _question(found: Found, *, with_sandbox: bool) -> Question:
    items = (*found.files, *found.settings)
    call = ToolCall(
        id=_ENTRY_ID, turn=0, call_id="", title=", ".join(dict.fromkeys(item.name for item in items)), kind="execute",
        raw_input={"commands": [item.text for item in items]},
    )  # fmt: skip
    options = (TRUST if found.files else USE, REFUSE, *([SANDBOX] if with_sandbox else ()))
    why = " ".join((*([WHY_FILES] if found.files else ()), *([WHY_SETTINGS] if found.settings else ())))
    return Question(_KEY, call, options, why, head=HEAD_FILES if found.files else HEAD_SETTINGS)


def _untrusted(found: Found, hint: str = "") -> UsageError:
    names = (item.name if item.path else " ".join(item.lines) for item in (*found.files, *found.settings))
    hints = (*([HINT_FILES] if found.files else ()), *([HINT_SETTINGS] if found.settings else ()))
    return UsageError(UNTRUSTED.format(", ".join(names)), hint or "\n".join(hints))
