"""Strict lexer for bash command lines with a closed set of forms.

Plain words, quotes, the operators between commands, null redirections and redirections into a literal file are
understood. Everything else makes the line unclear, with the reason. Whatever bash would expand, evaluate or treat as a
keyword is refused at its first character, so there is nothing left to expand.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..system import drives

NOT_PLAIN = (
    "On Windows, rules allow only lines of letters, digits, blanks, `_ . / \\ : = + -` and words in double quotes."
)
# cmd, PowerShell and programs agree about nothing else: not about a quote inside a word, or a backslash before one.
_WORD = r'(?:[A-Za-z0-9_./\\:=+-]+|"(?:[A-Za-z0-9_ ./\\:=+-]*[A-Za-z0-9_ ./:=+-])?")'
_PLAIN = re.compile(rf" *{_WORD}(?: +{_WORD})* *")
# Nobody reads a longer command to its end.
MAX_LINE_CHARS = 10_000
MAX_COMMANDS = 50
# Words, quotes and operators. Ordinary lines have fewer than a hundred; the limit bounds the time of a decision.
MAX_TOKENS = 600


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The simple commands of a line, each as the words that its program receives.

    If `unclear` is set it says why the line was not understood, and the other fields cover only its beginning.
    """

    commands: tuple[tuple[str, ...], ...] = ()
    # The operator after each command: `&&`, `||`, `|`, `|&`, `;`, `&` or a newline.
    operators: tuple[str, ...] = ()
    # Files that output redirections write, with the number of their command.
    writes: tuple[tuple[int, str], ...] = ()
    # Words that bash may replace by file names or by the home folder.
    globs: frozenset[str] = frozenset()
    unclear: str | None = None

    def is_piped(self, index: int) -> bool:
        """True if the command reads the output of the one before it."""
        return index > 0 and self.operators[index - 1] in ("|", "|&")


def parse_command(text: str) -> CommandLine:
    """The command line as the shell here takes it; unclear wherever shells may disagree."""
    return parse_plain(text) if drives.WINDOWS else parse_line(text)


def parse_plain(text: str) -> CommandLine:
    """A line for cmd or PowerShell, whose backslashes separate folders; all but plain words makes it unclear."""
    line = parse_line(text.replace("\\", "/"))
    return line if line.unclear or _PLAIN.fullmatch(text) else replace(line, unclear=NOT_PLAIN)


def parse_line(text: str) -> CommandLine:
    """Split `text` as bash would. Never raises; linear in the length of the text."""
    if reason := invisible(text):
        return CommandLine(unclear=reason)
    lexer = _Lexer()
    try:
        lexer.read(text)
    except _Unclear as error:
        return lexer.line(str(error))
    return lexer.line(None)


def invisible(text: str) -> str | None:
    """Why a person who reads `text` would not see all of it."""
    if len(text) > MAX_LINE_CHARS:
        return f"The command is longer than {MAX_LINE_CHARS:,} characters."
    found = _NO_INK.search(text)
    plain = text.replace("\n", " ").replace("\t", " ")
    if not found and plain.isprintable():
        return None
    char = found[0] if found else next(char for char in plain if not char.isprintable())
    name = unicodedata.name(char, "a control character").lower()
    return f"The command contains an invisible character (U+{ord(char):04X}, {name})."


_NO_INK = re.compile(
    "[\u034f"  # combining grapheme joiner
    "\u115f\u1160\u3164\uffa0"  # Hangul fillers
    "\u17b4\u17b5"  # Khmer inherent vowels
    "\u180b-\u180f\ufe00-\ufe0f"  # variation selectors
    "\u2800"  # Braille blank
    "\U0001d159"  # null notehead
    "\U000e0000-\U000e0fff]"  # tags, more variation selectors
)


_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=", re.DOTALL)
_KEYWORDS = re.compile(
    r"if|then|else|elif|fi|case|esac|for|select|while|until|do|done|in|function|coproc|[{}!]|\[\[|\]\]"
)
_WANT_MORE = frozenset({"&&", "||", "|", "|&"})
_DEVICES = ("/dev/", "/proc/", "/sys/")

