"""One value of a setting: how it is read, which of two is the stricter, and what two lists have in common. Pure."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import PurePath
from typing import Any

RULE_LISTS = ("allow", "ask", "deny")

ORDER: Mapping[str, tuple[Any, ...]] = {
    "permission_mode": ("plan", "default", "acceptEdits", "sandboxed", "bypassPermissions"),
    "sandbox": ("required", "on", "off"),
    "on_unasked": ("cancel", "badge"),
    "fs": (False, True),
    "terminal": (False, True),
}
"""Settings of which the stricter value holds, that one first."""
COMMON = ("sandbox_read", "sandbox_write", "sandbox_hosts", "trusted_folders")


def is_wider(name: str, before: Any, after: Any) -> bool:
    """Whether `after` lets the agent do more than `before`, or something else; `name` is one of `ORDER`."""
    middle = {"acceptEdits", "sandboxed"}
    return rank(name, after) > rank(name, before) or (before != after and {before, after} == middle)


def rank(name: str, value: Any) -> int:
    """What is unknown counts as a permission mode that is not used: as `default`."""
    order = ORDER[name]
    return order.index(value if value in order else "default")


def _string(raw: Any) -> str:
    if not isinstance(raw, str):
        raise ValueError("must be a string")
    return raw.strip()


def _switch(raw: Any) -> bool:
    if raw not in ("on", "off", True, False):
        raise ValueError(f"must be on or off, not {raw!r}")
    return raw in ("on", True)


def _sandbox(raw: Any) -> str:
    """JSON may say it as a switch."""
    return _one_of("off", "on", "required")({True: "on", False: "off"}.get(raw, raw) if isinstance(raw, bool) else raw)


def _one_of(*names: str) -> Callable[[Any], str]:
    def parse(raw: Any) -> str:
        if raw not in names:
            raise ValueError(not_one_of(raw, names))
        return str(raw)

    return parse


def not_one_of(raw: Any, names: tuple[str, ...]) -> str:
    return f"{raw!r} is not one of {', '.join(names)}"


def _rules(raw: Any) -> tuple[str, ...]:
    """An empty variable is an empty list."""
    try:
        rules = json.loads(raw.strip() or "[]") if isinstance(raw, str) else raw
    except ValueError:
        rules = None
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise ValueError(
            f'must be a JSON array of strings, such as ["Bash(git status)", "Edit(src/**)"], not {raw!r:.80}'
        )
    return tuple(rules)


def _paths(raw: Any) -> tuple[str, ...]:
    """An empty variable is an empty list."""
    paths = _json(raw.strip() or "[]") if isinstance(raw, str) else raw
    if not isinstance(paths, list) or not all(map(_is_absolute, paths)):
        raise ValueError(f'must be a JSON array of absolute paths, such as ["~/data"], not {raw!r:.80}')
    return tuple(paths)


def _is_absolute(raw: Any) -> bool:
    return isinstance(raw, str) and (raw[:1] == "~" or os.path.isabs(raw))


_HOST = re.compile(
    r"(?:(?:\*\.)?(?:[\w-]+\.)+[a-z][\w-]*|(?P<address>localhost|\d+\.\d+\.\d+\.\d+|\[[\da-f:.]+\]))(?::(?P<port>\d+))?",
    re.ASCII,
)


def _hosts(raw: Any) -> tuple[str, ...]:
    """An empty variable is an empty list: no host."""
    hosts = _json(raw.strip() or "[]") if isinstance(raw, str) else raw
    if not isinstance(hosts, list) or not all(map(_is_host, hosts)):
        example = '["api.github.com", "*.example.com:443", "127.0.0.1:11434"]'
        raise ValueError(
            f"must be a JSON array of hosts, addresses with a port, such as {example}, not {raw!r:.80}; "
            "no host is allowed"
        )
    return tuple(host.lower() for host in hosts)


def _is_host(raw: Any) -> bool:
    """An address without a port would be every service there: of loopback, those of the user."""
    found = _HOST.fullmatch(raw.lower()) if isinstance(raw, str) else None
    if found is None or (found["port"] and not 0 < int(found["port"]) < 65536):
        return False
    return not found["address"] or bool(found["port"])


def common_paths(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """What lies below a path of both lists."""
    pairs = product(
        *([PurePath(os.path.normpath(os.path.expanduser(each))) for each in paths] for paths in (one, other))
    )
    inner = (a if a.is_relative_to(b) else b for a, b in pairs if a.is_relative_to(b) or b.is_relative_to(a))
    return tuple(dict.fromkeys(map(str, inner)))


def common_hosts(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """What both lists name; one without a port names each port."""
    found: dict[str, None] = {}
    for pair in product(one, other):
        (name, port), (name_2, port_2) = (_name_and_port(host) for host in pair)
        inner, outer = sorted((name, name_2), key=lambda each: (each.startswith("*"), -len(each)))
        is_covered = inner == outer or (outer[:1] == "*" and inner.removeprefix("*").endswith(outer[1:]))
        if is_covered and (not port or not port_2 or port == port_2):
            found[inner + (port or port_2)] = None
    return tuple(found)


def _name_and_port(host: str) -> tuple[str, str]:
    found = re.search(r":\d+\Z", host)
    return (host[: found.start()], found[0]) if found else (host, "")


def _json(raw: Any) -> Any:
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except ValueError as error:
        raise ValueError(f"must be JSON: {error}") from error


def _seconds(most: float, *, or_zero: bool = False) -> Callable[[Any], float]:
    def parse(raw: Any) -> float:
        value = float(raw)
        if not 0 <= value <= most or (value == 0 and not or_zero):
            raise ValueError(f"must be a number of seconds between 0 and {most}")
        return value

    return parse


def _characters(raw: Any) -> int:
    value = int(raw)
    if not 1000 <= value <= 1_000_000:
        raise ValueError("must be a number of characters between 1000 and 1000000")
    return value


PARSERS: dict[str, Callable[[Any], Any]] = {
    "agent": _string,
    "cwd": _string,
    "permission_mode": lambda raw: raw,  # checked when it is set
    **dict.fromkeys(RULE_LISTS, _rules),
    "on_unasked": _one_of("badge", "cancel"),
    "start_timeout": _seconds(3600),
    "cancel_grace": _seconds(3600),
    "activity_timeout": _seconds(604_800, or_zero=True),
    "agent_sharing": _one_of("off", "user"),
    "sandbox": _sandbox,
    "sandbox_read": _paths,
    "sandbox_write": _paths,
    "sandbox_hosts": _hosts,
    "trusted_folders": _paths,
    "mcp_servers": _json,
    "fs": _switch,
    "terminal": _switch,
    "answer_form": _one_of("nested", "flat"),
    "option_member": _one_of("configId", "optionId"),
    "state": _string,
    "notebook_tools": _switch,
    "undo": _switch,
    "error_context": _switch,
    "context_chars": _characters,
    "rerun": _one_of("run", "ask", "keep"),
    "warm_start": _switch,
}
