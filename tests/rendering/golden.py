"""`python -m tests.rendering.golden`: write anew what recorded conversations of real agents look like.

The files hold what a reader of each cell saw: the questions as they stood there, with their buttons, and the outputs of
the turn at its end. Each as plain text, and as the text of its HTML. A change of them is a change of what people see:
read the difference before you commit it.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from .. import conftest  # noqa: F401 - the settings of all tests
from ..agent.replay import read
from ..prompts.replaying import Cell, played
from ..real.turns import TRANSCRIPTS
from .allowed import lines_of

FOLDER = Path(__file__).with_name("golden")
AGENTS = {agent: list(paths) for agent, paths in groupby(TRANSCRIPTS, lambda path: path.stem.split("-")[0])}


def shown(agent: str) -> str:
    """All recorded conversations with `agent`, as they are shown today."""
    return "".join(part for path in AGENTS[agent] for part in _conversation(path))


def _conversation(path: Path) -> Iterator[str]:
    yield f"\n======== {path.stem} ========\n"
    for number, cell in enumerate(played(read(path)), 1):
        yield f"\n-------- cell {number}\n"
        yield from looks(cell)


def looks(cell: Cell) -> Iterator[str]:
    """The questions and the outputs of a cell."""
    for number, asked in enumerate(cell.questions, 1):
        yield f"\n-------- question {number}\n{_both(asked.bundle)}-------- buttons\n{' '.join(asked.buttons)}\n"
    for number, output in enumerate(cell.outputs, 1):
        yield f"\n-------- output {number}\n{_both(output)}"


def _both(bundle: dict[str, Any]) -> str:
    lines = (line.rstrip() for line in bundle["text/plain"].splitlines())
    return "\n".join((*lines, "-------- HTML", *lines_of(bundle.get("text/html", "")), ""))


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for agent in AGENTS:
        (FOLDER / f"{agent}.txt").write_text(shown(agent), "utf-8")


if __name__ == "__main__":
    main()
