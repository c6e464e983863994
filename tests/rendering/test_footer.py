"""The lines beneath an answer."""

import re
from dataclasses import replace
from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff, UsageUpdate
from copilot_kernel.conversation.changes import FileChange, TurnChanges, changes_of
from copilot_kernel.conversation.line_diff import between
from copilot_kernel.conversation.model import ToolCall, Unasked
from copilot_kernel.conversation.outcome import FAILED, TurnOutcome
from copilot_kernel.rendering.footer import (
    ALSO,
    MAX_ALSO_LINES,
    MAX_REVIEWED_LINES,
    NOT_SHOWN,
    TOO_LONG,
    TOO_LONG_AGAIN,
    UNDONE,
    footer_bundles,
)
from copilot_kernel.rendering.markup import AMBER, RED

from .allowed import problems, text_of
from .hostile import HOSTILE

NOT_ASKED = Unasked("not asked")
RUN, EDIT = (ToolCall(0, 1, kind, kind=kind, unasked=NOT_ASKED) for kind in ("execute", "edit"))
NO_CHANGES = TurnChanges()


def changed(*names: str) -> TurnChanges:
    return TurnChanges(tuple(FileChange(name, "changed", (between("a\n", "b\nc\n"),)) for name in names))


def turn(
    agent: str = "", model: str = "", mode: str = "", *, calls=(), stop_reason="end_turn", **more: Any
) -> TurnOutcome:
    return TurnOutcome(1, stop_reason, "", calls, "", agent, model, mode, **more)


def shown(
    ended: TurnOutcome | None = None, changes: TurnChanges = NO_CHANGES, *, timed: bool = False, **more: Any
) -> tuple[str, str]:
    """Plain text and HTML."""
    [bundle] = footer_bundles(ended or turn(), changes, timed=timed, **more)
    assert problems(bundle["text/html"]) == []
    return bundle["text/plain"], bundle["text/html"]


def context(used: int, size: int, **cost: Any) -> UsageUpdate:
    return UsageUpdate(used, size, cost or None)


@pytest.mark.parametrize(("ended", "words"), [
    (turn("Copilot", "m", "Plan"), "Copilot, m · mode: Plan"),
    (turn("a", "unknown", "default"), "a"),
    (turn("a", context=context(499, 1000)), "a"),
    (turn("a", context=context(500, 1000)), "context 50 % full · a"),
    (turn("a", context=context(8728, 0)), "a"),
    (turn("a", stop_reason="tired"), "stopped: tired · a"),
    (turn("a", "m", calls=(RUN,), stop_reason=FAILED, permission_mode="plan", usage={"totalTokens": 1}),
     "⚠ 1 not asked: 1 command · permissions: plan"),
    (turn("a", standing=("does not ask: mode yolo", "runs without a prompt: /every 1m")),
     "⚠ does not ask: mode yolo · ⚠ runs without a prompt: /every 1m · a"),
    (turn("a", calls=(RUN, EDIT, RUN)), "⚠ 3 not asked: 1 edit, 2 commands · a"),
    (turn("a", usage={"totalTokens": 12_345}, context=context(1, 9, amount=0.0055, currency="USD")),
     "a · 12,345 tokens · 0.0055 USD so far"),
    (turn("a", usage={"totalTokens": "many"}, context=context(1, 9, amount=True, currency="USD")), "a"),
    (turn("a", usage={}, context=context(1, 9, amount=0, currency="USD")), "a"),
    (turn("a", context=context(1, 9, amount="1", currency="USD")), "a"),
    (turn("a", context=context(1, 9, amount=1)), "a"),
])  # fmt: skip
def test_facts_of_a_turn_in_words(ended: TurnOutcome, words: str) -> None:
    text, html = shown(ended)
    assert (text, text_of(html)) == (words, words)


@pytest.mark.parametrize(("seconds", "words"), [(3.21, "a · 3.2 s"), (75, "a · 1 min 15 s")])
def test_the_time_is_shown_unless_the_output_is_compared(seconds: float, words: str) -> None:
    assert [shown(turn("a", seconds=seconds), timed=timed)[0] for timed in (True, False)] == [words, "a"]


def test_a_turn_that_was_stopped_says_so_and_no_more_than_one_should_know() -> None:
    ended = turn("a", stop_reason="cancelled", seconds=2.0, calls=(RUN,), stopped_by_user=True)
    line, rest = (each["text/plain"] for each in footer_bundles(ended, NO_CHANGES, timed=True))
    assert (line, rest) == ("■ Stopped by you after 2.0 s", "⚠ 1 not asked: 1 command")


