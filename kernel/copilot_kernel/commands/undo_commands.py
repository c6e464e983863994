"""Commands about what the agent changed: list it, and restore it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from copilot_widgets.field import PickerField

from ..conversation.model import Message
from ..errors import UsageError
from ..notebook.live import OpenDocuments
from ..rendering.plain import first_of, one_line, visible_line, visible_text
from ..rendering.report import Report
from ..undo.cells import CellChange, CellPlan, plan_cells, restore_cells
from ..undo.history import UndoPlan
from ..undo.record import UNCERTAIN, ChangedFile, ListedChange, listed, what_of
from .command_context import CommandContext
from .command_output import CommandOutput, Menu, show_done

Choices = tuple[Sequence[ChangedFile], Sequence[CellChange]]

RESTORE = "restore"
PUT_BACK, PUT_BACK_WHICH = "Put {} back as before {}?", "What should be undone?"
LEFT = "left as it is"
MAX_PROMPT_CHARS = 60
MAX_FILE_BUTTONS = 50
"""Uncertain files with a button of their own."""
NO_CHANGES = "Nothing to undo: no file was changed in this conversation."
NOTHING_LEFT = "Nothing to restore."
ONLY_RAN = "Nothing to restore: this turn only ran {}."
HOW_TO_RESTORE = "Without buttons, type %undo {} restore."
BY_BUTTON = "Click the button to restore this: the change may not be the agent's."
UNASKED = "Nothing was restored, because nobody can be asked here. To restore without asking, use %undo {} restore."


async def changes(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%changes`."""
    turns = (await context.chat_runner.opened()).undo.turns
    rows = [(str(each.turn), *_row(each)) for each in listed(turns)]
    note = "%undo TURN restores files to their state before that turn." if rows else NO_CHANGES
    output.show(Report("Changes", ("Turn", "What", "Change", "By"), rows, note))


