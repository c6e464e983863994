"""The end of a turn, beneath the answer: what changed, with a fold to review it, and the facts of the turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from ..conversation.changes import FileChange, TurnChanges, kinds_of, line_counts
from ..conversation.outcome import FAILED, TurnOutcome
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
    Shown,
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
"""Limit of all files together: the calls above show each change, too."""
MAX_ALSO_LINES = 500
"""Limit of all files together that changed meanwhile."""
ALSO = "Also changed, perhaps not by the agent"
_CHANGED = "Changed"
_DONE = {"new": "Created", "deleted": "Deleted", "moved": "Moved"}
_BEYOND = "beyond its edits"
_MAX_NAMED, _MAX_NAMED_IN_TEXT = 3, 10
UNDONE = "↶ Undone"
_REVIEW = span("Review", f"color:{BLUE}")
_NOTABLE_PERCENT, _FULL_PERCENT = 50, 80
"""Shares of the context that are worth a remark."""
_DEFAULTS = ("default", "unknown", "agent")  # not worth a word
_STOP_REASONS = {
    "end_turn": "",
    "max_tokens": "stopped: the answer reached the token limit",
    "max_turn_requests": "stopped: too many model requests in one turn",
    "refusal": "the agent refused to continue",
    "cancelled": "",  # a line of its own says it
    "error": "",  # a card says it
}


def footer_bundles(
    turn: TurnOutcome,
    changes: TurnChanges,
    *,
    timed: bool,
    cells: Sequence[tuple[str, str, str]] = (),
    undone: Sequence[str] = (),
) -> tuple[Bundle, ...]:
    """Return the bundles beneath the answer: that `turn` was stopped, and the quiet lines, as far as there are any.

    After a turn that was stopped or has failed, these say only what one should know. `changes` are those of its calls.
    `cells` are those of the notebook: what the agent did to each, such as "edited and ran", its name, and its id unless
    it has gone. `undone` names files and cells that were restored, and are no longer among `changes` and `cells`.
    Without `timed`, for output that is compared, there is neither a time nor the place of the undo button, which the
    front-end extension adds.
    """
    is_stopped, seconds = turn.stop_reason == "cancelled", turn.seconds if timed else None
    line = [render_stopped(seconds, by_user=turn.stopped_by_user)] if is_stopped else []
    facts = (*_remarks(turn, changes), *(() if is_stopped or turn.stop_reason == FAILED else _quiet(turn, seconds)))
    restored = _undone(undone)
    rows = (_changed(changes.files, changes.cwd), _also(changes), _cells(cells), _facts(facts))
    text = lines((restored, *(each.text for each in rows)))
    if not text:
        return tuple(line)
    first, *others = [each.html for each in rows if each.html] or [""]
    undo = turn.undo if timed else ""
    html = lines((row(exposed(restored)) if restored else "", _with_undo(first, undo), *others))
    return (*line, bundle(f'<div class="{NO_MATHS}" style="font-size:85%;margin-top:4px">{html}</div>', text))


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


def _cells(cells: Sequence[tuple[str, str, str]]) -> Shown:
    """A link to each that is there; the front end scrolls there."""
    link = '<a href="#cell-id={}" style="{}">{}</a>'
    shown = ((id, did, exposed(name)) for did, name, id in cells)
    linked = (f"{did} {link.format(quote(id), UNDERLINED, name) if id else name}" for id, did, name in shown)
    html, text = (" · ".join(each) for each in (linked, (f"{did} {name}" for did, name, _ in cells)))
    return Shown(row(_capitalized(html)), _capitalized(text)) if cells else Shown()


def _capitalized(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


# -- facts ------------------------------------------------------------------------------------------------------------


def _facts(facts: Iterable[tuple[str, str]]) -> Shown:
    said = [(words, colour) for words, colour in facts if words]
    html = " · ".join(span(words, f"color:{colour}") for words, colour in said)
    return Shown(row(html) if html else "", " · ".join(words for words, _ in said))


def _remarks(turn: TurnOutcome, changes: TurnChanges) -> Iterable[tuple[str, str]]:
    """Facts that are not always so: words, perhaps none, and their colour."""
    unasked, mode, context = turn.unasked_calls, turn.permission_mode, turn.context
    opened = ", ".join(map(visible_line, dict.fromkeys(changes.opened)))
    count, failed = len(changes.commands), changes.failed
    ran = f"{count} commands{f', {failed} failed' * bool(failed)}" if count > 1 else "1 command failed"
    percent = 100 * context.used // context.size if context and context.used and context.size else 0
    return (
        (_STOP_REASONS.get(turn.stop_reason, f"stopped: {one_line(turn.stop_reason)}"), AMBER),
        (f"⚠ {len(unasked)} not asked: {kinds_of(unasked)}" if unasked else "", AMBER),
        (f"⚠ {opened} changed on disk, not in your page: reload it to see the change" if opened else "", AMBER),
        (f"{changes.refused} denied" if changes.refused else "", GREY),
        (ran if count > 1 or failed else "", GREY),  # the row of a single one says all
        (f"permissions: {one_line(mode)}" if mode != "default" else "", RED if mode == "bypassPermissions" else AMBER),
        *((f"⚠ {one_line(each)}", AMBER) for each in turn.standing),
        (
            f"context {percent} % full" if percent >= _NOTABLE_PERCENT else "",
            AMBER if percent >= _FULL_PERCENT else GREY,
        ),
    )


def _quiet(turn: TurnOutcome, seconds: float | None) -> Iterable[tuple[str, str]]:
    names = map(one_line, (turn.mode, turn.model))
    mode, model = ("" if name.lower() in _DEFAULTS else name for name in names)
    tokens, cost = (turn.usage or {}).get("totalTokens"), _cost(turn)
    quiet = (
        ", ".join(filter(None, (one_line(turn.agent), model))),
        f"mode: {mode}" if mode else "",
        f"{tokens:,} tokens" if tokens and isinstance(tokens, int) else "",
        f"{cost} so far" if cost else "",
        "" if seconds is None else _time(seconds),
    )
    return ((words, GREY) for words in quiet)


def _cost(turn: TurnOutcome) -> str:
    """Return the cost of the session so far, as the agent reports it; empty if it does not."""
    cost = (turn.context.cost if turn.context else None) or {}
    amount, currency = cost.get("amount"), cost.get("currency")
    is_amount = isinstance(amount, int | float) and not isinstance(amount, bool) and amount > 0
    return f"{amount:.4g} {visible_line(currency)}" if is_amount and isinstance(currency, str) else ""


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


# -- changes ----------------------------------------------------------------------------------------------------------


def _changed(files: Sequence[FileChange], cwd: str) -> Shown:
    """Return the number of files, and the first names; the fold holds every file with its net change."""
    if not files:
        return Shown()
    kinds = {file.what for file in files}
    did = _DONE.get(files[0].what, _CHANGED) if len(kinds) == 1 else _CHANGED
    words = [file.words if did == _CHANGED else line_counts((file,)) for file in files]
    is_fold, names = _named([*zip(files, words, strict=True)], cwd)
    more = [muted(f"{len(files) - len(names)} more")] if len(files) > len(names) else []
    summary, below = names[0], ""
    texts = [f"{visible_line(file.path)}  {each}".rstrip() for file, each in zip(files, words, strict=True)]
    if len(files) > 1:
        count, counts = f"{len(files)} files", line_counts(files)
        summary, below = f"{count} {muted(counts)}", f"<br>{' · '.join((*names, *more))}"
        texts = [f"{count}  {counts}".rstrip(), *texts]
    review = _review(files, cwd, MAX_REVIEWED_LINES, (NOT_SHOWN, TOO_LONG_AGAIN))
    folded = fold(f"{did} {summary} {_REVIEW}{below}", lines(review)) if is_fold else ""
    return Shown(folded or row(f"{did} {summary}{below}"), "\n  ".join((f"{did} {texts[0]}", *texts[1:])))


def _also(changes: TurnChanges) -> Shown:
    """One line with the first names; the fold holds every file that is known, with its change."""
    if not changes.also:
        return Shown()
    edited = {file.path for file in changes.files}  # their words would be about both
    files = [(file, _BEYOND if file.path in edited else file.words) for file in changes.also]
    is_fold, names = _named(files, changes.cwd)
    texts = [f"{visible_line(file.path)} {words}".rstrip() for file, words in files[:_MAX_NAMED_IN_TEXT]]
    more, more_in_text = (
        f"and {left} more" if (left := len(files) - len(shown) + changes.more) else "" for shown in (names, texts)
    )
    head, text = f"{ALSO}: {' · '.join(names)} {muted(more)}".rstrip(), f"{ALSO}: {', '.join(texts)} {more_in_text}"
    if not is_fold:
        return Shown(row(head), text.rstrip())
    review = _review(changes.also, changes.cwd, MAX_ALSO_LINES, ("(not shown)", TOO_LONG))
    unknown = row(muted(f"and {changes.more} more")) if changes.more else ""
    return Shown(fold(f"{head} {_REVIEW}", lines((*review, unknown))), text.rstrip())


def _named(files: Sequence[tuple[FileChange, str]], cwd: str) -> tuple[bool, list[str]]:
    """Return the first names with their words: links unless a summary, itself a control, holds them."""
    is_fold = len(files) > _MAX_NAMED or any(file.parts for file, _ in files)
    return is_fold, [_name(file, words, "" if is_fold else cwd) for file, words in files[:_MAX_NAMED]]


def _name(file: FileChange, words: str, cwd: str) -> str:
    return f"{file_link(file.path, _folder(file, cwd))} {muted(words)}".rstrip()


def _folder(file: FileChange, cwd: str) -> str:
    """Return the folder where links to a file begin; none for a file that is gone."""
    return cwd if file.what in ("new", "changed") else ""


def _review(files: Sequence[FileChange], cwd: str, left: int, remarks: tuple[str, str]) -> Iterator[str]:
    """Each with its change, up to `left` lines; `remarks`: where none is known, and where it is too long."""
    for file in files:
        size = sum(len(part.lines) + sum(part.left_out) for part in file.parts)
        if not file.parts or size > left:
            remark = remarks[1] if file.parts else remarks[0] if file.what == "changed" else ""
            yield row(_name(file, file.words, cwd), muted(remark))
        else:
            left -= size
            yield from (diff_html(part, file.path, cwd=_folder(file, cwd)) for part in file.parts)
