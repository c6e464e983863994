"""Scripts: a prompt that begins with `demo:` says line by line what the agent shall do; pure.

    demo: say Hello            one directive a line, the first may follow `demo:` directly
    shell echo one; exit 3

Each line is a directive's name and its argument. Where the argument is a text, `\\n` and `\\t` in it are a line break
and a tab. What a directive does is said beside it (`directives.py` and its neighbours); `demo: help` lists them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

MARK = "demo:"


class ScriptError(Exception):
    """The script cannot be read; the text says which line and why."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a script."""

    name: str
    argument: str = ""


def find_script(blocks: Sequence[Any]) -> str | None:
    """The script in a prompt's content blocks: the last text that begins with `demo:`, without that mark."""
    scripts = [text for text in texts(blocks) if text.lstrip().startswith(MARK)]
    return scripts[-1].lstrip().removeprefix(MARK) if scripts else None


def texts(blocks: Sequence[Any]) -> list[str]:
    """The texts among a prompt's content blocks."""
    return [str(block.get("text", "")) for block in blocks if isinstance(block, dict) and block.get("type") == "text"]


def parse(script: str, known: Collection[str]) -> list[Step]:
    """The steps of a script. Raises ScriptError for a directive that is not `known`."""
    return [parse_line(line, known) for line in script.splitlines() if line.strip()]


def parse_line(line: str, known: Collection[str]) -> Step:
    """One directive. Raises ScriptError."""
    name, _, argument = line.strip().partition(" ")
    if name not in known:
        raise ScriptError(f"demo agent: no directive is called {name!r}; there are {', '.join(sorted(known))}")
    return Step(name, argument.strip())


def read_json(argument: str) -> Any:
    """Any JSON. Raises ScriptError."""
    try:
        return json.loads(argument)
    except ValueError as error:
        raise ScriptError(f"demo agent: this is not JSON: {error}") from None


def read_value(argument: str) -> Any:
    """Any JSON; what is none is a text."""
    try:
        return json.loads(argument)
    except ValueError:
        return argument


def unescape(argument: str) -> str:
    """`argument` with `\\n` and `\\t` made a line break and a tab."""
    return argument.replace("\\n", "\n").replace("\\t", "\t")


def split_two(argument: str, separator: str, form: str) -> tuple[str, str]:
    """Both sides of `separator`. Raises ScriptError, naming the `form` that was expected."""
    left, found, right = argument.partition(separator)
    if not found:
        raise ScriptError(f"demo agent: write {form}")
    return left.strip(), right.strip()


def numbers(argument: str, defaults: Sequence[float], form: str) -> list[float]:
    """The numbers in `argument`, with `defaults` for those left out. Raises ScriptError, naming the `form`."""
    words = argument.split()
    try:
        given = [float(word) for word in words[: len(defaults)]]
    except ValueError:
        raise ScriptError(f"demo agent: write {form}") from None
    return [*given, *defaults[len(given) :]]
