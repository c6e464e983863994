"""`%permissions`: show the mode, the rules and what was decided; change mode and rules."""

from __future__ import annotations

from collections.abc import Sequence

from anyio import to_thread
from copilot_widgets.field import PickerField

from ..chat.choices import Choice
from ..chat.running_files import Item
from ..chat.trust import still_withheld
from ..chat.variables import NOT_GIVEN, TO_GIVE, named
from ..config import MODE_NAMES, PERMISSION_MODES, SETTINGS
from ..errors import UsageError
from ..permissions.offers import in_words, rule_problem
from ..permissions.rulebook import HERE, Kind, StatedRule, check, parse
from ..rendering.plain import quoted
from ..rendering.report import Report
from .command_context import CommandContext, CommandState, Completions
from .command_output import CommandOutput, Menu, show_done

SAVE_OPTION, REMOVE, FORGET = "--save", "Remove", "Forget"
GIVE, GIVEN = "Give them", "Given to the agent, which starts again with the next prompt: {}"
TO_ALLOW_MORE = "That allows more. Run %permissions mode {}, which asks you first."
BYPASSING = (
    "You will not be asked: everything is allowed except what an ask or deny rule matches. "
    "%permissions mode default ends this."
)
_MEANINGS = {
    "default": "you are asked before anything is changed or run, unless a rule allows it",
    "acceptEdits": "files of the project are changed, moved and deleted without asking; the rest asks",
    "bypassPermissions": "all is allowed without asking, except what an ask or deny rule matches",
    "plan": "every request to change or run something is denied",
    "sandboxed": "what the agent does in its sandbox needs no question; the rest is as in “Edit freely”",
}
MODES = {mode: f"{name}: {_MEANINGS[mode]}" for mode, name in MODE_NAMES.items()}
ACTIONS = {
    "mode": "change what is allowed without asking",
    "allow": "allow what a rule matches, without asking",
    "ask": "always ask about what a rule matches",
    "deny": "reject what a rule matches, without asking",
    "remove": "take a rule back",
    "revoke": "forget an answer about a file or setting, by its id",
    "give": "give the agent the variables of the project's .env and .envrc",
}
RULES = {
    "Read": "reading files of the project; Read(docs/**) of a folder",
    "Grep": "searching in files of the project",
    "Edit": "changing, deleting and moving files of the project; Edit(src/**) of a folder",
    "Bash(": "a command, word for word, such as Bash(git status); with * at the end, whatever follows",
    "WebFetch(domain:": "addresses of one host, such as WebFetch(domain:example.com)",
    "mcp__": "a tool of an MCP server, such as mcp__server__tool",
}

_ON_UNASKED = {"badge": "mark it in the answer", "cancel": "mark it in the answer, and cancel the turn"}
_CHANGE = "%permissions allow|ask|deny RULE adds one for this conversation, %permissions remove RULE takes it back."


