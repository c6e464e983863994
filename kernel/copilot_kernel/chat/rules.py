"""The rules and the mode in force: what they say of a call, and how a rule is added."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio import to_thread

from ..acp.locate import deny_patterns, located
from ..acp.messages import PermissionOption
from ..config import PLAN, SANDBOXED, SETTINGS, UNREAD, Settings
from ..config_writer import add_to_list
from ..conversation import inputs
from ..conversation.model import ToolCall
from ..errors import CopilotError, UsageError
from ..kept_files import read_file
from ..notebook.live import LiveNotebook
from ..permissions import policy
from ..permissions.grants import ACCEPT_EDITS, ACCEPTING
from ..permissions.policy import Decision, PolicyContext
from ..permissions.request import PolicyRequest
from ..permissions.rulebook import HERE, KINDS, RESTRICTING, Kind, Rulebook
from ..places import config_files, state_folder, user_file
from ..programs import own_paths
from ..system.drives import disk_path, policy_path

# Seconds until a path counts as unknown: a disk that hangs must not hold up the question.
PATH_SECONDS = 2.0
PATH_THREADS = anyio.CapacityLimiter(8)

OWN_CODE = "belongs to what runs this kernel"
OPEN_NOTEBOOK = (
    "is a notebook that you have open; the page will not show the change, and saving it may overwrite the change. "
    "The agent can use the notebook's tools instead"
)

T = TypeVar("T")

VERBS: dict[Kind, str] = {"allow": "Allowed", "ask": "Asked about", "deny": "Denied"}
OUTRANKED = " New kernels do not use it: COPILOT_KERNEL_{} in their environment takes precedence."


class PolicyEvaluator:
    """Decides by the mode and the rules of `book`, which may be replaced at any time and begins as in `settings`.

    `is_sandboxed`: whether the agent's process runs in a sandbox; without one, the mode `sandboxed` allows nothing.
    `notebook` knows which notebooks are open.
    """

    def __init__(
        self,
        settings: Settings,
        is_sandboxed: Callable[[], bool] = lambda: False,
        notebook: LiveNotebook | None = None,
    ) -> None:
        self.settings, self.book, self._is_sandboxed = settings, Rulebook.of(settings), is_sandboxed
        self._notebook = notebook
        # What is protected, and what is guarded; None as long as it is unknown.
        self._own: tuple[tuple[str, ...], dict[str, str]] | None = None
        self._user_file = user_file(settings.environment)
        # The user's file as it was read last, and the restricting rules that were known then.
        self._followed: tuple[object, dict[Kind, frozenset[str]]]
        self._followed = None, {kind: frozenset(getattr(settings, kind)) for kind in RESTRICTING}

    def denied_tools(self) -> tuple[str, ...]:
        """The deny rules as patterns for an agent that can enforce them itself."""
        return deny_patterns(self.book.texts("deny"), self.settings.folder, str(self.settings.environment.home))

    async def decide(
        self,
        call: ToolCall,
        options: Sequence[PermissionOption],
        earlier: ToolCall | None,
        *,
        by_rule: bool = True,
        inside: bool = False,
    ) -> Decision:
        """Decide about `call`, with the paths that it names resolved; `earlier` is the call as it was shown before.

        Without `by_rule`, no rule may allow it, and only the mode that allows everything. `inside`: it is done in the
        sandbox, if there is one.
        """
        if self._own is None:  # a disk that hangs is asked again the next time
            with anyio.move_on_after(PATH_SECONDS):
                self._own = await _in_thread(partial(_own, self.settings))
        await self._follow_file()
        context = self._context(by_rule=by_rule, inside=inside)
        if self._notebook and not inputs.is_of_notebook(call):
            opened = await resolve_in_time(await self._notebook.open_notebooks())
            context = replace(context, guarded={**context.guarded, **dict.fromkeys(opened.values(), OPEN_NOTEBOOK)})
        real = await resolve_in_time(policy.paths(call, context))
        return policy.decide(call, options, replace(context, real=real), earlier)

    async def _follow_file(self) -> None:
        """Restrict as the user's file does by now. What it allows besides counts in later conversations.

        A file that cannot be read changes nothing.
        """
        with anyio.move_on_after(PATH_SECONDS), suppress(OSError, ValueError, RecursionError):
            before, known = self._followed
            stamp, lists = await _in_thread(partial(_rules_of, self._user_file, before))
            if lists is not None:
                new = {kind: [each for each in lists[kind] if each not in rules] for kind, rules in known.items()}
                known = {kind: rules.union(lists[kind]) for kind, rules in known.items()}
                self.book = self.book.restricted(str(self._user_file), new, lists["allow"])
            self._followed = stamp, known

    def request(self, call: ToolCall) -> tuple[PolicyRequest, Sequence[str]]:
        """An action of the agent's own that happens already, and the paths that are still to be resolved for it."""
        context = self._context(inside=True)
        return PolicyRequest(call, context), policy.paths(call, context)

    def _context(self, *, by_rule: bool = True, inside: bool = False) -> PolicyContext:
        mode, rules, folder = self.book.mode, self.book.rules, policy_path(self.settings.folder)
        if mode == SANDBOXED and not (inside and self._is_sandboxed()):
            mode = ACCEPT_EDITS if self._is_sandboxed() else "default"
        if self.settings.unread:
            mode, rules = PLAN if mode == PLAN else "default", replace(rules, allow=())
        if not by_rule:
            mode, rules = mode if mode not in ACCEPTING else "default", replace(rules, allow=())
        home, (protected, guarded) = policy_path(str(self.settings.environment.home)), self._own or ((), {})
        return PolicyContext(
            mode=mode, rules=rules, root=folder, cwd=folder, protected=protected, guarded=guarded, home=home
        )

    async def add_rule(self, kind: Kind, rule: str, *, to_settings: bool = False) -> str:
        """Put a rule in force, and with `to_settings` save it for new kernels; return what was done, for the user.

        Raises UsageError if it is not a rule, or allows while settings cannot be read. One that cannot be saved is in
        force all the same.
        """
        if kind == "allow" and self.settings.unread:
            raise UsageError(UNREAD.format(f"The rule {rule} was not added"))
        self.book = self.book.adding(kind, rule)
        if not to_settings:
            return f"{VERBS[kind]} in {HERE}: {rule}"
        try:
            work = partial(add_to_list, kind, rule, self._user_file)
            file = str(await to_thread.run_sync(work, abandon_on_cancel=True))
        except UsageError as error:
            return f"{VERBS[kind]} in {HERE} only: {rule}. {error} {error.hint}"
        self.book = self.book.adding(kind, rule, file)
        origin = self.settings.origins.get(kind, "default")
        origins = {**self.settings.origins, kind: file if origin in ("default", file) else f"{origin}, {file}"}
        more: dict[str, Any] = {kind: (*getattr(self.settings, kind), rule)}
        self.settings = replace(self.settings, **more, origins=origins)
        # What is denied or asked about adds up; what is allowed does not.
        is_outranked = kind == "allow" and origin.startswith("environment")
        outranked = OUTRANKED.format(kind.upper()) if is_outranked else ""
        return f"{VERBS[kind]} from now on: {rule} (saved in {file}).{outranked}"


