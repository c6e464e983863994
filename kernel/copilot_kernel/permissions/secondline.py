"""Our rules that deny, as far as GitHub Copilot CLI can be told of them when it starts (`copilot help permissions`).

It is a second line: what is denied there, Copilot does not even ask about. A pattern that Copilot cannot read would
keep it from starting, so that only what is certain to be one is expressed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from .domains import Domain
from .globs import Glob
from .patterns import Pattern
from .rules import Rule

_WORD = re.compile(r"[\w./@=+,%-]+", re.ASCII)
_PATH = re.compile(r"[\w./@=+ *-]+", re.ASCII)
_NAME = re.compile(r"[\w.-]+", re.ASCII)
_BARE = {"Bash": "shell", "Edit": "write", "Read": "read", "WebFetch": "url"}
_FILES = {"Edit": "write", "Read": "read"}


def expressed(deny: Iterable[Rule], root: str, home: str) -> tuple[str, ...]:
    """The values of `--deny-tool`; a rule that cannot be expressed holds on our side only."""
    return tuple(dict.fromkeys(pattern for rule in deny for pattern in _patterns(rule, root, home)))


def _patterns(rule: Rule, root: str, home: str) -> Iterator[str]:
    if rule.tool == "mcp":
        yield from _of_server(rule)
    elif rule.is_bare:
        yield from filter(None, [_BARE.get(rule.tool)])
    elif rule.command:
        yield from _of_command(rule.command)
    elif rule.path and rule.tool in _FILES:
        yield from (f"{_FILES[rule.tool]}({path})" for path in _of_path(rule.path, root, home))
    elif rule.domain:
        yield from _of_domain(rule.domain)


def _of_server(rule: Rule) -> Iterator[str]:
    if _NAME.fullmatch(rule.server) and rule.server not in ("shell", "write", "read", "url", "memory"):
        yield f"{rule.server}({rule.server_tool})" if _NAME.fullmatch(rule.server_tool) else rule.server


def _of_command(pattern: Pattern) -> Iterator[str]:
    """A `*` in the middle cannot be said: denying all that begins alike would be more than the rule."""
    if not pattern.words:
        yield "shell"
    words = [word for word in pattern.words if word is not None and _WORD.fullmatch(word)]
    if words and len(words) == len(pattern.words):
        yield f"shell({' '.join(words)}{':*' * pattern.is_open})"


def _of_path(glob: Glob, root: str, home: str) -> Iterator[str]:
    """A relative path would be one at any depth."""
    folder = {"root": root, "home": home, "system": "/"}[glob.base]
    parts = glob.parts[:-1] if glob.parts[-2:] == ("**", "*") else glob.parts
    anywhere = glob.base == "root" and parts[0] == "**" and len(parts) == 2
    path = parts[1] if anywhere else posixpath.join(folder, *parts)
    if _PATH.fullmatch(path):
        yield path


def _of_domain(domain: Domain) -> Iterator[str]:
    host = f"{'*.' * domain.with_subdomains}{domain.host}"
    if ":" not in host:
        port = f":{domain.port}" if domain.port is not None else ""
        yield from (f"url({scheme}://{host}{port})" for scheme in ("https", "http"))
