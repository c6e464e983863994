"""Values of settings: how one is read, which of two is the stricter, what two lists have in common.

Pure.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import PurePath
from typing import Any, Literal

Parse = Callable[[Any], Any]
"""Reads a value of a config file, or a variable of the environment. Raises ValueError and TypeError."""


@dataclass(frozen=True, slots=True)
class Setting:
    """All that is known of a setting but its default.

    `help` is what the documentation says; `order` says which side is strict: it holds the values, the strictest first;
    the `lower` number is the stricter one; of lists, `join` makes one of those of several places; if the order is
    `none`, a project's file does not set the value. What administrators' and projects' files say more strictly holds.
    Set in the environment, a setting that `widens` may let the agent do more; of its values in an order, the stricter
    one holds among the user's own, too. Notebooks that differ in settings that the kernel applies itself can share an
    agent: whatever is new tells agents apart until someone decides otherwise.
    """

    parse: Parse
    help: str
    order: tuple[Any, ...] | Literal["lower", "list", "none"]
    join: Callable[[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] | None = None
    widens: bool = False
    kernel_applies: bool = False

    def is_wider(self, before: Any, after: Any) -> bool:
        """Return True if `after` lets the agent do more than `before`, or something else, by `order`."""
        middle = {"acceptEdits", "sandboxed"}
        return self.rank(after) > self.rank(before) or (before != after and {before, after} == middle)

    def rank(self, value: Any) -> float:
        """How much `value` allows; an unknown permission mode is not used, so it counts as `default`."""
        if isinstance(self.order, tuple):
            return self.order.index(value if value in self.order else "default")
        return value if self.order == "lower" else 0


# -- reading ----------------------------------------------------------------------------------------------------------


def text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise ValueError("must be a string")
    return raw.strip()


def one_of(*names: str) -> Callable[[Any], str]:
    """JSON may say `on` and `off` as a switch."""

    def parse(raw: Any) -> str:
        name = ("on" if raw else "off") if isinstance(raw, bool) else raw
        if name not in names:
            raise ValueError(not_one_of(raw, names))
        return str(name)

    return parse


def not_one_of(raw: Any, names: tuple[str, ...]) -> str:
    return f"{raw!r} is not one of {', '.join(names)}"


def switch(raw: Any) -> bool:
    return one_of("on", "off")(raw) == "on"


def number(least: float, most: float, unit: str, kind: type[int] | type[float] = float) -> Parse:
    def parse(raw: Any) -> float:
        value = kind(raw)
        if not least <= value <= most:
            raise ValueError(f"must be a number of {unit} between {least} and {most}")
        return value

    return parse


def array(what: str, example: str, is_item: Callable[[str], bool] = lambda item: True) -> Parse:
    """An array of strings; an empty variable is an empty one."""

    def parse(raw: Any) -> tuple[str, ...]:
        try:
            items = json.loads(raw.strip() or "[]") if isinstance(raw, str) else raw
        except ValueError:
            items = None
        if not isinstance(items, list) or not all(isinstance(item, str) and is_item(item) for item in items):
            raise ValueError(f"must be a JSON array of {what}, such as {example}, not {raw!r:.80}")
        return tuple(items)

    return parse


def json_value(raw: Any) -> Any:
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except ValueError as error:
        raise ValueError(f"must be JSON: {error}") from error


_HOST = re.compile(
    r"(?:(?:\*\.)?(?:[\w-]+\.)+[a-z][\w-]*|(?P<address>localhost|\d+\.\d+\.\d+\.\d+|\[[\da-f:.]+\]))(?::(?P<port>\d+))?",
    re.ASCII | re.IGNORECASE,
)


def _is_host(raw: str) -> bool:
    """An address without a port would be every service there: of loopback, those of the user."""
    found = _HOST.fullmatch(raw)
    if found is None or (found["port"] and not 0 < int(found["port"]) < 65536):
        return False
    return not found["address"] or bool(found["port"])


def host_list(raw: Any) -> tuple[str, ...]:
    return tuple(host.lower() for host in _hosts(raw))


rule_list = array("strings", '["Bash(git status)", "Edit(src/**)"]')
path_list = array("absolute paths", '["~/data"]', lambda path: path[:1] == "~" or os.path.isabs(path))
_hosts = array("hosts, addresses with a port", '["api.github.com", "*.example.com:443", "127.0.0.1:11434"]', _is_host)


# -- what several places amount to ------------------------------------------------------------------------------------


def union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return what either list names."""
    return tuple(dict.fromkeys((*one, *other)))


def common_paths(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return what lies below a path of both lists, which are absolute."""
    pairs = product(*([PurePath(os.path.normpath(each)) for each in paths] for paths in (one, other)))
    inner = (a if a.is_relative_to(b) else b for a, b in pairs if a.is_relative_to(b) or b.is_relative_to(a))
    return tuple(dict.fromkeys(map(str, inner)))


def common_hosts(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return what both lists name; one without a port names each port."""
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
