"""Rules as the user writes them: `Bash(git *)`, `Edit(src/**)`, `WebFetch(domain:example.com)`, `mcp__server__tool`.

The names stand for kinds of tool calls: Read for read, Grep for search, Edit for edit, delete and move, Bash for
execute, WebFetch for fetch. What is not understood matches nothing, and is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .domains import Domain, compile_domain
from .globs import Glob, compile_glob
from .patterns import Pattern, compile_pattern
from .patterns import warning as pattern_warning

KINDS = {
    "Read": ("read",),
    "Grep": ("search",),
    "Edit": ("edit", "delete", "move"),
    "Bash": ("execute",),
    "WebFetch": ("fetch",),
}
"""Which kinds of tool calls the name of a rule stands for."""

_FILES = ("Read", "Grep", "Edit")
_RULE = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
_MCP = re.compile(r"mcp__([A-Za-z0-9_.-]+?)(?:__([A-Za-z0-9_.*-]+))?")


@dataclass(frozen=True, slots=True)
class Rule:
    """`tool` is a name of `KINDS`, or `mcp`. At most one of the others is set; with none it is the bare name."""

    text: str
    tool: str
    command: Pattern | None = None
    path: Glob | None = None
    domain: Domain | None = None
    server: str = ""
    server_tool: str = ""
    """Empty: every tool of the server."""

    @property
    def is_bare(self) -> bool:
        return self.tool != "mcp" and not (self.command or self.path or self.domain)

    def covers_tool(self, name: str) -> bool:
        """True if `name` (`mcp__server__tool`) is the tool of this rule, or one of its server's."""
        if self.tool != "mcp":
            return False
        wanted = f"mcp__{self.server}__"
        return name == wanted + self.server_tool if self.server_tool else name.startswith(wanted)


@dataclass(frozen=True, slots=True)
class Rules:
    """What is allowed, asked about and denied. Denied goes before asked about, asked about before allowed."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    @classmethod
    def read(
        cls, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()
    ) -> tuple[Rules, tuple[str, ...], tuple[str, ...]]:
        """The rules, what was wrong with some of them, and of which more is allowed than it seems; in words."""
        told = _Told()
        rules = cls(told.parse("allow", allow), told.parse("ask", ask), told.parse("deny", deny))
        told.warnings += [f"allow: {rule.text}: {words}" for rule in rules.allow if (words := warning(rule))]
        return rules, tuple(told.problems), tuple(told.warnings)


def parse(text: str) -> Rule:
    """Raises ValueError, in words for the user, if `text` is no rule."""
    if mcp := _MCP.fullmatch(text):
        name = mcp[2] or ""
        if "*" in name and name != "*":
            raise ValueError(f"{text}: in the name of a server's tool, * stands for all of it or nothing")
        return Rule(text, "mcp", server=mcp[1], server_tool="" if name == "*" else name)
    found = _RULE.fullmatch(text)
    if found is None or found[1] not in KINDS:
        raise ValueError(_unknown(text, found))
    if found[2] is None:
        return Rule(text, found[1])
    try:
        return _with_pattern(text, found[1], found[2])
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from error


def warning(rule: Rule) -> str:
    """In words, why a rule that allows allows much more than it seems to; empty: it does not."""
    if rule.command:
        return pattern_warning(rule.command)
    if rule.is_bare and rule.tool == "Bash":
        return "this rule allows every command"
    if rule.is_bare and rule.tool == "WebFetch":
        return "this rule allows every address, also those of this computer and its network"
    if rule.path and rule.path.is_everything:
        return "this rule allows every file" if rule.path.base == "system" else "this rule allows all of your files"
    return "this rule allows every host under it" if rule.domain and rule.domain.is_everything else ""


@dataclass
class _Told:
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def parse(self, setting: str, texts: Iterable[str]) -> tuple[Rule, ...]:
        rules = []
        for text in texts:
            try:
                rules.append(parse(text))
            except ValueError as error:
                self.problems.append(f"{setting}: {error}")
        return tuple(rules)


def _with_pattern(text: str, tool: str, inner: str) -> Rule:
    if not inner.strip():
        raise ValueError(f"nothing is in the brackets; write {tool} for everything that it stands for")
    if tool == "Bash":
        return Rule(text, tool, command=compile_pattern(inner))
    if tool in _FILES:
        return Rule(text, tool, path=compile_glob(inner))
    if not inner.startswith("domain:"):
        raise ValueError("write WebFetch(domain:example.com)")
    return Rule(text, tool, domain=compile_domain(inner.removeprefix("domain:")))


def _unknown(text: str, found: re.Match[str] | None) -> str:
    if not text.strip():
        return "a rule is empty, and matches nothing"
    names: Sequence[str] = [*KINDS, "mcp__server__tool"]
    near = next((name for name in KINDS if found and found[1].lower() == name.lower()), "")
    meant = f"; {near} is written so" if near else ""
    return f"{text!r} is no rule and matches nothing{meant}; rules begin with {', '.join(names)}"
