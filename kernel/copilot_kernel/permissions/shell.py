"""What a command line really runs: a strict lexer for bash, one pass, a closed set of shapes.

Plain words, quotes, the separators between commands, null redirections and redirections into a plainly named file are
understood. Everything else is unclear, and says why. There is no grammar to be fooled: what bash would expand,
evaluate or treat as a keyword is refused at its first character.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .unseen import unseen

MOST_PARTS = 50
MOST_TOKENS = 600
"""Words, quotes and signs. Ordinary commands have less than a hundred; the limit bounds the time that one takes."""


@dataclass(frozen=True, slots=True)
class Line:
    """The commands of a line, each as the words that its program gets, when `unclear` is empty.

    `writes` are the files of output redirections. `globs` are the words that bash may replace by file names.
    `unclear` says in plain words why the line cannot be told; `parts` and `writes` are then only the beginning.
    """

    parts: tuple[tuple[str, ...], ...] = ()
    writes: tuple[str, ...] = ()
    unclear: str = ""
    globs: frozenset[str] = frozenset()


def read(text: str) -> Line:
    """The line as bash would take it apart. Never raises; time is linear in the length of the text."""
    if reason := unseen(text):
        return Line(unclear=reason)
    reader = _Reader()
    try:
        reader.read(text)
    except _Unclear as error:
        return reader.line(str(error))
    return reader.line("")


def odd_target(path: str) -> str:
    """Why writing to `path` is not writing an ordinary file; empty: it looks like one."""
    plain = "/" + posixpath.normpath(path).lstrip("/") + "/"
    return f"it writes to {path}, which is no ordinary file" if path[:1] == "/" and plain.startswith(_DEVICES) else ""


_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=", re.DOTALL)
_KEYWORDS = re.compile(
    r"if|then|else|elif|fi|case|esac|for|select|while|until|do|done|in|function|coproc|[{}!]|\[\[|\]\]"
)
_WANT_MORE = frozenset({"&&", "||", "|", "|&"})
_DEVICES = ("/dev/", "/proc/", "/sys/")

_QUOTED = r"""(?:[^"\\$`!]++|\\[^\n]|!(?=[\s="])|\$(?="))*+"""
"""In double quotes. A dollar right before the closing one is a dollar."""
_IN_QUOTES = re.compile(_QUOTED)
_TOKEN = re.compile(
    r"""
      (?P<comment>(?<![^\n])[ \t]*\#[^\n]*)
    | (?P<blank>[ \t]+)
    | (?P<plain>[A-Za-z0-9_@%+=:,./^\]\x80-\U0010ffff-]+[ \t]*)
    | (?P<single>'[^']*')
    | (?P<double>["]"""
    + _QUOTED
    + r"""["])
    | (?P<redirect>&>>|&>|<<<|<<|<>|<&|<\(|>\(|>>|>&|>\||<|>)
    | (?P<separator>&&|\|\||\|&|;;|;&|[;|&\n])
    | (?P<escape>\\[ -/:-@\[-`{-~])
    | (?P<glob>[*?\[]+)
    | (?P<braces>\{[A-Za-z0-9_^/@-]*\})
    | (?P<bang>!(?=[ \t=]))
    | (?P<tilde>~)
    | (?P<hash>\#)
    """,
    re.VERBOSE,
)

_COMMENT = re.compile(r"[^!`$;|&<>\\]*")
"""A comment on a line of its own that would do nothing either where comments are switched off."""

_DESCRIPTORS = {"<": ("", "0"), "&>": ("",), "&>>": ("",)} | dict.fromkeys((">", ">>", ">|", ">&"), ("", "1", "2"))
"""The redirections that are understood, and the file descriptors that may stand before them."""

_REFUSED = {
    "$": "it uses a variable or the output of another command ($)",
    "`": "it uses the output of another command (backticks)",
    "(": "it holds parentheses: a subshell, a function or a calculation",
    ")": "it holds parentheses: a subshell, a function or a calculation",
    "{": "it holds braces, which bash may expand",
    "}": "it holds braces, which bash may expand",
    "!": "it holds a ! that a shell may replace by an earlier command",
    "'": "a quote is not closed",
    "": "a quote is not closed",
    "\\": "it holds a backslash that hides a letter or the end of a line",
    "<<": "it holds a here-document",
    "<<<": "it holds a here-string",
    "<(": "it uses another command as a file",
    ">(": "it uses another command as a file",
}


class _Unclear(Exception):
    """Why the reader stopped, in words."""


@dataclass(slots=True)
class _Word:
    """A word while it is read, and what it holds besides plain characters: quote, glob, braces, tilde."""

    text: str = ""
    holds: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Part:
    """A command while it is read."""

    words: list[str] = field(default_factory=list)
    word: _Word | None = None
    redirect: str = ""
    redirected: bool = False


@dataclass(slots=True)
class _Reader:
    parts: list[tuple[str, ...]] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    globs: set[str] = field(default_factory=set)
    part: _Part = field(default_factory=_Part)
    separator: str = ""

    def line(self, unclear: str = "") -> Line:
        return Line(tuple(self.parts), tuple(self.writes), unclear, frozenset(self.globs))

    def read(self, text: str) -> None:
        at = 0
        for _ in range(MOST_TOKENS):
            token = _TOKEN.match(text, at)
            if not token:
                break
            _STEPS[token.lastgroup or ""](self, token[0])
            at = token.end()
        else:
            raise _Unclear(f"it has more than {MOST_TOKENS:,} words and signs")
        if at < len(text):
            cause = _cause_in_quotes(text, at + 1) if text[at] == '"' else text[at]
            raise _Unclear(_REFUSED.get(cause, f"it holds {text[at]!r} where it is not understood"))
        self.finish_part("\n")
        if self.separator in _WANT_MORE:
            raise _Unclear(f"nothing follows the last {self.separator}")

    def add(self, text: str, *holds: str) -> None:
        word = self.part.word = self.part.word or _Word()
        word.text += text
        word.holds.update(holds)

    def comment(self, text: str) -> None:
        if not _COMMENT.fullmatch(text):
            raise _Unclear("it holds a comment with more than words in it")

    def blank(self, _: str) -> None:
        self.finish_word()

    def plain(self, text: str) -> None:
        if text[0] in "^%" and not self.part.words:
            raise _Unclear(f"a command begins with {text[0]}, which a shell may take for an earlier one")
        self.add(text.rstrip(" \t"))
        if text[-1] in " \t":
            self.finish_word()

    def single(self, text: str) -> None:
        self.add(text[1:-1], "quote")

    def double(self, text: str) -> None:
        self.add(re.sub(r'\\([\\"$`])', r"\1", text[1:-1]), "quote")

    def escape(self, text: str) -> None:
        self.add(text[1], "quote")

    def glob(self, text: str) -> None:
        self.add(text, "glob")

    def braces(self, text: str) -> None:
        self.add(text, "braces")

    def bang(self, text: str) -> None:
        self.add(text)

    def tilde(self, text: str) -> None:
        """Somebody's folder at the start of a word, perhaps also after = and :; else an ordinary character."""
        word = self.part.word
        if word and word.text.endswith(("=", ":")):
            raise _Unclear("it holds a ~ inside a word, which bash may expand")
        self.add(text, *(() if word else ("tilde",)))

    def hash(self, text: str) -> None:
        if not self.part.word:
            raise _Unclear("it holds a comment (#) that does not stand on a line of its own")
        self.add(text)

    def begin_redirect(self, text: str) -> None:
        if self.part.redirect:
            raise _Unclear("a redirection names no file")
        if self.descriptor() not in _DESCRIPTORS.get(text, ()):
            raise _Unclear(_REFUSED.get(text, f"it holds a redirection ({text}) that is not simple"))
        self.part.redirect, self.part.redirected = text, True

    def descriptor(self) -> str:
        """The number right before a redirection, which is no word of the command."""
        word = self.part.word
        if word and not word.holds and word.text.isdigit():
            self.part.word = None
            return word.text
        if word and "braces" in word.holds:
            raise _Unclear("it holds a redirection into a variable")
        self.finish_word()
        return ""

    def finish_word(self) -> None:
        part, word = self.part, self.part.word
        part.word = None
        if word and word.text == "[":
            word.holds.discard("glob")
        if word and part.redirect:
            self.finish_redirect(word)
        elif word:
            part.words.append(_checked_word(word, is_program=not part.words))
            self.globs.update([word.text] if word.holds & {"glob", "tilde"} else [])

    def finish_redirect(self, word: _Word) -> None:
        redirect, self.part.redirect = self.part.redirect, ""
        if redirect == ">&" and word.text not in ("1", "2"):
            raise _Unclear("it holds a redirection (>&) that is not simple")
        if redirect == "<" and word.text != "/dev/null":
            raise _Unclear("it reads its input from a file (<)")
        if redirect != ">&" and word.text != "/dev/null":
            self.writes.append(_checked_target(word))

    def finish_part(self, separator: str) -> None:
        self.finish_word()
        part, self.part = self.part, _Part()
        if part.redirect:
            raise _Unclear("a redirection names no file")
        if separator in (";;", ";&"):
            raise _Unclear(f"it holds {separator}, which belongs to a script")
        if part.words:
            if part.words[0] == "time" and self.separator in ("|", "|&"):
                raise _Unclear("after a pipe, time is another program")
            self.parts.append(_checked_part(tuple(part.words)))
            self.separator = separator
        elif part.redirected or separator != "\n":
            raise _Unclear("a redirection or a separator stands without a command")
        if len(self.parts) > MOST_PARTS:
            raise _Unclear(f"it has more than {MOST_PARTS} parts")


_STEPS: dict[str, Callable[[_Reader, str], None]] = {
    **{name: getattr(_Reader, name) for name in ("comment", "blank", "plain", "single", "double", "escape")},
    **{name: getattr(_Reader, name) for name in ("glob", "braces", "bang", "tilde", "hash")},
    "redirect": _Reader.begin_redirect,
    "separator": _Reader.finish_part,
}


def _cause_in_quotes(text: str, at: int) -> str:
    """The first character that is not understood in the double quotes that begin before `at`; empty: they never end."""
    found = _IN_QUOTES.match(text, at)
    return text[found.end() : found.end() + 1] if found else ""


def _checked_word(word: _Word, is_program: bool) -> str:
    """A name pattern may become any file name: harmless where the word stays what it is called, not in an option."""
    text = word.text
    if is_program and (not text or word.holds - {"quote"}):
        raise _Unclear("the name of a program is not written out")
    if "tilde" in word.holds and not (text == "~" or text.startswith("~/")):
        raise _Unclear("it holds somebody's home folder (~name)")
    if "glob" in word.holds and text[0] == "-" and "=" not in re.split(r"[*?\[]", text)[0]:
        raise _Unclear(f"{text} may become another option, by the name of a file")
    return text


def _checked_target(word: _Word) -> str:
    if not word.text or word.holds - {"quote"}:
        raise _Unclear("the file of a redirection is not written out")
    if odd := odd_target(word.text):
        raise _Unclear(odd)
    return word.text


def _checked_part(words: tuple[str, ...]) -> tuple[str, ...]:
    """After `time`, which is a keyword, bash looks for keywords and assignments again."""
    timed = words[0] == "time"
    first = next((word for word in words if not (timed and word in ("time", "-p", "--"))), "")
    if _KEYWORDS.fullmatch(first):
        raise _Unclear(f"it holds the shell's own word {first}")
    if _ASSIGNMENT.match(first):
        raise _Unclear(f"it sets a variable ({first.split('=')[0]}), which may change what the command does")
    return words
