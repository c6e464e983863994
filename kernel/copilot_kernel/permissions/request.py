"""A call together with its circumstances: what it would read, change and run, and what rules for commands say."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from functools import cached_property

from ..conversation.model import ToolCall
from . import inputs
from .circumstances import Circumstances, Spot
from .commands import Verdict, judge
from .inputs import Input
from .naming import Named, named
from .parts import LONGEST
from .reach import Around

CHANGING = frozenset({"edit", "delete", "move"})


@dataclass(frozen=True)
class Request:
    """Everything is worked out once, when it is first needed."""

    call: ToolCall
    seen: Input
    circumstances: Circumstances

    @cached_property
    def folder(self) -> str:
        """Where commands start, absolute."""
        return self.circumstances.key(self.seen.folder) if self.seen.folder else self.circumstances.cwd

    @cached_property
    def place(self) -> Spot:
        """The folder in which commands start."""
        return self.circumstances.spot(self.seen.folder or self.circumstances.cwd)

    @cached_property
    def spots(self) -> tuple[Spot, ...]:
        """The paths that the call names."""
        return tuple(map(self.circumstances.spot, self.seen.paths))

    @property
    def has_ends(self) -> bool:
        """Of a move: it names two files at least."""
        return len({posixpath.normpath(spot.written) for spot in self.spots}) > 1

    @cached_property
    def inner(self) -> tuple[Spot, ...]:
        """The paths that it names at any depth, although it is not about files."""
        return tuple(map(self.circumstances.spot, self.seen.inner))

    @cached_property
    def vague(self) -> tuple[Spot, ...]:
        """What could be a path as well."""
        return tuple(map(self.circumstances.spot, self.seen.vague))

    @cached_property
    def written(self) -> tuple[Spot, ...]:
        """The files that its commands would write, as far as can be told."""
        return tuple(self.circumstances.spot(path, self.folder) for verdict in self.verdicts for path in verdict.writes)

    @cached_property
    def named(self) -> tuple[Named, ...]:
        """What its command lines name, read as widely as they can be meant."""
        lines = (*self.seen.commands, *self.seen.scripts)
        return tuple(named(line, self.folder, self.circumstances.home) for line in lines)

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """Names that the tool may have."""
        return inputs.claimed_tools(self.call)

    @property
    def changes(self) -> bool:
        """It changes files, or may: also where the kind does not say so."""
        return self.call.kind in CHANGING or self.call.kind not in ("read", "search", "think") or self.seen.diffs

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """For each command line."""
        rules = self.circumstances.rules
        allow, ask, deny = (
            tuple(rule.command for rule in some if rule.command) for some in (rules.allow, rules.ask, rules.deny)
        )
        trusted = self.circumstances.mode == "bypassPermissions" or any(
            rule.is_bare and rule.tool == "Bash" for rule in rules.allow
        )
        lines = (*self.seen.commands, *self.seen.scripts)
        return tuple(judge(line, allow, ask, deny, trust_all=trusted, around=self._around) for line in lines)

    @property
    def _around(self) -> Around:
        known = self.circumstances
        roots = tuple(dict.fromkeys(filter(None, (known.root, known.real_root))))
        return Around(self.folder, roots, known.home, known.remotes)

    def limited_by(self, outcome: str) -> str:
        """The rule for commands that denies (`deny`) or asks (`ask`), or nothing."""
        found = next((verdict for verdict in self.verdicts if verdict.outcome == outcome and verdict.rules), None)
        return f"Bash({found.rules[0]})" if found else ""


def paths(call: ToolCall, circumstances: Circumstances) -> tuple[str, ...]:
    """Every absolute path for which `Circumstances.real` must say where it leads, before `decide` is called."""
    request = Request(call, inputs.read(call), circumstances)
    own = (circumstances.root, circumstances.cwd, circumstances.home, *circumstances.protected, request.folder)
    named = (circumstances.key(path) for path in (*request.seen.paths, *request.seen.inner, *request.seen.vague))
    writes = (circumstances.key(path, request.folder) for verdict in request.verdicts for path in verdict.writes)
    found = (path for path in (*own, *named, *writes) if path.startswith("/") and "\0" not in path)
    return tuple(dict.fromkeys(path for path in found if len(path) <= 2 * LONGEST))
