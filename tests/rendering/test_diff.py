"""Changes of files."""

import re
from dataclasses import replace

import pytest
from copilot_kernel.conversation.excerpt import Excerpt
from copilot_kernel.conversation.line_diff import Change, DiffLine, between, between_cells, compared, parse_unified
from copilot_kernel.rendering import highlight
from copilot_kernel.rendering.diff import (
    MAX_COLOURED_CHARS,
    MAX_COLOURED_LINES,
    amount,
    change_html,
    diff_html,
    diff_text,
    unified,
)
from copilot_kernel.rendering.markup import ADDED_WORDS, REMOVED_WORDS
from hypothesis import given, settings
from hypothesis import strategies as st

from ..growth import is_linear
from ..limits import examples
from .allowed import problems, text_of
from .hostile import HOSTILE

WHOLE = Excerpt(1, "", "")
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\r\n", "\n"]), max_size=30).map("".join)


def numbers(change: Change) -> list[tuple[str, int | None, int | None, str]]:
    return [(line.mark, line.old, line.new, line.text) for line in change.lines]


@given(LINES.filter(bool), LINES)
def test_the_new_text_can_be_built_from_the_old_one_and_the_change(old, new):
    lines, shift = old.split("\n"), 0
    for line in between(old, new).lines:
        if line.mark == "-":
            assert lines.pop(line.old - 1 + shift) == line.text
            shift -= 1
        if line.mark == "+":
            lines.insert(line.new - 1, line.text)
            shift += 1
    assert "\n".join(lines).rstrip("\n") == new.rstrip("\n")


@given(LINES.filter(bool), LINES)
def test_what_we_write_as_a_unified_diff_reads_back(old, new):
    change = between(old, new, WHOLE)
    back = parse_unified(unified(change, "x")) or Change(())
    lines = [(mark, old, new, text.replace("\r", "⟨CR⟩")) for mark, old, new, text in numbers(change)]
    assert [line for line in numbers(back) if line[0] != "@"] == [line for line in lines if line[0] != "@"]


@pytest.mark.parametrize(("old", "new", "change"), [
    (None, "a\n", Change((DiffLine("@", "", 1, 1), DiffLine("+", "a", None, 1)), "new file")),
    ("", "a", Change((DiffLine("@", "", 1, 1), DiffLine("+", "a", None, 1, ends=False)), "new file")),
    (None, "", Change((), "new file")),
    ("a", "", Change((DiffLine("@", "", 1, 1), DiffLine("-", "a", 1, None, ends=False)), is_numbered=False)),
    ("a", "b", Change((DiffLine("@", "", 1, 1), DiffLine("-", "a", 1), DiffLine("+", "b", None, 1)),
            is_numbered=False)),
    ("a\n", "a", Change((DiffLine("@", "", 1, 1), DiffLine("-", "a", 1), DiffLine("+", "a", None, 1, ends=False)),
            is_numbered=False)),
    ("a\r\n", "a\n",
     Change((DiffLine("@", "", 1, 1), DiffLine("-", "a\r", 1), DiffLine("+", "a", None, 1)), is_numbered=False)),
])  # fmt: skip
def test_small_changes(old, new, change):
    assert between(old, new) == change


def test_a_part_of_a_file_whose_place_is_unknown_has_no_line_numbers():
    part = between("one\ntwo", "one\nTWO")
    assert lines(part) == ["  one", "- two", "+ TWO"]
    assert diff_text(part, "a.py") == "--- a.py\n+++ a.py\n@@ … @@\n one\n-two\n+TWO"


@pytest.mark.parametrize(("old", "new", "excerpt", "shown", "header"), [
    ("two", "TWO", Excerpt(98, "a\nb\none = ", "; # end\nc\n"),
     ["98   a", "99   b", "100 - one = two; # end", "100 + one = TWO; # end", "101   c"], "@@ -98,4 +98,4 @@"),
    ("two\n", "", Excerpt(9, "one\n", "three"),
     ["9   one", "10 - two", "10   three (no newline at end of file)"], "@@ -9,3 +9,2 @@"),
    ("a\n", "b\n", WHOLE, ["1 - a", "1 + b"], "@@ -1 +1 @@"),
])  # fmt: skip
def test_a_part_whose_place_is_known_stands_in_its_lines(old, new, excerpt, shown, header):
    change = between(old, new, excerpt)
    assert [line.lstrip() for line in lines(change)] == shown
    assert header in diff_text(change, "a.py").split("\n")


@pytest.mark.parametrize(("old", "new", "words"), [
    (None, "a", "(new cell, +1)\n--- /dev/null\n+++ x\n@@ -0,0 +1 @@\n+a"),
    ("a\nb", "a", "--- x\n+++ x\n@@ -1,2 +1 @@\n a\n-b"),
    ("a", "", "--- x\n+++ x\n@@ -1 +0,0 @@\n-a"),
    (None, "", "x: empty"),
])  # fmt: skip
def test_a_cell_is_whole_and_ends_without_a_newline(old, new, words):
    assert diff_text(between_cells(old, new), "x") == words


