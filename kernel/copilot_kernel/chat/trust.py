"""Trust before an agent starts: in what the project's files would make it run, and in what the environment widens.

What is not known is asked about: files and variables are two questions. The answers are files in the user's state
folder, which must not lie in the project.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from anyio import to_thread

from ..acp.messages import Diff, PermissionOption
from ..config import PREFIX, Settings
from ..conversation.model import ToolCall
from ..errors import UsageError
from ..kept_files import read_file, write_file
from ..permissions.question import OwnSubject, Question
from ..permissions.request import CHANGING
from ..places import came_with_project, state_folder
from ..programs import is_inside, real
from ..sandbox import unavailable
from .permission import Approvals
from .running_files import Item, running_files
from .state import CallStage, ConversationState
from .turn import View
from .variables import head_of, widening, withheld

Answer = Literal["trusted", "sandboxed", "refused"]

TRUST = PermissionOption("trust", "Trust these files", "allow_once")
USE = PermissionOption("trust", "Always", "allow_once")
NOT_NOW = PermissionOption("refuse", "Not now", "reject_once")
REFUSE = PermissionOption("refuse", "Don't start", "reject_once")
SANDBOX = PermissionOption("sandbox", "Start in the sandbox without them", "sandbox")
_ANSWERS: dict[PermissionOption, Answer] = {TRUST: "trusted", REFUSE: "refused", SANDBOX: "sandboxed"}
CHANGED = "Of a file that you have trusted before, only the changes are shown."
HEAD_FILES = "Files in this folder make the agent run programs. Trust them?"
WHY_FILES = "The agent runs these without asking, in every permission mode. They came with the project."
UNTRUSTED = "The agent was not started, because nobody has trusted {}"
HINT_AGAIN = "Run the cell again to answer differently."
HINT_REFUSED = "You refused them. To be asked again, run this in a cell:\n    %permissions revoke {}"
NO_SANDBOX = "There is no sandbox here, so the agent cannot be used in this folder without them."
HINT_FILES = (
    "A prompt in an open notebook shows what these files would run, and asks you. Where nobody can answer, add the "
    f"folder to the setting trusted_folders ({PREFIX}TRUSTED_FOLDERS)."
)
HINT_SETTINGS = "A prompt in an open notebook asks you. Or put these settings into your copilot_kernel.json."
NOT_SAVED = "Your answer counts for this conversation only. {}"
_VERSION = 2  # of an answer's file
ID_CHARS = 8


# -- what is remembered -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer: about what, in which folder. `content` is that of the file `path`, if it is trusted."""

    id: str
    name: str
    folder: str
    answer: Answer
    path: str = ""
    content: str | None = None


class TrustStore:
    """The user's answers, each in a file of its own, so that several kernels can write at once."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._given = settings, dict[str, Answer]()
        folder = state_folder(replace(settings, state=settings.own_state))
        # What lies in the project may be anybody's answer.
        self._folder = None if came_with_project(folder, settings) else folder / "trusted"

    def answer(self, key: str) -> Answer | None:
        """Return the user's answer; None if it is not known."""
        found = self._read(self._folder / f"{key}.json") if self._folder and key else None
        return found.answer if found else self._given.get(key)

    def remember(self, items: Sequence[Item], answer: Answer) -> str:
        """Keep the answer. One that cannot be written counts for this conversation; return why."""
        self._given |= dict.fromkeys((item.key for item in items if item.key), answer)
        if self._folder is None:
            return ""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for item in items:
                folder = self._settings.folder if item.path else ""
                if item.key:
                    content = item.content if answer == "trusted" else None
                    kept = Remembered(item.key, item.name, folder, answer, item.path, content)
                    write_file(self._folder / f"{item.key}.json", asdict(kept), _VERSION)
        except OSError as error:
            return NOT_SAVED.format(error)
        return ""

    def contents(self, path: str) -> list[str]:
        """What was trusted in this file, the newest first."""
        return [each.content for each in self.all() if each.path == path and each.content is not None]

    def given(self) -> tuple[str, ...]:
        """The files of the project whose variables the user gives to the agent. Reads the disk."""
        return tuple(item.path for item in withheld(self._settings) if self.answer(item.key) == "trusted")

    def all(self) -> list[Remembered]:
        """Every answer, the newest first."""
        with suppress(OSError):  # another kernel forgets one
            files = sorted(self._folder.glob("*.json"), key=os.path.getmtime, reverse=True) if self._folder else ()
            return list(filter(None, map(self._read, files)))
        return []

    def revoke(self, id: str) -> Remembered:
        """Forget one. Raises UsageError if there is none with this id."""
        self._given.clear()
        found = [each for each in self.all() if id and each.id.startswith(id)]
        if len(found) != 1 or self._folder is None:
            raise UsageError(f'Nothing trusted has the id "{id}".', "%permissions lists what is trusted.")
        next(self._folder.glob(f"{found[0].id}*.json")).unlink(missing_ok=True)
        return found[0]

    @staticmethod
    def _read(file: Path) -> Remembered | None:
        """None also for an answer of an older version, which counted in any folder."""
        with suppress(OSError, ValueError, RecursionError):
            match read_file(file, _VERSION):
                case {
                    "name": str(name), "folder": str(folder), "answer": "trusted" | "sandboxed" | "refused" as answer,
                    "path": str(path), "content": str() | None as content,
                }:  # fmt: skip
                    return Remembered(file.stem[:ID_CHARS], name, folder, answer, path, content)
        return None


