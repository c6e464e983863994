"""A command line is taken apart as bash takes it apart, or not at all."""

import shutil
import subprocess

import pytest
from copilot_kernel.permissions.shell import (
    MAX_COMMANDS,
    MAX_LINE_CHARS,
    MAX_TOKENS,
    CommandLine,
    invisible,
    parse_line,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ..growth import FACTOR, is_linear
from ..limits import LIMIT, examples


def parts(text: str) -> tuple[tuple[str, ...], ...]:
    line = parse_line(text)
    assert line.unclear is None
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
    done = subprocess.run(["bash", "-c", f"set -- {text}\nprintf '%s\\0' \"$@\""], capture_output=True, timeout=LIMIT)
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
    assert parse_line(f"a {tail} b") == CommandLine(commands=(("a", "b"),), operators=("\n",))


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
    assert (tuple(path for _, path in line.writes), line.unclear) == (writes, None)


def test_what_bash_may_replace_by_names_is_marked() -> None:
    assert parse_line("a *.py 'b*' ./c? d[1] ~/e [") == CommandLine(
        commands=(("a", "*.py", "b*", "./c?", "d[1]", "~/e", "["),),
        operators=("\n",),
        globs=frozenset({"*.py", "./c?", "d[1]", "~/e"}),
    )


UNCLEAR = {
    "variable": ("a $b", 'a "$b"', "a $'b'", "a {b}> c", 'a "b $', 'a "b $c', 'a "b! \\$c $d"'),
    "backticks": ("a `b`", 'a "b `c` $d"'),
    "parentheses": ("(a)",),
    "braces": ("a {b,c}", "{ a; }"),
    "here-document": ("a <<b\nb",),
    "here-string": ("a <<<b",),
    "process substitution": ("a <(b)",),
    "not supported": ("a < b",),
    "redirection": ("a 3> b",),
    "not an ordinary file": ("a > /dev/tcp/b/1", "a > //dev/tcp/b"),
    "has no file": ("a >", "a > > b"),
    "has no command": ("> a", "; a", "a | | b"),
    "sets a variable": ("a=b c", "a+=b c", "time a=b c"),
    "not written out": ("a[1]=b c", "[[ a ]]", "*", "~/a", "''"),
    "keyword `if`": ("if a",),
    "keyword `!`": ("! a", "time ! a"),
    ";;": ("a ;; b",),
    "nothing follows": ("a && ",),
    "a quote is not closed": ("a 'b", 'a "b'),
    "backslash": ("a \\\nb", "\\a", 'a "b\\\nc"'),
    "earlier command": ("a !b", 'a "b !c $d"'),
    "!": ('a "!b"',),
    "earlier": ("^a^b",),
    "comment": ("a # b", "# $(b)\na", "a;# b"),
    "home folder": ("a ~b",),
    "where bash may expand": ("a b=~",),
    "another option": ("a -*",),
    "invisible": ("a\rb",),
    "U+0000": ("a\x00",),
    "longer than 10,000": ("a" * (MAX_LINE_CHARS + 1),),
    "more than 50 commands": ("a;" * (MAX_COMMANDS + 1),),
    "more than 600 words": ("a " * (MAX_TOKENS + 1),),
}


@pytest.mark.parametrize(("text", "word"), [(text, word) for word, texts in UNCLEAR.items() for text in texts])
def test_everything_else_is_unclear_and_says_why(text: str, word: str) -> None:
    assert word.lower() in (parse_line(text).unclear or "").lower()


_CODES = """
0 7 8 B C D 1B 7F 85 9B A0 AD 34F 61C 115F 1160 1680 17B4 180B 180E 2000 2003 2009 200B 200C 200D 200E 200F
2028 2029 202A 202E 202F 205F 2060 2061 2066 2069 206F 2800 3000 3164 D800 E000 FE00 FE0F FEFF FFA0 FFF9 FFFE
1D159 1D173 E0001 E0041 E007F E0100 E01EF F0000 10FFFF
"""
INVISIBLE = [int(code, 16) for code in _CODES.split()]


@pytest.mark.parametrize("code", INVISIBLE, ids=hex)
def test_what_cannot_be_seen_is_named(code: int) -> None:
    assert f"U+{code:04X}" in str(invisible(f"ls {chr(code)}"))
    assert f"U+{code:04X}" in parse_line(f"ls 'a{chr(code)}b'").unclear


@pytest.mark.parametrize("text", ["naïve", "模型", "модель", "ñandú", "🎉", "→", "a\tb\nc", "½ °C €"])
def test_letters_and_signs_of_all_languages_are_seen(text: str) -> None:
    assert invisible(text) is None


BOUNDS = settings(deadline=None, database=None, max_examples=examples(150))


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
def test_the_time_grows_with_the_length_alone(unit: str) -> None:
    assert is_linear(lambda size: parse_line((unit * size)[:size]), MAX_LINE_CHARS // FACTOR)