@pytest.mark.parametrize(("change", "words"), [
    (between("a", "a"), "x: no difference"),
    (between(None, ""), "x: empty"),
    (between(None, "a\n"), "(new file, +1)\n--- /dev/null\n+++ x\n@@ -0,0 +1 @@\n+a"),
    (parse_unified("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
     "(deleted, −1)\n--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a"),
])  # fmt: skip
def test_a_change_in_words(change, words):
    assert diff_text(change, "x") == words


@pytest.mark.parametrize(("text", "what"), [
    ("--- a/dev/null\n+++ b/x\n@@ -1,0 +1,1 @@\n+a\n", "new file"),
    ("Index: x\n=========================\n--- x\n+++ x\n@@ -0,0 +1,1 @@\n+a\n", "new file"),
    ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "deleted"),
])  # fmt: skip
def test_a_diff_says_what_becomes_of_the_file(text, what):
    assert parse_unified(text).what == what


@pytest.mark.parametrize("text", [
    "", "no diff", "@@", "@@ -1 +1 @@\nx\n", "text\n@@ -1 +1 @@\n-a\n", "@@ -1 +1 @@\n-a\ndiff --git a/x b/x\n",
    "@@ -a +1 @@\n-a\n",
])  # fmt: skip
def test_what_is_no_diff_of_one_file_is_not_read(text):
    assert parse_unified(text) is None


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.sampled_from(["@@ -1 +1 @@\n", "+a\n", "-b\n", " c\n", "\\ No newline\n", "\n", "--- x\n", "@@", "x"])
    ).map("".join)
)
def test_any_text_can_be_taken_for_a_diff(text):
    change = parse_unified(text)
    assert change is None or problems(diff_html(change, "x", cwd="/p") + change_html(change)) == []


@pytest.mark.parametrize(("change", "in_view", "folds"), [
    (between(None, "a\n" * 16), 16, []),
    (between(None, "a\n" * 17), 12, ["5 more changed lines"]),
    (between("a\n" * 20, "b\n" * 21, WHOLE), 12, ["29 more changed lines"]),
    (between("a\n" * 4, "", WHOLE), 4, []),
    (between("a\n" * 45, "", WHOLE), 12, ["33 more changed lines"]),
    (between("a\n" * 5, "", Excerpt(2, "b\n", "b\n")), 5, []),
])  # fmt: skip
def test_the_first_changes_are_in_view_and_the_fold_says_how_many_follow(change, in_view, folds):
    for html in (change_html(change), diff_html(change, "x")):
        assert len(re.findall("<(?:ins|del) ", html.partition("<details>")[0])) == in_view
        assert [text_of(each) for each in re.findall("<summary.*?</summary>", html)] == folds
        assert len(re.findall("<(?:ins|del) ", html)) == change.count("+") + change.count("-")


def test_what_is_too_long_to_compare_costs_as_much_as_it_is_long():
    def show(count: int) -> None:
        old = [f"line {n}\n" for n in range(count)]
        new = [line if n % 50 else f"changed {line}" for n, line in enumerate(old)]
        assert "<ins" in change_html(compared("".join(old), "".join(new)))

    assert is_linear(show, 3_000)


def test_what_is_too_long_to_compare_says_so():
    old = "".join(f"{n}\n" for n in range(6000))
    change = between(old, "x\n" + old + "y\n")
    assert (change.is_rough, change.count("+"), change.count("-")) == (True, 6002, 6000)
    assert "not compared line by line" in diff_html(change, "x")
    assert "(not compared line by line)" in diff_text(change, "x")


@pytest.mark.parametrize("old", [None, "".join(f"{n}\n" for n in range(6000))])
def test_what_is_left_out_counts(old):
    new = "".join(f"x{n}\n" for n in range(7000))
    whole, part = between(old, new), between(old, new, most=100)
    assert amount(part) == amount(whole)
    assert len(part.lines) == 101  # with the heading
    assert set(part.lines) < set(whole.lines)
    for words in (diff_html(part, "x"), diff_text(part, "x")):
        assert f"… {len(whole.lines) - 101} lines not shown …" in words
    assert not part.same_edit(replace(part, left_out=(0, 0)))


OLD = "one\ntwo\nthree\nfour\n"


def lines(change: Change) -> list[str]:
    """As they are read."""
    return text_of(change_html(change)).split("\n")[:-1]


def copied(html: str) -> str:
    """What a browser copies: nothing that is inert."""
    return text_of(re.sub("<span inert.*?</span>", "", html, flags=re.DOTALL))


def test_lines_have_one_number_that_of_the_side_on_which_they_are() -> None:
    change = parse_unified("@@ -9,2 +10,2 @@ def f():\n-a\n+A\n b\n")
    assert lines(change) == ["⋯ def f():", " 9 - a", "10 + A", "11   b"]