@pytest.mark.parametrize(("more", "words"), [
    ({"changes": TurnChanges(commands=("ls",))}, "a"),
    ({"changes": TurnChanges(commands=("ls",), failed=1)}, "1 command failed · a"),
    ({"changes": TurnChanges(commands=("ls", "pwd"), failed=1, refused=3)}, "3 denied · 2 commands, 1 failed · a"),
    ({"undone": ("a.py",)}, f"{UNDONE} · a.py is as it was\na"),
    ({"undone": ("a", "b", "cell 2")}, f"{UNDONE} · a, b and cell 2 are as they were\na"),
    ({"undone": tuple("abcdef")}, f"{UNDONE} · a, b, c and 3 more are as they were\na"),
    ({"cells": (("deleted", "cell 5 (<b>)", ""), ("inserted", "cell 6", ""))},
     "Deleted cell 5 (<b>) · inserted cell 6\na"),
])  # fmt: skip
def test_what_was_done_in_words(more: dict[str, Any], words: str) -> None:
    text, html = shown(turn("a"), **more)
    assert (text, text_of(html)) == (words, words)


def test_a_mode_that_never_asks_is_red_and_without_facts_there_is_no_footer() -> None:
    for mode in ("acceptEdits", "bypassPermissions"):
        _, html = shown(turn("a", permission_mode=mode))
        assert (RED in html) == (mode == "bypassPermissions")
    assert footer_bundles(turn(), NO_CHANGES, timed=False) == ()


def test_what_was_not_asked_is_amber_and_failed_commands_are_quiet() -> None:
    _, html = shown(turn(calls=(RUN,)), TurnChanges(commands=("ls",), failed=1))
    assert (AMBER in html, RED in html) == (True, False)


def test_three_files_are_named_and_the_fold_has_them_all() -> None:
    text, html = shown(turn("a"), changed("a.py", "b.py", "c.py", "d.py", "e.py"))
    names = "\n".join(f"  {name}.py  +2 −1" for name in "abcde")
    assert text == f"Changed 5 files  +10 −5\n{names}\na"
    summary, _, review = html.partition("</summary>")
    assert text_of(f"{summary}</summary></details></div>") == (
        "Changed 5 files +10 −5 Reviewa.py +2 −1 · b.py +2 −1 · c.py +2 −1 · 2 more"
    )
    assert [review.count(f"{name}.py") for name in "abcde"] == [1] * 5
    assert ("- a" in text_of(review), "+ c" in text_of(review)) == (True, True)


def test_one_file_needs_no_list() -> None:
    text, html = shown(changes=changed("a.py"))
    assert text == "Changed a.py  +2 −1"
    assert text_of(html).startswith("Changed a.py +2 −1 Review")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((FileChange("a.py", "new", (between("", "a\nb\n"),)),), "Created a.py  +2"),
        ((FileChange("a.py", "deleted", (between("a\n", ""),)),), "Deleted a.py  −1"),
        ((FileChange("a.py", "moved"),), "Moved a.py"),
        ((FileChange("a.py", "new"), FileChange("b.py", "new")), "Created 2 files\n  a.py\n  b.py"),
        ((FileChange("a.py", "new"), FileChange("b.py", "deleted")), "Changed 2 files\n  a.py  new\n  b.py  deleted"),
    ],
)
def test_what_was_done_to_files_alike_is_said_once(files: tuple[FileChange, ...], words: str) -> None:
    assert shown(changes=TurnChanges(files))[0] == words


def test_the_heads_of_the_review_are_links_to_files_that_are_there_and_its_summary_has_none() -> None:
    names = ("src/a.py", "/etc/hosts", "../up.py")
    gone = FileChange("gone.py", "deleted", (between("a\n", ""),))
    _, html = shown(changes=replace(changed(*names), files=(gone, *changed(*names).files), cwd="/project"))
    assert re.findall('<a href="([^"]*)"', html) == ["src/a.py"]
    assert "<a " not in html.partition("</summary>")[0]


def test_names_without_a_review_are_links() -> None:
    found = TurnChanges(files=(FileChange("src/a.py", "changed"),), also=(FileChange("b.py", "new"),), cwd="/project")
    _, html = shown(changes=found)
    assert re.findall('<a href="([^"]*)"', html) == ["src/a.py", "b.py"]