def still_withheld(settings: Settings) -> list[Item]:
    """Return what `variables.withheld` does, without what the user gives to the agent. Reads the disk."""
    return withheld(replace(settings, given=TrustStore(settings).given()))


# -- the gate ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Found:
    """Findings: files that are unknown or refused (`is_refused`: all of them), unknown settings, and files that the
    agent must not see.
    """

    files: list[Item] = field(default_factory=list)
    is_refused: bool = True
    settings: list[Item] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)


class AllowedEdits(CallStage):
    """Trusts files that are as the user saw them in changes that they allowed."""

    delays_views = False

    def __init__(self, settings: Settings, approvals: Approvals, store: TrustStore) -> None:
        super().__init__()
        self._settings, self._approvals, self._store = settings, approvals, store

    def see(self, state: ConversationState, call: ToolCall, *, is_new: bool) -> None:
        """Have an edit looked at that was clicked, and is done."""
        if call.status == "completed" and call.kind in CHANGING and call.id in self._approvals.clicked:
            self.add(call)

    async def look(self, call: ToolCall) -> Callable[[ConversationState], None]:
        """Trust its files, if the disk answers soon."""
        clicked = self._approvals.clicked.get(call.id)
        if shown := [part for part in (clicked.content if clicked else ()) if isinstance(part, Diff)]:
            await self.soon(partial(self._trust, shown))
        return lambda state: None

    def _trust(self, shown: Sequence[Diff]) -> None:
        items = (item for item in running_files(self._settings) if item.content is not None)
        self._store.remember([item for item in items if self._is_as_shown(item, shown)], "trusted")

    def _is_as_shown(self, item: Item, shown: Sequence[Diff]) -> bool:
        """Return True if the changes make what was trusted, or nothing, what is in the file now."""
        file = real(Path(item.path))
        changes = [each for each in shown if real(Path(self._settings.folder, each.path)) == file]
        return bool(changes) and item.content in (
            _changed(each, changes) for each in ("", *self._store.contents(item.path))
        )


