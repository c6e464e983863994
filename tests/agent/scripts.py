"""What is played as it is written: the scripts in `scripts.jsonl`, each a directive.

A script has `updates`, or the `lines` of a prompt. In these, `$name` stands for a word of the argument: `words` are the
names in their order, each with what stands there if it is left out; the last one takes the rest.
"""

import json
from collections.abc import Mapping
from functools import partial
from itertools import zip_longest
from pathlib import Path
from string import Template
from typing import Any

from copilot_kernel.demo.demo_session import Json
from copilot_kernel.demo.stage import Stage

from . import directives
from .faults import Directive, unescape

FILE = Path(__file__).with_name("scripts.jsonl")


def words(script: Json, argument: str) -> Json:
    """The words of `argument` by name. Raises ValueError."""
    defaults = script.get("words", {})
    given = argument.split(" ", max(len(defaults) - 1, 0)) if argument else []
    pairs = zip_longest(defaults.items(), given[: len(defaults)])
    return {name: default if word is None else type(default)(unescape(word)) for (name, default), word in pairs}


def filled(template: Any, words: Mapping[str, Any]) -> Any:
    """A copy of `template` with the words in their places."""
    match template:
        case dict():
            return {name: filled(value, words) for name, value in template.items()}
        case list():
            return [filled(value, words) for value in template]
        case str() if template.startswith("$"):
            return words[template[1:]]
    return template


def directive(script: Json) -> Directive:
    """A directive that plays the script."""

    async def play(stage: Stage, argument: str) -> None:
        given = words(script, argument)
        for update in script.get("updates", ()):
            await stage.send(filled(update, given))
        await directives.perform(stage, Template(script.get("lines", "")).substitute(given), DIRECTIVES)

    return play


async def tool(stage: Stage, argument: str) -> None:
    """`tool NAME …`: a tool call with the content of these scripts."""
    names = argument.split()
    blocks = [filled(SCRIPTS[name]["updates"][0]["content"], words(SCRIPTS[name], "")) for name in names]
    id = await stage.begin("fetch", f"Fetch {' and '.join(names)}", {"kinds": names})
    await stage.change(id, status="completed", content=[{"type": "content", "content": block} for block in blocks])


SCRIPTS: Mapping[str, Json] = {
    script["name"]: script for script in map(json.loads, FILE.read_text("utf-8").splitlines())
}
DIRECTIVES: dict[str, Directive] = {
    **directives.DIRECTIVES,
    **{name: directive(script) for name, script in SCRIPTS.items()},
    "tool": tool,
}
"""Directives by name."""
DIRECTIVES["together"] = partial(directives.together, DIRECTIVES)