def test_what_else_changed_is_one_line_with_a_review_of_its_own() -> None:
    also = (*changed("a.py", "b.py").files, FileChange("c.bin", "changed"), FileChange("d", "new"))
    text, html = shown(changes=replace(changed("a.py"), also=also, more=12))
    assert text == f"Changed a.py  +2 −1\n{ALSO}: a.py beyond its edits, b.py +2 −1, c.bin, d new and 12 more"
    review = text_of(html).partition("Also")[2]
    assert review.startswith(f"{ALSO}: a.py beyond its edits · b.py +2 −1 · c.bin and 13 more Review"[4:])
    assert ("c.bin (not shown)" in review, review.endswith("and 12 more")) == (True, True)


def test_in_text_ten_files_are_named_and_the_rest_is_counted() -> None:
    text, _ = shown(changes=TurnChanges(also=changed(*"abcdefghijkl").files, more=1))
    assert text.endswith("j +2 −1 and 3 more")


def test_without_content_what_else_changed_is_not_folded() -> None:
    changes = TurnChanges(also=(FileChange("d", "new"),))
    assert (shown(changes=changes)[0], "<details>" in shown(changes=changes)[1]) == (f"{ALSO}: d new", False)
    [bundle] = footer_bundles(turn(undo="1-ab"), changes, timed=True)
    assert bundle["text/html"].count("copilot-undo-1-ab") == 1


def test_the_review_of_others_is_short() -> None:
    long = between(None, "x\n" * (MAX_ALSO_LINES + 1))
    _, html = shown(changes=TurnChanges(also=(FileChange("a.csv", "new", (long,)),)))
    assert f"a.csv new {TOO_LONG}" in text_of(html)


def test_without_a_change_to_show_there_is_nothing_to_review() -> None:
    files = (FileChange("a.py", "deleted"), FileChange("b.py", "changed"))
    text, html = shown(changes=TurnChanges(files))
    assert text == "Changed 2 files\n  a.py  deleted\n  b.py"
    assert "<details>" not in html


def test_the_review_says_what_it_cannot_show() -> None:
    long = between(None, "x\n" * MAX_REVIEWED_LINES)
    files = (FileChange("a.py", "new", (long,)), FileChange("b.py", "changed"), *changed("c.py").files)
    text, html = shown(changes=TurnChanges(files))
    assert text == f"Changed 3 files  +{MAX_REVIEWED_LINES + 2} −1\n  a.py  new\n  b.py\n  c.py  +2 −1"
    review = text_of(html)
    assert f"a.py new {TOO_LONG_AGAIN}" in review
    assert f"b.py {NOT_SHOWN}" in review
    assert "+ c" in review


def test_cells_that_are_there_are_linked() -> None:
    [bundle] = footer_bundles(
        turn(), NO_CHANGES, timed=False, cells=(("ran", "cell 1", "id 1"), ("deleted", "cell 2", ""))
    )
    link = '<a href="#cell-id=id%201" style="text-decoration:underline">cell 1</a>'
    assert f"Ran {link} · deleted cell 2</div>" in bundle["text/html"]


@pytest.mark.parametrize("changes", [changed("a.py"), TurnChanges(also=changed("a.py").files), NO_CHANGES])
def test_undo_stands_on_the_first_line_and_in_no_summary(changes: TurnChanges) -> None:
    ended, cells = turn("Copilot", undo="1-ab"), (("ran", "cell 1", ""),)
    [bundle] = footer_bundles(ended, changes, timed=True, cells=cells)
    above, _, below = bundle["text/html"].partition('<span class="copilot-undo copilot-undo-1-ab"')
    assert ("Copilot" in above, "Ran cell 1" in above, below.count("Copilot")) == (False, changes == TurnChanges(), 1)
    assert above.count("<details>") == above.count("</details>") == (changes != TurnChanges())


@pytest.mark.parametrize("text", HOSTILE)
def test_the_agents_words_stay_text(text: str) -> None:
    fields = {
        "kind": "edit",
        "status": "completed",
        "content": (Diff(text, text, f"{text}\nmore"), Diff("a", None, text)),
    }
    calls = (
        ToolCall(0, 1, "one", text, **fields),
        ToolCall(1, 1, "two", text, kind="delete", status="completed", raw_input={"path": f"/{text}"}),
        ToolCall(2, 1, "three", text, kind="execute", status="failed", raw_output=text),
    )
    cost = context(1, 9, amount=1, currency=text)
    ended = turn(text, text, text, calls=calls, stop_reason=text, permission_mode=text, context=cost)
    plain, _ = shown(ended, changes_of(calls))
    assert "\x1b" not in plain


def test_an_open_notebook_that_changed_on_disk_is_named():
    changes = TurnChanges(files=(FileChange("book.ipynb", "changed"),), opened=("book.ipynb", "book.ipynb"))
    said, _ = shown(changes=changes)
    assert said.count("⚠ book.ipynb changed on disk, not in your page") == 1