class TrustGate:
    """Asks before an agent starts, and before each session. `can_sandbox`: the agent may start in a sandbox."""

    def __init__(self, settings: Settings, state: ConversationState, store: TrustStore, *, can_sandbox: bool) -> None:
        self.settings, self._state, self.store, self._can_sandbox = settings, state, store, can_sandbox
        self.asker: Callable[[], View | None] = lambda: None
        """Returns the view that asks while no turn runs, if there is one."""

    async def check(self) -> tuple[str, ...]:
        """Files that must not exist for the agent, which then needs a sandbox. Raises UsageError."""
        await self._state.settle()  # an edit may have been allowed just now
        found = await to_thread.run_sync(self.look)
        view = self._view()
        if view is None or not view.attended:
            found.settings = found.settings if view is None else []  # in a batch run, they are the user's own
            if found.files or found.settings:
                raise _untrusted(found)
        elif any(not item.key for item in found.files):
            raise _untrusted(found)
        elif found.files and found.is_refused:
            raise await self._refused(found)
        else:
            await self._ask_files(found)
            await self._ask_settings(found)
        if found.absent and not self._can_sandbox:
            raise UsageError(UNTRUSTED.format(", ".join(found.absent)), HINT_FILES)
        return tuple(dict.fromkeys(found.absent))

    def _view(self) -> View | None:
        return self._state.running.view if self._state.running else self.asker()

    def is_settled(self) -> bool:
        """Return True if nothing needs a question, or a sandbox of its own. Reads the disk."""
        found = self.look()
        return not (found.files or found.settings or found.absent or self.store.given())

    def look(self) -> Found:
        """Read the disk."""
        found = Found(settings=[item for item in widening(self.settings) if not self.store.answer(item.key)])
        trusted = [real(Path(self.settings.environment.expanded(each))) for each in self.settings.trusted_folders]
        items = running_files(self.settings)
        for item in (each for each in items if not is_inside(Path(each.path or self.settings.folder), trusted)):
            match self.store.answer(item.key):
                case None | "refused" as answer:
                    found.files.append(item)
                    found.is_refused &= answer is not None
                case "sandboxed":
                    found.absent.append(item.place)
        return found

    async def _has_sandbox(self) -> bool:
        return self._can_sandbox and await to_thread.run_sync(unavailable, self.settings) is None

    async def _refused(self, found: Found) -> UsageError:
        hint = HINT_REFUSED.format(found.files[0].key[:ID_CHARS])
        return _untrusted(Found(found.files), hint if await self._has_sandbox() else f"{NO_SANDBOX}\n{hint}")

    async def _ask_files(self, found: Found) -> None:
        """Raises UsageError if the answer is no."""
        if found.files:
            has_sandbox = await self._has_sandbox()
            options = (TRUST, REFUSE, *([SANDBOX] if has_sandbox else ()))
            why = WHY_FILES if has_sandbox else f"{WHY_FILES} {NO_SANDBOX}"
            answer = _ANSWERS[await self._ask(Found(found.files), options, why, HEAD_FILES)]
            await self._remember(found.files, answer)
            if answer == "refused":
                raise await self._refused(found)
            found.absent += [item.place for item in found.files if answer == "sandboxed"]

    async def _ask_settings(self, found: Found) -> None:
        """Raises UsageError if the answer is no."""
        if found.settings:
            if await self._ask(Found(settings=found.settings), (USE, NOT_NOW), "", head_of(found.settings)) == NOT_NOW:
                raise _untrusted(Found(settings=found.settings), HINT_AGAIN)
            await self._remember(found.settings, "trusted")

    async def _remember(self, items: Sequence[Item], answer: Answer) -> None:
        if problem := await to_thread.run_sync(self.store.remember, items, answer):
            self._state.notify("warning", problem)

    async def _ask(self, asked: Found, options: tuple[PermissionOption, ...], why: str, head: str) -> PermissionOption:
        view = self._view()
        assert view is not None
        about = await to_thread.run_sync(self._subject, head, (*asked.files, *asked.settings))
        why = f"{why} {CHANGED}" if about.changes else why
        answer = (await view.ask(Question(about, options, why))).option
        if answer is None or answer not in options:
            raise _untrusted(asked, HINT_AGAIN)
        return answer

    def _subject(self, head: str, items: Sequence[Item]) -> OwnSubject:
        """What is asked about: of a file that was trusted before, what has changed. Reads the disk."""
        known = {item: self.store.contents(item.path)[:1] if item.content is not None else [] for item in items}
        return OwnSubject(
            head,
            commands=tuple(item.text for item in items if not known[item]),
            changes=tuple(Diff(item.path, was, item.content or "") for item in items for was in known[item]),
        )


def _changed(text: str, changes: Sequence[Diff]) -> str | None:
    """Return the text with the changes; None if one of them does not fit in exactly one place."""
    for each in changes:
        if text.count(before := each.old_text or "") != 1:
            return None
        text = text.replace(before, each.new_text)
    return text


def _untrusted(found: Found, hint: str = "") -> UsageError:
    names = (item.name if item.path else " ".join(item.lines) for item in (*found.files, *found.settings))
    hints = (*([HINT_FILES] if found.files else ()), *([HINT_SETTINGS] if found.settings else ()))
    return UsageError(UNTRUSTED.format(", ".join(names)), hint or "\n".join(hints))
