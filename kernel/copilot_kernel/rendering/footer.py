"""The end of a turn, beneath the answer: what changed, with a fold to review it, and the facts of the turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from ..conversation.model import ToolCall
from .changes import FileChange, TurnChanges, kinds_of, line_counts
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
    exposed,
    file_link,
    fold,
    lines,
    muted,
    row,
    span,
)
from .plain import one_line, visible_line

TOO_LONG = "(too long to be shown)"
TOO_LONG_AGAIN = "(too long to be shown again)"
NOT_SHOWN = "(the agent did not show the change)"
MAX_REVIEWED_LINES = 2_000
"""Of all files together: the calls above show each change, too."""
MAX_ALSO_LINES = 500
"""Of all files together that changed meanwhile."""
ALSO = "Also changed during the turn (may not be the agent's)"
_BEYOND = "beyond its edits"
_MAX_NAMED, _MAX_NAMED_IN_TEXT = 3, 10
UNDONE = "↶ Undone"
_REVIEW = span("Review", f"color:{BLUE}")
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

    `mode` is the agent's, `permission_mode` ours, shown if it is not the default. `unasked` are the calls that the
    agent did not ask about. `used` tokens of `size` are the context, `tokens` those of the turn, `cost` that of the
    session so far. `seconds` is None in batch runs, whose output is compared. `cells` are those of the notebook: what
    the agent did to each, such as "edited and ran", its name, and its id unless it has gone. `undo` is what `%undo`
    takes: the front-end extension puts a button there. `undone` names files and cells that were restored, and are no
    longer among `changes` and `cells`. `standing`: see `AgentCommands.standing`.
    """

    agent: str = ""
    model: str = ""
    mode: str = ""
    permission_mode: str = "default"
    unasked: Sequence[ToolCall] = ()
    stop_reason: str = "end_turn"
    used: int | None = None
    size: int | None = None
    tokens: int | None = None
    cost: str = ""
    seconds: float | None = None
    cells: Sequence[tuple[str, str, str]] = ()
    changes: TurnChanges = field(default_factory=TurnChanges)
    undo: str = ""
    undone: Sequence[str] = ()
    standing: Sequence[str] = ()


def render_footer(footer: Footer) -> Bundle | None:
    """The quiet lines beneath an answer; None if there is nothing to say."""
    changes, undone = footer.changes, _undone(footer.undone)
    facts = [*_remarks(footer), *((fact, GREY) for fact in _quiet(footer))]
    text = lines((
        undone,
        _changes_text(changes.files),
        _also_text(changes),
        _capitalized(" · ".join(f"{did} {name}" for did, name, _ in footer.cells)),
        " · ".join(fact for fact, _ in facts),
    ))  # fmt: skip
    if not text:
        return None
    said = " · ".join(span(fact, f"color:{colour}") for fact, colour in facts)
    rows = filter(None, (
        _changes_html(changes.files, changes.cwd),
        _also_html(changes),
        _row_of_cells(footer.cells),
        row(said) if said else "",
    ))  # fmt: skip
    html = lines((row(exposed(undone)) if undone else "", _with_undo(next(rows, ""), footer.undo), *rows))
    return bundle(f'<div class="{NO_MATHS}" style="font-size:85%;margin-top:4px">{html}</div>', text)


def _with_undo(line: str, turn: str) -> str:
    """The line of what has changed, with the place of the button beside it: a fold's summary is a control itself."""
    place = f'<span class="{UNDO} {UNDO}-{turn}"></span>'
    return f'<div style="display:flex"><div style="min-width:0">{line}</div>{place}</div>' if turn else line


def _undone(names: Sequence[str]) -> str:
    shown = [visible_line(name) for name in names[:_MAX_NAMED]]
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    listed = " and ".join(filter(None, (", ".join((shown + more)[:-1]), *(shown + more)[-1:])))
    return f"{UNDONE} · {listed} {'is as it was' if len(names) == 1 else 'are as they were'}" if names else ""


def render_stopped(seconds: float | None = None, *, by_user: bool = True) -> Bundle:
    """The line that ends a cell that was stopped; without `seconds` in batch runs, and for a command."""
    who, time = " by you" if by_user else "", "" if seconds is None else f" after {_time(seconds)}"
    words = f"■ Stopped{who}{time}"
    return bundle(row(muted(words)), words)


def _row_of_cells(cells: Sequence[tuple[str, str, str]]) -> str:
    """A link to each that is there; the front end scrolls there."""
    link = '<a href="#cell-id={}" style="{}">{}</a>'
    named = ((did, exposed(name), quote(id)) for did, name, id in cells)
    said = " · ".join(f"{did} {link.format(id, UNDERLINED, name) if id else name}" for did, name, id in named)
    return row(_capitalized(said)) if said else ""