async def permissions(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%permissions [mode NAME | allow RULE | ask RULE | deny RULE | remove RULE | revoke ID | give]`."""
    action, _, operand = rest.partition(" ")
    match action:
        case "":
            await _overview(context, output)
        case "mode":
            await _mode(context, output, operand.strip())
        case "allow" | "ask" | "deny":
            await _add(context, output, action, operand.strip())
        case "remove":
            await _confirm_removal(context, output, operand.strip())
            show_done(output, await _remove(context, operand.strip()))
        case "give":
            items = await to_thread.run_sync(still_withheld, context.settings)
            await output.confirm(f"This gives the agent {named(items) or 'nothing'}", GIVE)
            show_done(output, await _give(context, items))
        case "revoke":
            show_done(output, await _revoke(context, operand.strip()))
        case _:
            raise UsageError(f'Unknown argument "{action}".')


async def offer_variables(context: CommandContext, output: CommandOutput) -> None:
    """Say which variables of the project the agent is not given; with a button, where there are widgets."""
    if items := await to_thread.run_sync(still_withheld, context.settings):
        field, line = PickerField(NOT_GIVEN, (named(items),), action=GIVE), f"{NOT_GIVEN}: {named(items)}. {TO_GIVE}"
        menu = Menu("permissions give", (field,), Report(note=line), lambda: None)
        await output.choose(menu, lambda *_: _give(context, items))


async def _give(context: CommandContext, items: Sequence[Item]) -> str:
    """Give the agent the variables of these files, from now on; return what was done, for the user."""
    await to_thread.run_sync((await context.chat_runner.opened()).trust.store.remember, items, "trusted")
    await context.chat_runner.do(lambda chat: chat.restart())
    return GIVEN.format(named(items))


def complete(now: CommandState, typed: str) -> Completions:
    """Completions after `%permissions`."""
    action, blank, operand = typed.partition(" ")
    if not blank:
        return 0, _choices(ACTIONS)
    start = len(action) + 1
    match action:
        case "mode":
            return start, _choices(MODES)
        case "remove":
            return start, [Choice(each.text, each.text, each.kind) for each in now.in_force.listed]
        case "allow" | "ask" | "deny" if " " not in operand:
            return start, _choices(RULES)
        case "allow" | "ask" | "deny":
            return typed.rindex(" ") + 1, _choices({SAVE_OPTION: "from now on, in your config file"})
    return 0, ()


async def _overview(context: CommandContext, output: CommandOutput) -> None:
    """Show the mode, the rules and answers, which can be changed there, and what was decided."""
    now = context.situation(output.live)
    allowed = [each for each in now.in_force.listed if each.kind == "allow" and rule_problem(each.text) is None]
    mode = PERMISSION_MODES.index(now.in_force.mode)
    answers = tuple(f"{each.name}{each.folder and f' in {each.folder}'}: {each.answer}" for each in now.trusted)

    async def apply(field: int, index: int) -> str:
        if fields[field].action == REMOVE:
            return await _remove(context, allowed[index].text)
        if fields[field].action == FORGET:
            return await _revoke(context, now.trusted[index].id)
        chosen, chat = PERMISSION_MODES[index], await context.chat_runner.opened()
        if SETTINGS["permission_mode"].is_wider(chat.book.mode, chosen):  # one click is too little for that
            raise UsageError(TO_ALLOW_MORE.format(chosen))
        chat.set_permission_mode(chosen)
        return MODES[chosen]

    fields = [PickerField("Permissions", tuple(MODE_NAMES.values()), mode, tuple(MODES.values()))]
    if allowed:
        fields.append(PickerField("Allowed without asking", tuple(map(_sentence, allowed)), action=REMOVE))
    if answers:
        fields.append(PickerField("Your answers", answers, action=FORGET))
    await output.choose(Menu("permissions", tuple(fields), _mode_report(now), lambda: None), apply)
    for report in (_rules_report(now), *([_trust_report(now)] if answers and now.live else ())):
        output.show(report)
    if now.decisions:
        output.show(_decisions_report(now))


def _sentence(stated: StatedRule) -> str:
    words = in_words(parse(stated.text))
    return f"{words[:1].upper()}{words[1:]}: {stated.origin}"


def _choices(words: dict[str, str]) -> list[Choice]:
    return [Choice(word, word, about=about) for word, about in words.items()]


async def _mode(context: CommandContext, output: CommandOutput, name: str) -> None:
    if name:
        mode = next((mode for mode in PERMISSION_MODES if mode.casefold() == name.casefold()), name)
        before = context.situation(output.live).in_force.mode
        if mode in PERMISSION_MODES and SETTINGS["permission_mode"].is_wider(before, mode):
            change = f"This changes permissions from “{MODE_NAMES[before]}” to “{MODE_NAMES[mode]}”"
            await output.confirm(change, MODE_NAMES[mode])

        (await context.chat_runner.opened()).set_permission_mode(mode)
    output.show(_mode_report(context.situation(output.live)))


async def _add(context: CommandContext, output: CommandOutput, kind: Kind, typed: str) -> None:
    """A rule that allows everything may be meant so: add it, then warn."""
    rule = typed.removesuffix(SAVE_OPTION).strip()
    _require(rule, kind)
    warning = check(rule) if kind == "allow" else ""
    if kind == "allow":
        await output.confirm(f"This allows {rule} without asking", "Allow it")
    show_done(
        output,
        await context.chat_runner.do(
            lambda chat: chat.permissions.policy.add_rule(kind, rule, to_settings=typed.endswith(SAVE_OPTION))
        ),
    )
    if warning:
        output.show(Report(note=f"{rule}: {warning}", warns=True))


async def _confirm_removal(context: CommandContext, output: CommandOutput, rule: str) -> None:
    _require(rule, "remove")
    if any(each.text == rule and each.kind != "allow" for each in context.situation().in_force.listed):
        await output.confirm(f"This removes the rule {rule}", "Remove it")


async def _remove(context: CommandContext, rule: str) -> str:
    """Remove a rule in this conversation; return what was done, for the user."""
    chat = await context.chat_runner.opened()
    origins = {each.origin for each in chat.book.listed if each.text == rule}
    chat.permissions.policy.book = chat.book.without(rule)
    places = ", ".join(sorted(origins - {HERE}))
    elsewhere = f". It is still in: {places}" if places else ""
    return f"No longer in force in this conversation: {rule}{elsewhere}"


async def _revoke(context: CommandContext, id: str) -> str:
    """Forget an answer about a file or setting; return what was done, for the user."""
    revoked = await to_thread.run_sync((await context.chat_runner.opened()).trust.store.revoke, id)
    where = f" in {revoked.folder}" if revoked.folder else ""
    return f"Forgotten: {revoked.name}{where} was {revoked.answer}"


def _require(rule: str, action: str) -> None:
    if not rule:
        raise UsageError(f"%permissions {action} needs a rule.", f"For example: %permissions {action} Bash(git status)")


def _mode_report(now: CommandState) -> Report:
    book = now.in_force
    name, meaning = MODE_NAMES[book.mode], _MEANINGS[book.mode]
    origin = () if book.mode_origin == "default" else (("Set by", book.mode_origin),)
    rows = (
        ("Mode", f"{name} ({book.mode})"),
        *origin,
        ("If the agent acts without asking", _ON_UNASKED.get(now.settings.on_unasked, now.settings.on_unasked)),
    )
    bypasses = book.mode == "bypassPermissions"
    note = f"{meaning[:1].upper()}{meaning[1:]}. %permissions mode NAME changes it for this conversation."
    return Report("Permissions", rows=rows, note=BYPASSING if bypasses else note, alarms=bypasses)


def _rules_report(now: CommandState) -> Report:
    book = now.in_force
    rows = tuple((each.kind, each.text, each.origin) for each in book.listed)
    if not rows:
        return Report("Rules", note=f"None. {_CHANGE}")
    doubts = " ".join((*book.problems, *book.warnings))
    return Report("Rules", ("", "Rule", "From"), rows, doubts or _CHANGE, warns=bool(doubts))


def _trust_report(now: CommandState) -> Report:
    """Report the answers about files that make agents run programs, and about variables."""
    rows = tuple((each.id, each.name, each.folder, each.answer) for each in now.trusted)
    return Report("Answers", ("Id", "About", "Folder", "How"), rows, "%permissions revoke ID takes it back.")


def _decisions_report(now: CommandState) -> Report:
    rows = tuple(
        (str(each.number), each.what, each.outcome, each.by, each.rule, quoted(each.reason)) for each in now.decisions
    )
    missing = now.decisions[0].number - 1
    note = f"The first {missing} are no longer kept." if missing else ""
    return Report("Decisions", ("", "About", "Decision", "By", "Rule", "Why"), rows, note)
