"""A command line is taken apart as bash takes it apart, or not at all."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest
from copilot_kernel.permissions.shell import MAX_CHARS, MAX_COMMANDS, MAX_TOKENS, CommandLine, invisible, parse_line
from hypothesis import given, settings
from hypothesis import strategies as st


def parts(text: str) -> tuple[tuple[str, ...], ...]:
    line = parse_line(text)
    assert line.unclear == ""
    return line.commands


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  c\td", ("a", "b", "c", "d")),
        ("a 'b c' \"d e\"", ("a", "b c", "d e")),
        ("a'b'\"c\"d", ("abcd",)),
        ("a '' \"\"", ("a", "", "")),
        ("a '\"' \"'\"", ("a", '"', "'")),
        ("a '\\n$x`y`!'", ("a", "\\n$x`y`!")),
        (r'a "\"\\\$\`"', ("a", '"\\$`')),
        (r'a "\n\."', ("a", r"\n\.")),
        ('a "^$" "$" b"c$"d \'$\'', ("a", "^$", "$", "bc$d", "$")),
        (r"a \ \;\&\|\$\'\"\*", ("a", " ;&|$'\"*")),
        ("a 'b\nc'", ("a", "b\nc")),
        ("a b#c b=c b~c b^c b% @{u}", ("a", "b#c", "b=c", "b~c", "b^c", "b%", "@{u}")),
        ("a ! b", ("a", "!", "b")),
        ("a é 模", ("a", "é", "模")),
        ("[ -f b ]", ("[", "-f", "b", "]")),
        ("'a' b", ("a", "b")),
    ],
)
def test_words_are_what_the_program_gets(text: str, words: tuple[str, ...]) -> None:
    assert parts(text) == (words,)
    assert as_bash_does(text) == words


def as_bash_does(text: str) -> tuple[str, ...]:
    """The words of one command, printed by bash itself."""
    if not shutil.which("bash"):
        pytest.skip("bash is not here to compare with")
    done = subprocess.run(["bash", "-c", f"set -- {text}\nprintf '%s\\0' \"$@\""], capture_output=True, timeout=10)
    return tuple(done.stdout.decode().split("\0")[:-1])


@pytest.mark.parametrize("separator", ["&&", "||", ";", "|", "|&", "&", "\n", " && \n ", "\n\n", "; \n"])
def test_separators_make_parts(separator: str) -> None:
    assert parts(f"a b{separator}c") == (("a", "b"), ("c",))


@pytest.mark.parametrize("text", ["a;", "a &", "a\n", "\n\na", "# words\na", "a\n  # words, too\n"])
def test_what_may_stand_around_a_command(text: str) -> None:
    assert parts(text) == (("a",),)


@pytest.mark.parametrize(
    "tail", [">/dev/null", "2>/dev/null", "2>&1", "&>/dev/null", "</dev/null", "> /dev/null 2>&1", ">&2", "1>&2"]
)
def test_null_redirections_change_nothing(tail: str) -> None:
    assert parse_line(f"a {tail} b") == CommandLine(commands=(("a", "b"),))


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("a > b", ("b",)),
        ("a >> b 2> c", ("b", "c")),
        ("a >| b", ("b",)),
        ("a &> b", ("b",)),
        ("a >'b c'", ("b c",)),
        ("a > b; c > d", ("b", "d")),
        ("a > ../b", ("../b",)),
        ("a >/tmp/b", ("/tmp/b",)),
    ],
)
def test_output_into_a_file_is_a_write(text: str, writes: tuple[str, ...]) -> None:
    line = parse_line(text)
    assert (line.writes, line.unclear) == (writes, "")


def test_what_bash_may_replace_by_names_is_marked() -> None:
    assert parse_line("a *.py 'b*' ./c? d[1] ~/e [") == CommandLine(
        commands=(("a", "*.py", "b*", "./c?", "d[1]", "~/e", "["),), globs=frozenset({"*.py", "./c?", "d[1]", "~/e"})
    )


@pytest.mark.parametrize(
    ("text", "word"),
    [
        *(
            ("a $b", "variable"),
            ("a `b`", "backticks"),
            ('a "$b"', "variable"),
            ("a $'b'", "variable"),
            ("(a)", "parentheses"),
        ),
        *(("a {b,c}", "braces"), ("{ a; }", "braces"), ("a <<b\nb", "here-document"), ("a <<<b", "here-string")),
        *(("a <(b)", "another command as a file"), ("a < b", "input from a file"), ("a 3> b", "redirection")),
        *(("a {b}> c", "variable"), ("a > /dev/tcp/b/1", "no ordinary file"), ("a > //dev/tcp/b", "no ordinary file")),
        *(
            ("a >", "names no file"),
            ("a > > b", "names no file"),
            ("> a", "without a command"),
            ("a=b c", "sets a variable"),
        ),
        *(
            ("a+=b c", "sets a variable"),
            ("a[1]=b c", "not written out"),
            ("time a=b c", "sets a variable"),
            ("if a", "own word if"),
        ),
        *(
            ("! a", "own word !"),
            ("time ! a", "own word !"),
            ("[[ a ]]", "not written out"),
            ("a ;; b", ";;"),
            ("a && ", "nothing follows"),
        ),
        *(
            ("; a", "without a command"),
            ("a | | b", "without a command"),
            ("a 'b", "not closed"),
            ('a "b', "not closed"),
        ),
        *(
            ("a \\\nb", "backslash"),
            ("\\a", "backslash"),
            ("a !b", "earlier command"),
            ('a "!b"', "!"),
            ("^a^b", "earlier"),
        ),
        *(
            ("a # b", "comment"),
            ("# $(b)\na", "comment"),
            ("a;# b", "comment"),
            ("a ~b", "home folder"),
            ("a b=~", "inside a word"),
        ),
        *(("*", "not written out"), ("~/a", "not written out"), ("''", "not written out"), ("a -*", "another option")),
        *(("a" * (MAX_CHARS + 1), "longer than 10,000"), ("a;" * (MAX_COMMANDS + 1), "more than 50 parts")),
        *(("a " * (MAX_TOKENS + 1), "more than 600 words"), ("a\rb", "cannot be seen"), ("a\0", "U+0000")),
    ],
)
def test_everything_else_is_unclear_and_says_why(text: str, word: str) -> None:
    assert word in parse_line(text).unclear


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('a "b', "a quote is not closed"),
        ('a "b $', "variable"),
        ('a "b $c', "variable"),
        ('a "b `c` $d"', "backticks"),
        ('a "b !c $d"', "earlier command"),
        ('a "b! \\$c $d"', "variable"),
        ('a "b\\\nc"', "backslash"),
    ],
)
def test_a_refused_quote_names_its_first_cause(text: str, word: str) -> None:
    assert word in parse_line(text).unclear


INVISIBLE = [
    *(
        0x00,
        0x07,
        0x08,
        0x0B,
        0x0C,
        0x0D,
        0x1B,
        0x7F,
        0x85,
        0x9B,
        0xA0,
        0xAD,
        0x34F,
        0x61C,
        0x115F,
        0x1160,
        0x1680,
        0x17B4,
        0x180B,
    ),
    *(
        0x180E,
        0x2000,
        0x2003,
        0x2009,
        0x200B,
        0x200C,
        0x200D,
        0x200E,
        0x200F,
        0x2028,
        0x2029,
        0x202A,
        0x202E,
        0x202F,
        0x205F,
    ),
    *(
        0x2060,
        0x2061,
        0x2066,
        0x2069,
        0x206F,
        0x2800,
        0x3000,
        0x3164,
        0xD800,
        0xE000,
        0xFE00,
        0xFE0F,
        0xFEFF,
        0xFFA0,
        0xFFF9,
    ),
    *(0xFFFE, 0x1D159, 0x1D173, 0xE0001, 0xE0041, 0xE007F, 0xE0100, 0xE01EF, 0xF0000, 0x10FFFF),
]


@pytest.mark.parametrize("code", INVISIBLE, ids=hex)
def test_what_cannot_be_seen_is_named(code: int) -> None:
    assert f"U+{code:04X}" in invisible(f"ls {chr(code)}")
    assert f"U+{code:04X}" in parse_line(f"ls 'a{chr(code)}b'").unclear


@pytest.mark.parametrize("text", ["naïve", "模型", "модель", "ñandú", "🎉", "→", "a\tb\nc", "½ °C €"])
def test_letters_and_signs_of_all_languages_are_seen(text: str) -> None:
    assert invisible(text) == ""


BOUNDS = settings(deadline=None, database=None, max_examples=150)


@given(st.text(max_size=200))
@BOUNDS
def test_it_never_raises(text: str) -> None:
    line = parse_line(text)
    assert line.unclear or all(part and all(isinstance(word, str) for word in part) for part in line.commands)


@given(
    st.lists(
        st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8), min_size=1, max_size=6
    )
)
@BOUNDS
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in ["x", *words])
    assert parts(quoted) == (("x", *words),)


@pytest.mark.parametrize(
    "unit", ["a ", "''", "\\-", "x*", "a;", "a~", "'a ", '"a!', "a>b ", "{a}", "# a\n", "$(", "a\n\n", "é", "\\"]
)
def test_time_is_bounded(unit: str) -> None:
    text = (unit * MAX_CHARS)[:MAX_CHARS]
    start = time.perf_counter()
    for _ in range(10):
        parse_line(text)
    assert (time.perf_counter() - start) / 10 < 0.05  # 2 ms each where nothing else runs