def test_only_the_text_is_copied() -> None:
    assert (
        copied(change_html(between(OLD, OLD.replace("two", "2").rstrip("\n"), WHOLE)))
        == "one\ntwo\n2\nthree\nfour\nfour\n"
    )


def words(old: str, new: str) -> list[str]:
    """Which are marked as changed."""
    marked = re.findall(
        f'background-color:(?:{ADDED_WORDS}|{REMOVED_WORDS})">(.*?)</span>', change_html(between(old, new))
    )
    return [text_of(each) for each in marked]


@pytest.mark.parametrize(("old", "new", "marked"), [
    ("    x.append(n[-1] + n[-1])", "    x.append(n[-1] + n[-2])", ["1", "2"]),
    ("value = old_name + 1\nb = 2", "value = new_name + 1\nb = 3", ["old_name", "2", "new_name", "3"]),
    ("return x", "return x + <y>", [" + <y>"]),
    ("        a = 1", "        return", []),
    ("a = 1", "a = 1\n", []),
    ("aa bb", "aa cc bb", ["cc "]),
    ("value = cafe\u0301 + 1", "value = cafe + 1", ["cafe\u0301", "cafe"]),
    ("x" * 500 + " 1", "x" * 500 + " 2", []),
])  # fmt: skip
def test_in_a_line_that_replaces_a_similar_one_the_changed_words_are_marked(old, new, marked):
    assert words(old, new) == marked


def test_a_missing_line_feed_and_a_carriage_return_are_seen() -> None:
    shown = "\n".join(lines(between("a\r\n", "a\nb")))
    assert "a⟨CR⟩" in shown
    assert "b (no newline at end of file)" in shown


# -- syntax colours ----------------------------------------------------------------------------------------------------

DOC = '    """doc\n    more"""\n'
CODE = between(f"def f(x):\n{DOC}    return 1\n", f"def f(x, y):\n{DOC}    return 'b'\n")
BLUE_SPAN, GREEN_SPAN, BROWN_SPAN = (
    f'<span style="color:color-mix(in srgb,currentcolor 60%,rgb({hue}))">'
    for hue in ("52,121,207", "41,138,65", "177,102,35")
)


def test_code_in_a_diff_has_the_colours_of_its_language_on_both_sides_and_over_several_lines() -> None:
    html = change_html(CODE, "src/a.py")
    assert problems(html) == []
    assert text_of(html) == text_of(change_html(CODE))
    assert html.count(f"{BLUE_SPAN}f</span>") == 2
    for part in ("&quot;&quot;&quot;doc", "    more&quot;&quot;&quot;", "&#x27;b&#x27;"):
        assert f"{GREEN_SPAN}{part}</span>" in html
    assert f"{BROWN_SPAN}1</span>" in html


def test_changed_words_are_marked_in_coloured_code_too() -> None:
    html = change_html(between("call('one', 1)\n", "call('two', 1)\n"), "a.py")
    assert (
        f'{GREEN_SPAN}&#x27;</span><span style="background-color:{ADDED_WORDS}">{GREEN_SPAN}two</span></span>' in html
    )


@pytest.mark.parametrize(
    ("path", "lines"), [("a.txt", 1), ("noext", 1), ("a.py", MAX_COLOURED_LINES + 1), ("a.py", MAX_COLOURED_CHARS // 5)]
)
def test_without_a_known_language_or_in_a_long_change_there_are_no_colours(path: str, lines: int) -> None:
    change = between("x\n", "".join(f"def f{n}(): pass\n" for n in range(lines)))
    assert change_html(change, path) == change_html(change)


@pytest.mark.parametrize("path", ["a.py", "A.JSX", "Dockerfile", "x/Makefile", "a.h", "a.toml", "a.unknown", ""])
def test_the_end_of_a_name_says_the_language_and_pygments_knows_it(path: str) -> None:
    language = highlight.language_of(path)
    assert (language != "") == (path not in ("a.unknown", ""))
    assert language == "" or highlight.lexer_of(language) is not None


@pytest.mark.parametrize("language", sorted(set(highlight._LANGUAGES.values())))
def test_each_language_is_one_of_pygments(language: str) -> None:
    assert highlight.lexer_of(language) is not None


@pytest.mark.parametrize("text", HOSTILE)
def test_coloured_code_stays_text(text: str) -> None:
    change = between(f"a\n{text}\nb\n", f"a\n{text} x\nb\n")
    html = change_html(change, "a.py")
    assert problems(html) == []
    assert text_of(html) == text_of(change_html(change))


def test_no_colours_come_from_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pygments.plugin.iter_entry_points", lambda name: pytest.fail(name))
    highlight.lexer_of.cache_clear()
    assert "color-mix" in change_html(CODE, "a.py")