# -- where paths lead, and which are our own --------------------------------------------------------------------------


async def resolve_in_time(paths: Iterable[str]) -> Mapping[str, str]:
    """Like `resolve`, in a thread; an empty mapping if that takes longer than PATH_SECONDS."""
    with anyio.move_on_after(PATH_SECONDS):
        return await _in_thread(partial(resolve, tuple(paths)))
    return {}


async def _in_thread(work: Callable[[], T]) -> T:
    return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=PATH_THREADS)


def resolve(paths: Iterable[str]) -> Mapping[str, str]:
    """Return where each path leads, links followed, also those above one that does not exist; unreadable ones are left
    out.
    """
    found = {}
    for path in paths:
        with suppress(OSError, ValueError):
            found[path] = policy_path(os.path.realpath(disk_path(path)))
    return found


def _rules_of(file: Path, before: object) -> tuple[object, Mapping[Kind, tuple[str, ...]] | None]:
    """Return what identifies the state of `file`, and its lists of rules; None if it is as it was `before`.

    Raises OSError, ValueError and RecursionError.
    """
    try:
        status = file.stat()
    except FileNotFoundError:
        return before, None
    stamp = status.st_mtime_ns, status.st_size, status.st_ino
    if stamp == before:
        return stamp, None
    values = read_file(file)
    return stamp, {kind: SETTINGS[kind].parse(values.get(kind, [])) for kind in KINDS}


def protected(settings: Settings) -> tuple[str, ...]:
    """Files and folders that say what agents may do. Reads the disk."""
    return tuple(dict.fromkeys(map(str, (*config_files(settings.environment), state_folder(settings)))))


def _own(settings: Settings) -> tuple[tuple[str, ...], dict[str, str]]:
    argv: tuple[str, ...] = ()
    with suppress(CopilotError):
        argv = located(settings).argv
    code = (policy_path(str(path)) for path in own_paths(settings.folder, settings.environment, argv))
    return tuple(map(policy_path, protected(settings))), dict.fromkeys(code, OWN_CODE)