# Text in double quotes. A dollar sign right before the closing quote is literal.
_QUOTED = r"""(?:[^"\\$`!]++|\\[^\n]|!(?=[\s="])|\$(?="))*+"""
_IN_QUOTES = re.compile(_QUOTED)
_TOKEN = re.compile(
    r"""
      (?P<comment>(?<![^\n])[ \t]*\#[^\n]*)
    | (?P<blank>[ \t]+)
    | (?P<plain>[A-Za-z0-9_@%+=:,./^\]\x80-\U0010ffff-]+[ \t]*)
    | (?P<quote>'[^']*')
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

# A comment on its own line that would also do nothing where comments are switched off.
_COMMENT = re.compile(r"[^!`$;|&<>\\]*")

# Supported redirections, with the file descriptors that may precede them.
_DESCRIPTORS = {"<": ("", "0"), "&>": ("",), "&>>": ("",)} | dict.fromkeys((">", ">>", ">|", ">&"), ("", "1", "2"))

_PLAIN_TARGETS = {">&": ("1", "2"), "<": ("/dev/null",)}  # the only words that may follow these

_REFUSED = {
    "$": "The command uses a variable or command substitution (`$`).",
    "`": "The command uses command substitution (backticks).",
    "(": "The command uses parentheses: a subshell, a function or arithmetic.",
    ")": "The command uses parentheses: a subshell, a function or arithmetic.",
    "{": "The command uses braces, which bash may expand.",
    "}": "The command uses braces, which bash may expand.",
    "!": "The command uses `!`, which a shell may replace by an earlier command.",
    "'": "A quote is not closed.",
    "": "A quote is not closed.",
    "\\": "A backslash hides a letter or the end of a line.",
    "<<": "The command uses a here-document.",
    "<<<": "The command uses a here-string.",
    "<(": "The command uses process substitution.",
    ">(": "The command uses process substitution.",
}


class _Unclear(Exception):
    """Why the lexer stopped."""


@dataclass(slots=True)
class _Word:
    """A word being read. `holds` names the kinds of tokens in it besides plain characters."""

    text: str = ""
    holds: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Command:
    """A command being read."""

    words: list[str] = field(default_factory=list)
    word: _Word | None = None
    redirect: str = ""
    redirected: bool = False


@dataclass(slots=True)
class _Lexer:
    commands: list[tuple[str, ...]] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    writes: list[tuple[int, str]] = field(default_factory=list)
    globs: set[str] = field(default_factory=set)
    command: _Command = field(default_factory=_Command)

    def line(self, unclear: str | None) -> CommandLine:
        commands, operators = tuple(self.commands), tuple(self.operators)
        return CommandLine(commands, operators, tuple(self.writes), frozenset(self.globs), unclear)

    def read(self, text: str) -> None:
        at = 0
        for _ in range(MAX_TOKENS):
            token = _TOKEN.match(text, at)
            if not token:
                break
            kind = token.lastgroup or ""
            if kind in _LITERALS:
                self.add(_LITERALS[kind](token[0]), kind)
            else:
                _STEPS[kind](self, token[0])
            at = token.end()
        else:
            raise _Unclear(f"The command has more than {MAX_TOKENS:,} words and operators.")
        if at < len(text):
            cause = _cause_in_quotes(text, at + 1) if text[at] == '"' else text[at]
            raise _Unclear(_REFUSED.get(cause, f"The command contains {text[at]!r} where bash would interpret it."))
        self.finish_command("\n")
        if _WANT_MORE.intersection(self.operators[-1:]):
            raise _Unclear(f"Nothing follows the last `{self.operators[-1]}`.")

    def add(self, text: str, kind: str | None = None) -> None:
        word = self.command.word = self.command.word or _Word()
        word.text += text
        word.holds |= {kind} if kind else set()

    def comment(self, text: str) -> None:
        if not _COMMENT.fullmatch(text):
            raise _Unclear("The command has a comment that contains shell syntax.")

    def plain(self, text: str) -> None:
        if text[0] in "^%" and not self.command.words:
            raise _Unclear(f"A command begins with `{text[0]}`, which a shell may replace by an earlier one.")
        self.add(text.rstrip(" \t"))
        if text[-1] in " \t":
            self.finish_word()

    def tilde(self, text: str) -> None:
        """A home folder at the start of a word, perhaps also after `=` and `:`; elsewhere an ordinary character."""
        word = self.command.word
        if word and word.text.endswith(("=", ":")):
            raise _Unclear("A word contains `~` where bash may expand it.")
        self.add(text, None if word else "tilde")

    def hash(self, text: str) -> None:
        if not self.command.word:
            raise _Unclear("The command has a comment that does not stand on its own line.")
        self.add(text)

    def begin_redirect(self, text: str) -> None:
        if self.command.redirect:
            raise _Unclear("A redirection has no file.")
        if self.descriptor() not in _DESCRIPTORS.get(text, ()):
            raise _Unclear(_REFUSED.get(text, f"The command uses a redirection (`{text}`) that is not supported."))
        self.command.redirect, self.command.redirected = text, True

    def descriptor(self) -> str:
        """The number right before a redirection, which is not a word of the command."""
        word = self.command.word
        if word and not word.holds and word.text.isdigit():
            self.command.word = None
            return word.text
        if word and "braces" in word.holds:
            raise _Unclear("The command redirects into a variable.")
        self.finish_word()
        return ""

    def finish_word(self) -> None:
        command, word = self.command, self.command.word
        command.word = None
        if word and word.text == "[":
            word.holds.discard("glob")
        if word and command.redirect:
            self.finish_redirect(word)
        elif word:
            command.words.append(_checked_word(word, is_program=not command.words))
            self.globs.update([word.text] if word.holds & {"glob", "tilde"} else [])

    def finish_redirect(self, word: _Word) -> None:
        redirect, self.command.redirect = self.command.redirect, ""
        if word.text in _PLAIN_TARGETS.get(redirect, ("/dev/null",)):
            return
        if redirect in _PLAIN_TARGETS:
            raise _Unclear(f"The command uses a redirection (`{redirect}`) that is not supported.")
        if not word.text or word.holds - _QUOTES:
            raise _Unclear("The file of a redirection is not written out.")
        plain = "/" + posixpath.normpath(word.text).lstrip("/") + "/"
        if word.text[0] == "/" and plain.startswith(_DEVICES):
            raise _Unclear(f"The command writes to `{word.text}`, which is not an ordinary file.")
        self.writes.append((len(self.commands), word.text))

    def finish_command(self, operator: str) -> None:
        self.finish_word()
        command, self.command = self.command, _Command()
        if command.redirect:
            raise _Unclear("A redirection has no file.")
        if operator in (";;", ";&"):
            raise _Unclear(f"The command uses `{operator}`, which belongs to a script.")
        if command.words:
            if command.words[0] == "time" and self.operators[-1:] in (["|"], ["|&"]):
                raise _Unclear("After a pipe, `time` is another program.")
            self.commands.append(_checked_command(tuple(command.words)))
            self.operators.append(operator)
        elif command.redirected or operator != "\n":
            raise _Unclear("A redirection or operator has no command.")
        if len(self.commands) > MAX_COMMANDS:
            raise _Unclear(f"The line has more than {MAX_COMMANDS} commands.")


# What each kind of literal token adds to a word.
_LITERALS: dict[str, Callable[[str], str]] = {
    "quote": lambda text: text[1:-1],
    "double": lambda text: re.sub(r'\\([\\"$`])', r"\1", text[1:-1]),
    "escape": lambda text: text[1],
    **dict.fromkeys(("glob", "braces", "bang"), str),
}
_QUOTES = {"quote", "double", "escape", "bang"}
_STEPS: dict[str, Callable[[_Lexer, str], None]] = {
    **{name: getattr(_Lexer, name) for name in ("comment", "plain", "tilde", "hash")},
    "blank": lambda lexer, _: lexer.finish_word(),
    "redirect": _Lexer.begin_redirect,
    "separator": _Lexer.finish_command,
}


def _cause_in_quotes(text: str, at: int) -> str:
    """The first unsupported character in the double quotes that begin before `at`; empty if they never end."""
    found = _IN_QUOTES.match(text, at)
    return text[found.end() : found.end() + 1] if found else ""


def _checked_word(word: _Word, *, is_program: bool) -> str:
    """A glob may become any file name, which is harmless unless that name is read as an option."""
    text = word.text
    if is_program and (not text or word.holds - _QUOTES):
        raise _Unclear("The name of a program is not written out.")
    if "tilde" in word.holds and not (text == "~" or text.startswith("~/")):
        raise _Unclear("The command names a home folder (`~name`).")
    if "glob" in word.holds and text[0] == "-" and "=" not in re.split(r"[*?\[]", text)[0]:
        raise _Unclear(f"`{text}` may become another option, by the name of a file.")
    return text


def _checked_command(words: tuple[str, ...]) -> tuple[str, ...]:
    """Check a command after `time`, a keyword after which bash looks for keywords and assignments again."""
    timed = words[0] == "time"
    first = next((word for word in words if not (timed and word in ("time", "-p", "--"))), "")
    if _KEYWORDS.fullmatch(first):
        raise _Unclear(f"The command uses the shell keyword `{first}`.")
    if _ASSIGNMENT.match(first):
        raise _Unclear(f"The command sets a variable (`{first.split('=')[0]}`), which may change what it does.")
    return words
