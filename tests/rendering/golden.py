"""`python -m tests.rendering.golden`: write anew what recorded conversations of real agents look like.

The files hold, for each entry, its plain text and the text of its HTML. A change of them is a change of what people
see: read the difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from copilot_kernel.rendering.entry import render

from ..conversation.recorded import TRANSCRIPTS, replayed
from .allowed import text_of

FOLDER = Path(__file__).with_name("golden")
AGENTS = {agent: list(paths) for agent, paths in groupby(TRANSCRIPTS, lambda path: path.stem.split("-")[0])}


def shown(agent: str) -> str:
    """All recorded conversations with `agent`, as they are shown today."""
    return "".join(part for path in AGENTS[agent] for part in _conversation(path))


def _conversation(path: Path) -> Iterator[str]:
    yield f"\n======== {path.stem} ========\n"
    for entry in replayed(path.stem).entries:
        bundle = render(entry, "/project")
        yield f"\n-------- {type(entry).__name__}\n{bundle['text/plain']}\n"
        yield f"-------- HTML\n{text_of(bundle.get('text/html', ''))}\n"


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for agent in AGENTS:
        (FOLDER / f"{agent}.txt").write_text(shown(agent), "utf-8")


if __name__ == "__main__":
    main()
