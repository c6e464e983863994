"""Rules as users write them, and the rules and the mode that are in force.

`Bash(git *)`, `Edit(src/**)`, `WebFetch(domain:example.com)`, `mcp__server__tool`: the name stands for kinds of tool
calls, Read for read, Grep for search, Edit for edit, delete and move, Bash for execute, WebFetch for fetch. A rule that
cannot be parsed matches nothing and is reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from ..config import PERMISSION_MODES, Settings
from ..errors import UsageError
from .command_rules import CommandPattern, compile_command
from .patterns import Domain, Glob, compile_domain, compile_glob
from .programs import breadth_warning

# The kinds of tool calls that the name of a rule stands for.
NOT_A_RULE = "{!r} is not a rule and matches nothing."
EVERY_COMMAND = "This rule allows every command."
KINDS_OF = {
    "Read": ("read",),
    "Grep": ("search",),
    "Edit": ("edit", "delete", "move"),
    "Bash": ("execute",),
    "WebFetch": ("fetch",),
}
NAME_OF = {kind: name for name, kinds in KINDS_OF.items() for kind in kinds}

# The notebook's tools that run whatever code the agent passes, or finds in a cell.
RUNNING_TOOLS = ("mcp__notebook__run_cell", "mcp__notebook__run_cells", "mcp__notebook__run_python")

Kind = Literal["allow", "ask", "deny"]
RESTRICTING: tuple[Kind, ...] = ("ask", "deny")
KINDS: tuple[Kind, ...] = ("allow", *RESTRICTING)
# The origin of what holds until the conversation ends.
HERE = "this conversation"

_RULE = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
_MCP = re.compile(r"mcp__([A-Za-z0-9_.-]+?)(?:__([A-Za-z0-9_.*-]+))?")


@dataclass(frozen=True, slots=True)
class Rule:
    """`tool` is a name of `KINDS_OF`, or `mcp`. At most one of the others is set; without any it is the bare name."""

    text: str
    tool: str
    command: CommandPattern | None = None
    path: Glob | None = None
    domain: Domain | None = None
    server: str = ""
    # None: every tool of the server.
    server_tool: str | None = None

    def covers_tool(self, name: str) -> bool:
        """True if `name` (`mcp__server__tool`) is the tool of this rule, or one of its server's."""
        if self.tool != "mcp":
            return False
        start = f"mcp__{self.server}__"
        return name == start + self.server_tool if self.server_tool else name.startswith(start)

    @property
    def warning(self) -> str | None:
        """Warning if an allow rule is broader or narrower than it looks."""
        if self.command:
            return breadth_warning(self.command.words, is_open=self.command.is_open)
        files = "every file" if self.path and self.path.base == "system" else "all of your files"
        warnings = (
            (self.text == "Bash", EVERY_COMMAND),
            (
                self.text == "WebFetch",
                "This rule allows every address, also those of this computer and its network.",
            ),
            (self.path and self.path.is_everything, f"This rule allows {files}."),
            (self.domain and self.domain.is_everything, "This rule allows every host under it."),
            (any(map(self.covers_tool, RUNNING_TOOLS)), "This rule allows any code to run in the notebook's kernel."),
        )
        return next((warning for is_meant, warning in warnings if is_meant), None)


def parse(text: str) -> Rule:
    """Raises ValueError, with a message for the user, if `text` is not a rule."""
    if mcp := _MCP.fullmatch(text):
        name = mcp[2]
        if name and "*" in name and name != "*":
            raise ValueError(f"{text}: In the name of a tool, * must stand alone.")
        return Rule(text, "mcp", server=mcp[1], server_tool=None if name == "*" else name)
    found = _RULE.fullmatch(text)
    if found is None or found[1] not in KINDS_OF:
        raise ValueError(_unknown(text, found))
    if found[2] is None:
        return Rule(text, found[1])
    try:
        return _with_pattern(text, found[1], found[2])
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from error


def _with_pattern(text: str, tool: str, inner: str) -> Rule:
    if not inner.strip():
        raise ValueError(f"The parentheses are empty; write {tool} to allow everything of that kind.")
    if tool == "Bash":
        return Rule(text, tool, command=compile_command(inner))
    if tool != "WebFetch":
        return Rule(text, tool, path=compile_glob(inner))
    if not inner.startswith("domain:"):
        raise ValueError("Write WebFetch(domain:example.com).")
    return Rule(text, tool, domain=compile_domain(inner.removeprefix("domain:")))


def _unknown(text: str, found: re.Match[str] | None) -> str:
    if not text.strip():
        return "A rule is empty and matches nothing."
    meant = next((f" Write {name}." for name in KINDS_OF if found and found[1].lower() == name.lower()), "")
    return f"{NOT_A_RULE.format(text)}{meant} Rules begin with {', '.join(KINDS_OF)} or mcp__."


