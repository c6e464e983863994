"""Context of a prompt from the notebook: the last error, and the cells and variables that the prompt mentions.

`@error`, `@above`, `@cell:ID` and `@var:NAME` stand beside `@path` (see `chat.attachments`). Each becomes an embedded
resource, in a tag; what is in the tags is cut to a budget, all together.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

from ..acp.messages import EmbeddedResource
from ..chat.attachments import without_code
from ..config import Settings
from ..errors import UsageError
from ..notebook.content import (
    CELL,
    SOURCE,
    VARIABLE,
    VARIABLES,
    cell_attributes,
    cell_parts,
    cut,
    read_outputs,
    variable_text,
)
from ..notebook.live import CellError, LiveNotebook, NotebookError, NotebookState
from ..pages.saved_notebook import read_saved
from ..redaction import redactor
from ..tags import parts, tagged

SAVE_FIRST = "Save the notebook, then run this cell again."
FAILED_CELL = "executed last, and failed"
FIX = "fix"
"""A prompt of this word alone is `FIX_PROMPT`, where there is Python."""
FIX_PROMPT = (
    "Fix @error. Inspect the values involved, edit the cell, run it again, and say in one sentence what was wrong."
)
MAX_ERROR_CHARS = 8_000
"""Limit of a failed cell: source and traceback together."""
MAX_VALUES = 20
"""Variables of a failed cell."""
MAX_TABLE_ROWS = 5
"""Limit of a table that is mentioned."""
MAX_FIRST_LINE_CHARS = 60
"""Limit of a cell's first line, in completions."""

_MENTION = re.compile(r"""(?<![^\s(\[{<,;:"'])@(?:(error|above)(?![\w-]|[./:]\w)|(cell|var):([\w-]+))""")
_NAME = re.compile(r"[^\W\d]\w*")
_MENTIONS = (
    ("error", "source and traceback of the cell that has just failed"),
    ("above", "the cell above, with its outputs"),
    ("cell:", "a cell with its outputs, by its id"),
)
_VARIABLE = ("var:", "a variable")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Context that is not cut yet; `how` tells how to read on from an offset. `name` and `attributes` are its tag's."""

    uri: str
    text: str
    how: Callable[[int], str]
    name: str
    attributes: Mapping[str, object]


async def collect(text: str, notebook: LiveNotebook, settings: Settings) -> list[EmbeddedResource]:
    """The context of the prompt `text`, in the order of its mentions, each once, the last error at the end.

    Raises UsageError for a mention of something that does not exist: the agent must not guess what was meant.
    """
    found: dict[str, _Piece] = {}
    try:
        async for piece in _mentioned(text, notebook):
            found.setdefault(piece.uri, piece)
    except NotebookError as error:
        raise UsageError(str(error), error.hint or "Correct the mention, or write it in backticks.") from error
    is_agents_command = text.lstrip().startswith("/")
    if settings.error_context and not is_agents_command and (failed := await notebook.last_error()):
        piece = _error(failed)
        found.setdefault(piece.uri, piece)
    return list(_within(list(found.values()), settings.context_chars))


async def _mentioned(text: str, notebook: LiveNotebook) -> AsyncIterator[_Piece]:
    for word, kind, name in dict.fromkeys(match.groups() for match in _MENTION.finditer(without_code(text))):
        if word == "error":
            failed = await notebook.last_error()
            if failed is None:
                raise NotebookError("No failed cell: the last executed cell did not fail.")
            yield _error(failed, await _values(failed.source, notebook))
        elif word == "above" or kind == "cell":
            state = await notebook.read(None, outputs=False)
            yield await _cell(name or _above(state), state, notebook)
        else:
            yield await _variable(name, notebook)


