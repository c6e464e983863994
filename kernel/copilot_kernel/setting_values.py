"""What is known of a setting: how a value is read, which of two is the stricter, what two lists have in common.

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

Kind = Literal["text", "mode", "choice", "switch", "number", "rules", "paths", "hosts", "json"]


@dataclass(frozen=True, slots=True)
class Setting:
    """All that is known of a setting, as data.

    A mode or a choice is one of `choices`; a number lies `between` two, in `unit`, and has the default's type; rules,
    paths and hosts are lists. `help` is what the documentation says, `topic` the part of the settings page that shows
    it, the last one if empty, `title` its name there, by default from its own. `order` says which side is strict: it
    holds the values, the strictest first; the `lower` number is the stricter one; of lists, `join` says what two of
    them allow; with the order `none`, a project's file does not set the value. Set in the environment, a setting that
    `widens` may let the agent do more. Notebooks that differ in settings that the kernel applies itself can share an
    agent: whatever is new tells agents apart until someone decides otherwise.
    """

    default: Any
    kind: Kind
    help: str
    order: tuple[Any, ...] | Literal["lower", "list", "none"]
    join: Callable[[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] | None = None
    widens: bool = False
    kernel_applies: bool = False
    choices: tuple[str, ...] = ()
    between: tuple[float, float] = (0, 0)
    unit: str = ""
    topic: str = ""
    title: str = ""

    def parse(self, raw: Any) -> Any:
        """Read a value of a config file, or a variable of the environment. Raises ValueError and TypeError."""
        match self.kind:
            case "text":
                return _text(raw)
            case "choice":
                return _one_of(raw, self.choices)
            case "switch":
                return _one_of(raw, ("on", "off")) == "on"
            case "number":
                return self._number(raw)
            case "rules" | "paths" | "hosts":
                return _strings(raw, *_LISTS[self.kind])
            case "json":
                return _json(raw)
        return raw  # a mode is checked when it is set

    def _number(self, raw: Any) -> float:
        value: float = type(self.default)(raw)
        least, most = self.between
        if not least <= value <= most:
            raise ValueError(f"must be a number of {self.unit} between {least} and {most}")
        return value

    def limit(self, value: Any, bound: Any) -> Any:
        """Return what `value` allows within the `bound`."""
        if value is None:  # no list, so no limit
            return bound
        if self.order == "list":
            return self.join(bound, value) if self.join else tuple(each for each in value if each in bound)
        return min(value, bound, key=self.rank)

    def is_wider(self, before: Any, after: Any) -> bool:
        """Return True if `after` lets the agent do more than `before`, or something else, by `order`."""
        return self.rank(after) > self.rank(before) or {before, after} == {"acceptEdits", "sandboxed"}

    def allows_more(self, before: Any, after: Any) -> bool:
        """Return True if the user has to confirm `after`: the agent could do more, or is another program."""
        if self.order == "list":
            if after is None or before is None:  # hosts: no list is all of them
                return before is not None
            return not ({*before} <= {*after} if self.join is union else {*after} <= {*self.limit(before, after)})
        return self.widens and bool(before != after if self.order == "none" else self.is_wider(before, after))

    def rank(self, value: Any) -> float:
        """How much `value` allows; an unknown permission mode is not used, so it counts as `default`."""
        if isinstance(self.order, tuple):
            return self.order.index(value if value in self.order else "default")
        return value if self.order == "lower" else 0


# -- reading ----------------------------------------------------------------------------------------------------------


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise ValueError("must be a string")
    return raw.strip()


def _one_of(raw: Any, names: tuple[str, ...]) -> str:
    """JSON may say `on` and `off` as a switch."""
    name = ("on" if raw else "off") if isinstance(raw, bool) else raw
    if name not in names:
        raise ValueError(not_one_of(raw, names))
    return str(name)


def not_one_of(raw: Any, names: tuple[str, ...]) -> str:
    return f"{raw!r} is not one of {', '.join(names)}"


def _strings(raw: Any, what: str, example: str, read_item: Callable[[str], str | None]) -> tuple[str, ...]:
    """An array of strings; an empty variable is an empty one."""
    try:
        items = json.loads(raw.strip() or "[]") if isinstance(raw, str) else raw
    except ValueError:
        items = None
    read = [isinstance(item, str) and read_item(item) for item in items] if isinstance(items, list) else [None]
    if not all(isinstance(item, str) for item in read):
        raise ValueError(f"must be a JSON array of {what}, such as {example}, not {raw!r:.80}")
    return tuple(map(str, read))


def _json(raw: Any) -> Any:
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except ValueError as error:
        raise ValueError(f"must be JSON: {error}") from error


_HOST = re.compile(
    r"(?:(?:\*\.)?(?:[\w-]+\.)+[a-z][\w-]*|(?P<address>localhost|\d+\.\d+\.\d+\.\d+|\[[\da-f:.]+\]))(?::(?P<port>\d+))?",
    re.ASCII | re.IGNORECASE,
)


def _path(raw: str) -> str | None:
    return raw if raw[:1] == "~" or os.path.isabs(raw) else None


def _host(raw: str) -> str | None:
    """An address without a port would be every service there: of loopback, those of the user."""
    found = _HOST.fullmatch(raw)
    if found is None or (found["port"] and not 0 < int(found["port"]) < 65536):
        return None
    return raw.lower() if found["port"] or not found["address"] else None


_LISTS: dict[str, tuple[str, str, Callable[[str], str | None]]] = {
    "rules": ("strings", '["Bash(git status)", "Edit(src/**)"]', str),
    "paths": ("absolute paths", '["~/data"]', _path),
    "hosts": ("hosts, addresses with a port", '["api.github.com", "*.example.com:443", "127.0.0.1:11434"]', _host),
}
"""What the items of a list are called, an example, and how an item is read; None if it is none."""


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