@dataclass(frozen=True, slots=True)
class Rules:
    """Deny goes before ask, ask before allow. Of `allow` and each of `allow_limits`, some rule must cover a call."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    allow_limits: tuple[tuple[Rule, ...], ...] = ()

    @classmethod
    def read(
        cls,
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
        allow_limits: Iterable[tuple[str, ...]] = (),
    ) -> tuple[Rules, tuple[str, ...], tuple[str, ...]]:
        """The rules, the problems of those that cannot be parsed, and the warnings about those that allow."""
        problems: list[str] = []
        rules = cls(
            tuple(_parsed("allow", allow, problems)),
            tuple(_parsed("ask", ask, problems)),
            tuple(_parsed("deny", deny, problems)),
            tuple(tuple(_parsed("allow", texts, problems)) for texts in allow_limits),
        )
        warnings = tuple(f"allow: {rule.text}: {rule.warning}" for rule in rules.allow if rule.warning)
        return rules, tuple(problems), warnings


def _parsed(kind: Kind, texts: Iterable[str], problems: list[str]) -> list[Rule]:
    rules = []
    for text in texts:
        try:
            rules.append(parse(text))
        except ValueError as error:
            problems.append(f"{kind}: {error}")
    return rules


@dataclass(frozen=True, slots=True)
class StatedRule:
    """A rule as it is written, in which list, and where."""

    kind: Kind
    text: str
    origin: str = HERE


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Rules in force. `mode` is one of `config.PERMISSION_MODES`, `mode_origin` says who set it.

    What the rules in `stated` allow, each list in `allow_limits` must cover, too; these are known by their origin.
    """

    mode: str = "default"
    mode_origin: str = "default"
    stated: tuple[StatedRule, ...] = ()
    allow_limits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> Rulebook:
        """Return the rulebook of the settings."""
        origins = settings.origins
        stated = (StatedRule(kind, text, origins.get(kind, "")) for kind in KINDS for text in getattr(settings, kind))
        mode_origin = origins.get("permission_mode", "default")
        return cls(settings.permission_mode, mode_origin, tuple(stated), settings.allow_limits)

    @property
    def listed(self) -> tuple[StatedRule, ...]:
        """All rules, also those of the limits."""
        limits = (StatedRule("allow", text, origin) for origin, texts in self.allow_limits.items() for text in texts)
        return tuple(dict.fromkeys((*self.stated, *limits)))

    @property
    def rules(self) -> Rules:
        return self._read[0]

    @property
    def problems(self) -> tuple[str, ...]:
        """Say which rules match nothing, and why."""
        return self._read[1]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say which rules allow more, or less, than they seem to."""
        return self._read[2]

    def texts(self, kind: Kind) -> tuple[str, ...]:
        """The rules of one list."""
        return tuple(each.text for each in self.stated if each.kind == kind)

    def in_mode(self, mode: str, origin: str = HERE) -> Rulebook:
        """Return the rulebook with another mode. Raises UsageError if it is unknown."""
        if mode not in PERMISSION_MODES:
            raise UsageError(f'Unknown permission mode "{mode}".', f"Choose one of: {', '.join(PERMISSION_MODES)}.")
        return replace(self, mode=mode, mode_origin=origin)

    def adding(self, kind: Kind, text: str, origin: str = HERE) -> Rulebook:
        """Return the rulebook with one more rule. Raises UsageError if it is not a rule."""
        check(text)
        others = (each for each in self.stated if (each.kind, each.text) != (kind, text))
        return replace(self, stated=(*others, StatedRule(kind, text, origin)))

    def without(self, text: str) -> Rulebook:
        """Return the rulebook without a rule, in whatever lists it stands. Raises UsageError if it is in none."""
        left = tuple(each for each in self.stated if each.text != text)
        limits = {origin: tuple(each for each in texts if each != text) for origin, texts in self.allow_limits.items()}
        if (left, limits) == (self.stated, self.allow_limits):
            known = ", ".join(dict.fromkeys(each.text for each in self.listed))
            raise UsageError(f"No such rule: {text}.", f"Rules in force: {known}." if known else "No rule is set.")
        return replace(self, stated=left, allow_limits=limits)

    def restricted(self, origin: str, new: Mapping[Kind, Iterable[str]], allowed: Collection[str]) -> Rulebook:
        """Return the rulebook with `new` rules of `origin`, of which it allows only what is `allowed`."""
        left = (each for each in self.stated if (each.kind, each.origin) != ("allow", origin) or each.text in allowed)
        added = (StatedRule(kind, text, origin) for kind, texts in new.items() for text in texts)
        return replace(self, stated=(*left, *added))

    @property
    def _read(self) -> tuple[Rules, tuple[str, ...], tuple[str, ...]]:
        return _read(self.texts("allow"), self.texts("ask"), self.texts("deny"), tuple(self.allow_limits.values()))


def check(text: str) -> str | None:
    """A warning if `text`, as a rule that allows, means more than it seems. Raises UsageError if it is not a rule."""
    try:
        return parse(text).warning
    except ValueError as error:
        raise UsageError(str(error), "For example: Read, Edit(src/**), Bash(git status).") from error


_read = lru_cache(maxsize=64)(Rules.read)