async def undo(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%undo [TURN] [restore]`."""
    number, at_once = await _read(context, rest)
    if not number:
        output.show(Report("Undo", note=NO_CHANGES))
        return
    plan, cells = await _plan(context, number)
    if at_once:
        done = await _restore(context, number, (plan.certain, [change for _, change in cells.possible]))
        show_done(output, done or NOTHING_LEFT)
    elif not (plan.certain or plan.uncertain or cells.possible):
        output.show(_report(context, plan, cells, NOTHING_LEFT))
    else:
        await _choose(context, output, plan, cells)


def _row(change: ListedChange) -> tuple[str, str, str]:
    if change.kind in ("command", "note"):
        return change.by, change.kind, ""
    return change.path or "a cell", change.what, change.by


async def _plan(context: CommandContext, number: int) -> tuple[UndoPlan, CellPlan]:
    shown = await context.notebook.open_documents() if context.notebook is not None else OpenDocuments()
    plan = await context.chat_runner.do(lambda chat: chat.undo.plan(number, shown))
    return plan, await plan_cells(context.notebook, plan.turn.cells)


async def _read(context: CommandContext, rest: str) -> tuple[int, bool]:
    """The turn, by default the last, 0 if there is none; and whether not to ask."""
    words = rest.split()
    at_once = words[-1:] == [RESTORE]
    words = words[:-1] if at_once else words
    if len(words) > 1:
        raise UsageError(f'Unknown argument "{rest}".')
    if words:
        return (await context.chat_runner.opened()).undo.number(words[0]), at_once
    turns = (await context.chat_runner.opened()).undo.turns
    return (turns[-1].number if turns else 0), at_once


async def _choose(context: CommandContext, output: CommandOutput, plan: UndoPlan, cells: CellPlan) -> None:
    number = plan.turn.number
    choices = list(_choices(plan, cells))

    async def apply(_: int, index: int) -> str:
        return await _restore(context, number, choices[index][1])

    names = tuple(visible_text(name) for name, _ in choices)
    asked = PUT_BACK_WHICH if len(names) > 1 else ""
    output.show(_report(context, plan, cells))  # a picker hides what is shown in its place where there are no widgets
    how = HOW_TO_RESTORE.format(number) if plan.certain or cells.possible else BY_BUTTON
    static = Report(note=f"{asked} {how}".strip() if output.live else UNASKED.format(number))
    field = PickerField(asked, names, action="Undo")
    await output.choose(Menu(f"undo {number}", (field,), static, lambda: context.chat_runner.chat), apply)


def _choices(plan: UndoPlan, cells: CellPlan) -> Iterator[tuple[str, Choices]]:
    """Return what one click restores, in words, files and cells. Changes that may not be the agent's are apart."""
    names = [*(file.path for file in plan.certain), *(name for name, _ in cells.possible)]
    if names:
        yield first_of(names), (plan.certain, [change for _, change in cells.possible])
    for file in plan.uncertain[:MAX_FILE_BUTTONS]:
        yield f"{visible_line(file.path)} ({UNCERTAIN})", ((file,), ())
    if len(plan.uncertain) > 1:
        yield f"all {len(plan.uncertain)} that {UNCERTAIN}", (plan.uncertain, ())


async def _restore(context: CommandContext, number: int, wanted: Choices) -> str:
    """Restore, and say what was done; empty if nothing was. What is there now counts, not what was offered."""
    plan, cells = await _plan(context, number)
    files = [file for file in (*plan.certain, *plan.uncertain) if file in wanted[0]]
    left = [each for each in plan.skipped if each[0] in {file.path for file in wanted[0]}]
    outcome = await context.chat_runner.do(lambda chat: chat.undo.restore(plan, files))
    done, skipped, all_cells = list(outcome.done), [*outcome.skipped, *left], list[str]()
    if wanted[1] and context.notebook is not None:
        possible = tuple(each for each in cells.possible if each[1] in wanted[1])
        restored, others = await restore_cells(context.notebook, cells._replace(possible=possible))
        (await context.chat_runner.opened()).undo.undone(number, restored)
        all_cells = [] if others or cells.skipped else restored
        done, skipped = [*done, *restored], [*skipped, *others, *cells.skipped]
    await _show(context, number, outcome.done, all_cells)
    reasons = ", ".join(f"{visible_line(name)} ({why})" for name, why in skipped)
    words = (f"Restored: {first_of(done)}." if done else "", f"Skipped: {reasons}." if reasons else "")
    return " ".join(filter(None, words))


async def _show(context: CommandContext, number: int, files: Sequence[str], cells: Sequence[str]) -> None:
    """Show it in the cells of the turn and of later ones that changed files which are as they were before it."""
    undo = (await context.chat_runner.opened()).undo
    keys = [undo.key(turn.number) for turn in undo.turns if turn.number >= number]
    for later, key in enumerate(keys):
        if key in context.undone:
            context.undone[key](files, () if later else cells)


def _report(context: CommandContext, plan: UndoPlan, cells: CellPlan, note: str = "") -> Report:
    rows = [(file.path, _outcome(file), first_of(file.calls)) for file in plan.certain]
    rows += [(name, _outcome(change), "the agent's tools") for name, change in cells.possible]
    rows += [(file.path, _outcome(file), UNCERTAIN) for file in plan.uncertain]
    rows += [(name, LEFT, why) for name, why in (*plan.skipped, *cells.skipped)]
    commands = plan.turn.commands
    count = f"{len(commands)} command{'s' * (len(commands) > 1)}"
    ran = f"Not undone: {count} ({first_of(commands)})." if commands else ""
    if note and commands and not (rows or plan.turn.files or plan.turn.cells.changes):
        ran, note = "", ONLY_RAN.format(count)
    said = context.situation().conversation.entries.of_turn(plan.turn.number)
    prompt = next((one_line(str(each.text)) for each in said if isinstance(each, Message)), "")
    prompt = f"{prompt[:MAX_PROMPT_CHARS]}…" if len(prompt) > MAX_PROMPT_CHARS else prompt
    names = [str(name) for name, outcome, _ in rows if outcome != LEFT]
    before = f"“{prompt}”" if prompt else f"turn {plan.turn.number}"
    title = PUT_BACK.format(first_of(names), before) if names else f"Undo {before}"
    return Report(title, ("File", "Will be", "Changed by"), rows, " ".join(filter(None, (ran, *plan.turn.notes, note))))


def _outcome(change: ChangedFile | CellChange) -> str:
    return {"new": "deleted (it is new)", "deleted": "restored (it was deleted)"}.get(what_of(change), "restored")