def _capitalized(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


# -- facts -------------------------------------------------------------------------------------------------------------


def _remarks(footer: Footer) -> Iterator[tuple[str, str]]:
    """What is not always so, and its colour."""
    if reason := _STOP_REASONS.get(footer.stop_reason, f"stopped: {one_line(footer.stop_reason)}"):
        yield reason, AMBER
    if footer.unasked:
        yield f"⚠ {len(footer.unasked)} not asked: {kinds_of(footer.unasked)}", AMBER
    if names := ", ".join(map(visible_line, dict.fromkeys(footer.changes.opened))):
        yield f"⚠ {names} changed on disk, not in your page: reload it to see the change", AMBER
    if footer.changes.refused:
        yield f"{footer.changes.refused} denied", GREY
    count, failed = len(footer.changes.commands), sum(command.failed for command in footer.changes.commands)
    if count > 1 or failed:  # the row of a single one says all
        which = "failed" if count == 1 else f"{failed} failed"
        yield f"{count} command{'s' * (count > 1)}" + f", {which}" * bool(failed), GREY
    if footer.permission_mode != "default":
        colour = RED if footer.permission_mode == "bypassPermissions" else AMBER
        yield f"permissions: {one_line(footer.permission_mode)}", colour
    yield from ((f"⚠ {one_line(each)}", AMBER) for each in footer.standing)
    if footer.used and footer.size and (percent := 100 * footer.used // footer.size) >= _NOTABLE_PERCENT:
        yield f"context {percent} % full", AMBER if percent >= _FULL_PERCENT else GREY


def _quiet(footer: Footer) -> Iterator[str]:
    mode = _unless_default(footer.mode)
    who = ", ".join(filter(None, (one_line(footer.agent), _unless_default(footer.model))))
    tokens = f"{footer.tokens:,} tokens" if footer.tokens else ""
    cost = f"{one_line(footer.cost)} so far" if footer.cost else ""
    time = "" if footer.seconds is None else _time(footer.seconds)
    yield from filter(None, (who, mode and f"mode: {mode}", tokens, cost, time))


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


def _changes_html(files: Sequence[FileChange], cwd: str) -> str:
    """How many files, and the first names; the fold holds every file with its net change.

    The names are links where no summary holds them: it is a control itself.
    """
    is_fold = len(files) > _MAX_NAMED or any(file.parts for file in files)
    names = [_name(file, "" if is_fold else cwd) for file in files[:_MAX_NAMED]]
    if len(files) == 1:
        summary, below = names[0], ""
    else:
        more = [muted(f"{len(files) - _MAX_NAMED} more")] if len(files) > _MAX_NAMED else []
        summary, below = f"{len(files)} files {muted(line_counts(files))}", f"<br>{' · '.join((*names, *more))}"
    if is_fold:
        review = _review(files, cwd, MAX_REVIEWED_LINES, (NOT_SHOWN, TOO_LONG_AGAIN))
        return fold(f"Changed {summary} {_REVIEW}{below}", lines(review))
    return row(f"Changed {summary}{below}") if files else ""


def _name(file: FileChange, cwd: str) -> str:
    return " ".join(filter(None, (_link(file, cwd), muted(file.words))))


def _link(file: FileChange, cwd: str) -> str:
    """A file that is there no longer has none."""
    return file_link(file.path, cwd if file.what in ("new", "changed") else "")


def _also_text(changes: TurnChanges) -> str:
    """One line."""
    named = [f"{visible_line(file.path)} {words}".rstrip() for file, words in _also(changes)[:_MAX_NAMED_IN_TEXT]]
    more = len(changes.also) - len(named) + changes.more
    return f"{ALSO}: {', '.join(named)}{f' and {more} more' if more else ''}" if named else ""


def _also_html(changes: TurnChanges) -> str:
    """The first names; the fold holds every file that is known, with its change."""
    if not changes.also:
        return ""
    is_fold = len(changes.also) > _MAX_NAMED or any(file.parts for file in changes.also)
    cwd = "" if is_fold else changes.cwd
    named = [f"{_link(file, cwd)} {muted(words)}".rstrip() for file, words in _also(changes)[:_MAX_NAMED]]
    more = len(changes.also) - len(named) + changes.more
    head = f"{ALSO}: {' · '.join(named)} {muted(f'and {more} more' if more else '')}".rstrip()
    if not is_fold:
        return row(head)
    review = _review(changes.also, changes.cwd, MAX_ALSO_LINES, ("(not shown)", TOO_LONG))
    left = row(muted(f"and {changes.more} more")) if changes.more else ""
    return fold(f"{head} {_REVIEW}", lines((*review, left)))


def _also(changes: TurnChanges) -> list[tuple[FileChange, str]]:
    """Each with its words; those of files with edits, too, would be about both."""
    edited = {file.path for file in changes.files}
    return [(file, _BEYOND if file.path in edited else file.words) for file in changes.also]


def _review(files: Sequence[FileChange], cwd: str, left: int, remarks: tuple[str, str]) -> Iterator[str]:
    """Each with its change, up to `left` lines; `remarks`: where none is known, and where it is too long."""
    for file in files:
        size = sum(len(part.lines) + sum(part.left_out) for part in file.parts)
        if not file.parts:
            yield row(_name(file, cwd), muted(remarks[0] if file.what == "changed" else ""))
        elif size > left:
            yield row(_name(file, cwd), muted(remarks[1]))
        else:
            left -= size
            folder = cwd if file.what in ("new", "changed") else ""
            yield from (diff_html(part, file.path, cwd=folder) for part in file.parts)
