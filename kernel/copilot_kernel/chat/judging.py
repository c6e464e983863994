"""What the policy says of a call, with all that it must know first: rules, mode, and where paths lead."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio
from anyio import to_thread

from ..acp.messages import Option
from ..config import Settings
from ..conversation.model import ToolCall
from ..permissions import policy
from ..permissions.policy import Decision, PolicyContext
from ..permissions.rulebook import Kind, Rulebook
from .places import LIMIT, THREADS, protected, resolve, resolved


class PolicyEvaluator:
    """`book` is what is in force; it may be replaced at any time. `settings` are what it begins with."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.book = settings, Rulebook.of(settings)
        self._protected: tuple[str, ...] | None = None

    def forget(self) -> None:
        """Only the settings are in force."""
        self.book = Rulebook.of(self.settings)

    def saved(self, kind: Kind, rule: str, file: str) -> None:
        """A rule that was put in force is one of the settings now, in this file."""
        self.book = self.book.adding(kind, rule, file)
        origin = self.settings.origins.get(kind, "default")
        origins = {**self.settings.origins, kind: file if origin in ("default", file) else f"{origin}, {file}"}
        more: dict[str, Any] = {kind: (*getattr(self.settings, kind), rule)}
        self.settings = replace(self.settings, **more, origins=origins)

    async def decide(
        self, call: ToolCall, options: Sequence[Option], earlier: ToolCall | None, by_rule: bool = True
    ) -> Decision:
        """Without `by_rule`, no rule allows it, and of the modes only the one that allows everything."""
        await self._look_at_our_own()
        before = self._context(by_rule)
        known = replace(before, real=await resolved(policy.paths(call, before)))
        return policy.decide(call, options, known, earlier)

    def context(self, call: ToolCall) -> PolicyContext:
        """For something that happens already: the disk is read now, however long that takes."""
        before = self._context()
        return replace(before, real=resolve(policy.paths(call, before)))

    def _context(self, by_rule: bool = True) -> PolicyContext:
        mode, rules, folder = self.book.mode, self.book.rules, self.settings.folder
        if not by_rule:
            mode, rules = mode if mode != "acceptEdits" else "default", replace(rules, allow=())
        home = os.path.expanduser("~")
        protected = self._protected or ()
        return PolicyContext(mode=mode, rules=rules, root=folder, cwd=folder, protected=protected, home=home)

    async def _look_at_our_own(self) -> None:
        """Once; a disk that hangs is asked again the next time."""
        if self._protected is None:
            with anyio.move_on_after(LIMIT):
                self._protected = await to_thread.run_sync(
                    protected, self.settings, abandon_on_cancel=True, limiter=THREADS
                )
