"""MCP servers as settings write them: a list as the specification has it, or a map from name to server.

What is secret in them (environment, headers, keys among the arguments) is shown nowhere. `acp/mcp.py` passes them to an
agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal
from urllib.parse import urlsplit

from .redaction import HIDDEN, Redactor

OWN_SERVER = "notebook"
"""The name of the server with the notebook's own tools."""

Kind = Literal["stdio", "http", "sse"]
Pairs = tuple[tuple[str, str], ...]

_KINDS: dict[Any, Kind] = {"stdio": "stdio", "local": "stdio", "http": "http", "streamable-http": "http", "sse": "sse"}
_MEMBERS = {"name", "type", "command", "args", "env", "url", "headers"}
_SECRET = re.compile(r"(?i)(.*(?:key|token|secret|passw|auth|credential)[^=:\s]*)(?:[=:]\s*(.+))?")


@dataclass(frozen=True, slots=True)
class McpServer:
    """One server: `command`, `args` and `env` where it is started, `url` and `headers` where it runs already.

    `renamed_from` is its name in the settings, if it has another one for the agent.
    """

    name: str
    type: Kind
    command: str = ""
    args: tuple[str, ...] = ()
    env: Pairs = ()
    url: str = ""
    headers: Pairs = ()
    renamed_from: str = ""


def parse_servers(raw: Any) -> tuple[tuple[McpServer, ...], tuple[str, ...]]:
    """The servers, and what could not be read, in words. Never raises; a bad one costs itself alone."""
    if isinstance(raw, dict) and isinstance(raw.get("mcpServers"), dict | list):
        raw = raw["mcpServers"]
    found: dict[str, McpServer] = {}
    problems: list[str] = []
    if not isinstance(raw, dict | list):
        return (), ("must be an array of servers, or an object that maps names to servers",)
    for number, each in enumerate(_listed(raw), 1):
        try:
            server = _server(each, problems)
            if server.name in found:
                raise ValueError("duplicate name")
            found[server.name] = server
        except ValueError as error:
            problems.append(f"{_name(each) or f'server {number}'}: {error}")
    return tuple(found.values()), tuple(problems)


def without_own_name(servers: Sequence[McpServer]) -> tuple[McpServer, ...]:
    """The servers, with a number after the name of one that is called like our own."""
    names = {server.name for server in servers}
    free = next(name for number in count(2) if (name := f"{OWN_SERVER}-{number}") not in names)
    return tuple(
        replace(server, name=free, renamed_from=OWN_SERVER) if server.name == OWN_SERVER else server
        for server in servers
    )


def describe(server: McpServer) -> str:
    """A server in one line, without what may be secret: no values of `env` and `headers`, no keys in words and URL."""
    pairs = server.env or server.headers
    words = " ".join((server.command, *server.args)) if server.type == "stdio" else _harmless_url(server.url)
    kept = ", ".join(f"{name}={HIDDEN}" for name, _ in pairs)
    return Redactor(tuple(_secret_words(server.args))).text(f"{server.type} {words}") + (f" ({kept})" if kept else "")


def secrets(servers: Sequence[McpServer]) -> frozenset[str]:
    """Every string that must not be shown, such as in a protocol log."""
    values = {value for server in servers for _, value in (*server.env, *server.headers)}
    words = {secret for server in servers for secret in _secret_words(server.args)}
    return frozenset(values | words)


# -- reading ------------------------------------------------------------------------------------------------------


def _listed(raw: dict[str, Any] | list[Any]) -> list[Any]:
    if isinstance(raw, list):
        return raw
    return [{**each, "name": name} if isinstance(each, dict) else {"name": name} for name, each in raw.items()]


def _server(raw: Any, problems: list[str]) -> McpServer:
    """Raises ValueError with what is wrong."""
    raw = raw if isinstance(raw, dict) else {}
    if not (name := _name(raw)):
        raise ValueError("name is missing")
    kind = _kind(raw)
    problems += [
        f"{name}: unknown member {member!r} is ignored" for member in sorted(set(raw) - _MEMBERS - {"tools"}, key=str)
    ]
    if kind == "stdio":
        command, env = _text(raw, "command"), _pairs(raw, "env")
        return McpServer(name, "stdio", command=command, args=_args(raw), env=env)
    url = _text(raw, "url")
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("url must begin with http:// or https://")
    return McpServer(name, kind, url=url, headers=_pairs(raw, "headers"))


def _name(raw: Any) -> str:
    name = raw.get("name") if isinstance(raw, dict) else None
    return name.strip() if isinstance(name, str) else ""


def _kind(raw: Mapping[str, Any]) -> Kind:
    found = raw.get("type") or ("http" if "url" in raw and "command" not in raw else "stdio")
    if not isinstance(found, str) or found not in _KINDS:
        raise ValueError(f"type {found!r:.40} is not one of stdio, http, sse")
    return _KINDS[found]


def _text(raw: Mapping[str, Any], member: str) -> str:
    value = raw.get(member)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{member} is missing")
    return value.strip()


def _args(raw: Mapping[str, Any]) -> tuple[str, ...]:
    args = raw.get("args") or []
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        raise ValueError("args must be an array of strings")
    return tuple(args)


def _pairs(raw: Mapping[str, Any], member: str) -> Pairs:
    """A map, or a list of objects of name and value."""
    found = raw.get(member) or {}
    if isinstance(found, dict):
        found = [{"name": name, "value": value} for name, value in found.items()]
    pairs = tuple(_pair(each) for each in found) if isinstance(found, list) else (None,)
    read = tuple(pair for pair in pairs if pair is not None)
    if len(read) < len(pairs):
        raise ValueError(f"{member} must map strings to strings")
    return read


def _pair(raw: Any) -> tuple[str, str] | None:
    name, value = (raw.get("name"), raw.get("value")) if isinstance(raw, dict) else (None, None)
    return (name, value) if isinstance(name, str) and name and isinstance(value, str) else None


# -- what is secret -----------------------------------------------------------------------------------------------


def _secret_words(args: Sequence[str]) -> Iterator[str]:
    """Return the words after one like `--api-key`, in the same argument or in the next one."""
    for word, following in zip(args, (*args[1:], ""), strict=False):
        found = _SECRET.fullmatch(word)
        if found and found[2]:
            yield found[2]
        elif found and word.startswith("-") and following and not following.startswith("-"):
            yield following


def _harmless_url(url: str) -> str:
    """Return the URL without user, password, query and fragment, any of which may hold a key."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    hidden = HIDDEN if parts.query or parts.fragment or "@" in parts.netloc else ""
    return f"{parts.scheme}://{host}{parts.path}{hidden and f' {hidden}'}"
