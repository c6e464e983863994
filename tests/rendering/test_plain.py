"""Text from outside, made fit."""

import pytest
from copilot_kernel.rendering.markup import GREEN, RED
from copilot_kernel.rendering.output import ansi_html
from copilot_kernel.rendering.plain import clean, visible_text
from hypothesis import given
from hypothesis import strategies as st

ANY = st.text(st.characters(codec=None))


@pytest.mark.parametrize(("text", "shown"), [
    ("a\r\nb\rc", "a\nb\nc"),
    ("\x1b[1;31mred\x1b[0m", "red"),
    ("\x1b]0;title\x07a\x1b]8;;https://x.example\x1b\\link", "alink"),
    ("\x1b(Ba\x1b=b\x9b1mc", "abc"),
    ("\x1b", ""),
    ("a\x00\x08\x7f\x85b", "ab"),
    ("\ud83d\ude00 \ud800", "😀 \ufffd"),
    ("é 大 😀 \u202e", "é 大 😀 \u202e"),
])  # fmt: skip
def test_clean(text, shown):
    assert clean(text) == shown


@given(ANY)
def test_what_is_clean_can_be_written_and_stays_clean(text):
    assert clean(clean(text)) == clean(text)
    clean(text).encode()
    visible_text(text).encode()


HIDDEN = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


@given(st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters=HIDDEN)))
def test_letters_digits_and_signs_are_visible_as_they_are(text):
    assert visible_text(text) == text


@given(
    st.text(st.characters(categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"], exclude_characters="\n\t"), min_size=1)
)
def test_what_cannot_be_seen_is_named(text):
    assert visible_text(text).isprintable()


@pytest.mark.parametrize(("text", "html"), [
    ("plain <b>", "plain &lt;b&gt;"),
    ("\x1b[31mred\x1b[39m not", f'<span style="color:{RED}">red</span> not'),
    ("\x1b[32;1mok\x1b[0m", f'<span style="color:{GREEN};font-weight:bold">ok</span>'),
    ("\x1b[92mok\x1b[m.", f'<span style="color:{GREEN}">ok</span>.'),
    ("\x1b[38;5;31mx\x1b[0my", "xy"),
    ("10%\r50%\rdone\n", "done\n"),
    ("\x1b[99999999999mx", "x"),
])  # fmt: skip
def test_a_terminals_colours(text, html):
    assert ansi_html(text) == html