def _error(failed: CellError, values: str = "") -> _Piece:
    def how(offset: int) -> str:
        return f"read_cell(id={failed.cell_id!r})" if failed.cell_id else "ask the user"

    source = cut(failed.source, how, limit=MAX_ERROR_CHARS // 2)
    traceback = cut(redactor().text(failed.traceback), how, limit=MAX_ERROR_CHARS - len(source))
    text = parts({SOURCE: source, "cell-error": traceback, VARIABLES: values})
    return _Piece("notebook:error", text, how, CELL, {"id": failed.cell_id, "note": FAILED_CELL})


async def _values(source: str, notebook: LiveNotebook) -> str:
    """The variables that `source` names, if the kernel is free to answer."""
    names = set(_NAME.findall(source))
    with suppress(NotebookError):
        found = [each for each in await notebook.list_variables("") if each.name in names]
        return "\n".join(map(variable_text, found[:MAX_VALUES]))
    return ""


def _above(state: NotebookState) -> str:
    """Return the id of the cell above the asking one."""
    ids = [cell.id for cell in state.cells]
    if state.asking not in ids:
        raise NotebookError("The cell above is not known: no page shows this notebook to the agent.", SAVE_FIRST)
    if ids[0] == state.asking:
        raise NotebookError("No cell above this one.")
    return ids[ids.index(state.asking) - 1]


async def _cell(id: str, state: NotebookState, notebook: LiveNotebook) -> _Piece:
    """Return a cell as `read_cell` gives it. The address holds its place in the notebook, by which users know it."""
    cell = (await notebook.read([id], outputs=True)).cells[0]
    number = next((place for place, each in enumerate(state.cells, 1) if each.id == id), 0)
    text = cell_parts(cell.source, read_outputs(cell.outputs).text)
    uri = f"notebook:cell/{quote(id)}?number={number or ''}"
    attributes = cell_attributes(cell, number)
    return _Piece(uri, text, lambda offset: f"read_cell(id={id!r}, offset={offset})", CELL, attributes)


async def _variable(name: str, notebook: LiveNotebook) -> _Piece:
    text = await notebook.inspect_variable(name, "", MAX_TABLE_ROWS)
    uri, how = f"notebook:variable/{quote(name)}", f"inspect_variable(name={name!r}, path=…)"
    return _Piece(uri, text, lambda offset: how, VARIABLE, {"name": name})


def _within(pieces: Sequence[_Piece], budget: int) -> Iterator[EmbeddedResource]:
    """Long texts share what short ones leave of the budget."""
    left, limits = budget, dict[str, int]()
    shortest_first = sorted(pieces, key=lambda piece: len(piece.text))
    for number, piece in enumerate(shortest_first):
        limits[piece.uri] = min(len(piece.text), left // (len(pieces) - number))
        left -= limits[piece.uri]
    for piece in pieces:
        text = cut(piece.text, piece.how, limit=limits[piece.uri])
        yield EmbeddedResource(piece.uri, tagged(piece.name, text, **piece.attributes), mime_type="text/plain")


def value_resources(values: Mapping[str, str]) -> list[EmbeddedResource]:
    """Values that go with a prompt whole, by the names that it gives them."""
    found = ((name, tagged("value", text, *values.values(), name=name)) for name, text in values.items())
    return [EmbeddedResource(f"notebook:value/{quote(name)}", text, mime_type="text/plain") for name, text in found]


# -- completion -----------------------------------------------------------------------------------------------------


def completions(typed: str, saved: str, variables: Iterable[str] | None) -> list[tuple[str, str]]:
    """Mentions that begin with `typed`, without the `@`, and what they are. The cells are those of the saved notebook.

    `variables` are the names of the user's; None where there are none.
    """
    offered = [*_MENTIONS, _VARIABLE] if variables is not None else list(_MENTIONS[1:])
    if typed.startswith("cell:"):
        offered = list(_saved_cells(saved))
    elif typed.startswith("var:"):
        offered = [(f"var:{name}", "") for name in variables or ()]
    return [each for each in offered if each[0].startswith(typed) and each[0] != typed]


def _saved_cells(saved: str) -> Iterator[tuple[str, str]]:
    with suppress(NotebookError):
        for cell in read_saved(saved).cells:
            first_line = cell.source.strip().partition("\n")[0]
            yield f"cell:{cell.id}", first_line[:MAX_FIRST_LINE_CHARS]
