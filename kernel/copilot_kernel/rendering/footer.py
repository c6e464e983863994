"""The end of a turn, beneath the answer: what changed, with a fold to review it, and the facts of the turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from .changes import Command, FileChange, TurnChanges, line_counts
from .diff import diff_html
from .markup import (
    AMBER,
    BLUE,
    GREY,
    NO_MATHS,
    RED,
    UNDERLINED,
    UNDO,
    Bundle,
    bundle,
    escape,
    file_link,
    fold,
    lines,
    muted,
    row,
    span,
)
from .plain import one_line, visible_line

MAX_REVIEWED_LINES = 2_000
"""Of all files together: the calls above show each change, too."""
_MAX_NAMED = 3
_TOUCHED = "Changed or run"
_NOTABLE_PERCENT, _FULL_PERCENT = 50, 80
"""Of the context in use."""
_STOP_REASONS = {
    "end_turn": "",
    "max_tokens": "stopped: the answer reached the token limit",
    "max_turn_requests": "stopped: too many model requests in one turn",
    "refusal": "the agent refused to continue",
    "cancelled": "",  # `render_stopped` says it
    "error": "",  # a card says it
}


@dataclass(frozen=True, slots=True)
class Footer:
    """What is known at the end of a turn.

    `mode` is the agent's, `permission_mode` ours, shown if it is not the default. `unasked` counts the actions that the
    agent took without asking. `used` tokens of `size` are the context, `tokens` those of the turn, `cost` that of the
    session so far. `seconds` is None in batch runs, whose output is compared. `cells` are those of the notebook that
    the agent changed or ran: id and name. `undo` is what `%undo` takes: the front-end extension puts a button there.
    """

    agent: str = ""
    model: str = ""
    mode: str = ""
    permission_mode: str = "default"
    unasked: int = 0
    stop_reason: str = "end_turn"
    used: int | None = None
    size: int | None = None
    tokens: int | None = None
    cost: str = ""
    seconds: float | None = None
    cells: Sequence[tuple[str, str]] = ()
    changes: TurnChanges = field(default_factory=TurnChanges)
    undo: str = ""


def render_footer(footer: Footer) -> Bundle | None:
    """The quiet lines beneath an answer; None if there is nothing to say."""
    facts = [*_remarks(footer), *((fact, GREY) for fact in _quiet(footer))]
    names = ", ".join(name for _, name in footer.cells)
    text = lines((
        _changes_text(footer.changes.files),
        f"{_TOUCHED}: {names}" if names else "",
        " · ".join(fact for fact, _ in facts),
    ))  # fmt: skip
    if not text:
        return None
    said = " · ".join(span(fact, f"color:{colour}") for fact, colour in facts)
    files, undo = footer.changes.files, ""
    if footer.undo:
        undo = f' <span class="{UNDO} {UNDO}-{footer.undo}"></span>'
    facts_row = row(said + ("" if files else undo)) if said or undo else ""
    html = lines((_changes_html(files, footer.changes.cwd, undo), _row_of_cells(footer.cells), facts_row))
    return bundle(f'<div class="{NO_MATHS}" style="font-size:85%;margin-top:4px">{html}</div>', text)


def render_stopped(seconds: float | None = None, *, by_user: bool = True) -> Bundle:
    """The line that ends a cell that was stopped; without `seconds` in batch runs, and for a command."""
    who, time = " by you" if by_user else "", "" if seconds is None else f" after {_time(seconds)}"
    words = f"■ Stopped{who}{time}"
    return bundle(row(muted(words)), words)


def unasked_words(count: int) -> str:
    """How many actions the agent took without asking."""
    return f"⚠ {count} not asked"


def _row_of_cells(cells: Sequence[tuple[str, str]]) -> str:
    """A link to each; the front end scrolls there."""
    links = [f'<a href="#cell-id={quote(id)}" style="{UNDERLINED}">{escape(name)}</a>' for id, name in cells]
    return row(f"{_TOUCHED}: {', '.join(links)}") if links else ""


# -- facts -------------------------------------------------------------------------------------------------------------


def _remarks(footer: Footer) -> Iterator[tuple[str, str]]:
    """What is not always so, and its colour."""
    if reason := _STOP_REASONS.get(footer.stop_reason, f"stopped: {one_line(footer.stop_reason)}"):
        yield reason, AMBER
    if footer.changes.commands:
        yield _commands_words(footer.changes.commands), GREY
    if footer.unasked:
        yield unasked_words(footer.unasked), AMBER
    if footer.changes.refused:
        yield f"{footer.changes.refused} refused", GREY
    if footer.permission_mode != "default":
        colour = RED if footer.permission_mode == "bypassPermissions" else AMBER
        yield f"permissions: {one_line(footer.permission_mode)}", colour
    if footer.used and footer.size and (percent := 100 * footer.used // footer.size) >= _NOTABLE_PERCENT:
        yield f"context {percent} % full", AMBER if percent >= _FULL_PERCENT else GREY


def _quiet(footer: Footer) -> Iterator[str]:
    mode = _unless_default(footer.mode)
    who = ", ".join(filter(None, (one_line(footer.agent), _unless_default(footer.model))))
    tokens = f"{footer.tokens:,} tokens" if footer.tokens else ""
    cost = f"{one_line(footer.cost)} so far" if footer.cost else ""
    time = "" if footer.seconds is None else _time(footer.seconds)
    yield from filter(None, (who, mode and f"mode: {mode}", tokens, cost, time))


def _commands_words(commands: Sequence[Command]) -> str:
    count, failed = len(commands), sum(command.failed for command in commands)
    words = f"{count} command{'s' * (count > 1)}"
    return f"{words}{',' * (count > 1)} {f'{failed} ' * (count > 1)}failed" if failed else words


def _unless_default(name: str) -> str:
    """What is always so is not worth a word."""
    name = one_line(name)
    return "" if name.lower() in ("default", "unknown", "agent") else name


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


# -- changes -----------------------------------------------------------------------------------------------------------


def _changes_text(files: Sequence[FileChange]) -> str:
    """One line for each file."""
    names = [f"{visible_line(file.path)}  {file.words}".rstrip() for file in files]
    if len(names) == 1:
        return f"Changed {names[0]}"
    head = f"Changed {len(files)} files  {line_counts(files)}".rstrip()
    return "\n  ".join((head, *names)) if names else ""


def _changes_html(files: Sequence[FileChange], cwd: str, undo: str) -> str:
    """How many files, and the first names; the fold holds every file with its net change. `undo`: for the button."""
    names = [_name(file, cwd) for file in files[:_MAX_NAMED]]
    if len(files) == 1:
        summary, below = names[0], ""
    else:
        more = [muted(f"{len(files) - _MAX_NAMED} more")] if len(files) > _MAX_NAMED else []
        summary, below = f"{len(files)} files {muted(line_counts(files))}", f"<br>{' · '.join((*names, *more))}"
    if len(files) > _MAX_NAMED or any(file.parts for file in files):
        return fold(f"Changed {summary} {span('Review', f'color:{BLUE}')}{undo}{below}", lines(_review(files, cwd)))
    return row(f"Changed {summary}{undo}{below}") if files else ""


def _name(file: FileChange, cwd: str) -> str:
    return " ".join(filter(None, (_link(file, cwd), muted(file.words))))


def _link(file: FileChange, cwd: str) -> str:
    """A file that is there no longer has none."""
    return file_link(file.path, cwd if file.what in ("new", "changed") else "")


def _review(files: Sequence[FileChange], cwd: str) -> Iterator[str]:
    left = MAX_REVIEWED_LINES
    for file in files:
        size = sum(len(part.lines) + sum(part.left_out) for part in file.parts)
        if not file.parts:
            yield row(_name(file, cwd), muted("(the agent did not show the change)" if file.what == "changed" else ""))
        elif size > left:
            yield row(_name(file, cwd), muted("(too long to be shown again)"))
        else:
            left -= size
            folder = cwd if file.what in ("new", "changed") else ""
            yield from (diff_html(part, file.path, cwd=folder) for part in file.parts)
