"""Subject of a permission request, found in its tool call. Nothing of the call is left out."""

from __future__ import annotations

import json
import ntpath
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..acp.lenient import as_str
from ..acp.messages import Diff, TerminalContent, TextBlock, ToolContent
from ..conversation import inputs, raw
from ..conversation.line_diff import Change, between, between_cells, parse_unified
from ..conversation.model import ToolCall
from ..permissions.question import OwnSubject, Question
from ..system.drives import has_drive, rules_of
from .attachment import attachment

_HEADER = re.compile(r"^(?:---|\+\+\+) (?:[ab]/(?=.))?([^\t\n]+)", re.MULTILINE)
_OUTSIDE = "outside the project"
_SHELL = r"\b(?:(?:ba|da|k|z)?sh|python[\d.]*|node|perl|ruby)\b"
_REMARKS = (
    (
        re.compile(
            rf"\b(?:curl|wget)\b[^;&\n]*\|\s*(?:sudo\s+)?(?:\S{{0,60}}/)?{_SHELL}"
            rf"|{_SHELL}[^;&|\n]*[<$]\(\s*(?:curl|wget)\b"
        ),
        "Downloads a script and runs it",
    ),
    (
        re.compile(r"\bgit\b[^;&|\n]{0,80}\spush\b[^;&|\n]{0,200}\s(?:-f\b|--force\b|--mirror\b|\+\S)"),
        "Rewrites history on the remote",
    ),
)
_MAX_REMARKED = 2_000
"""Characters of a command that are looked at for remarks: what is in view of it."""
SUBFOLDER = "a subfolder of the project"
"""A remark about where a command runs that is worth showing, but nothing out of the ordinary."""


@dataclass(frozen=True, slots=True)
class LocatedPath:
    """A path, absolute if the folder that it starts from is known, and a remark about where it lies, if needed."""

    path: str
    remark: str = ""

    @property
    def text(self) -> str:
        """Both, for a terminal."""
        return f"{self.path} ({self.remark})" if self.remark else self.path


@dataclass(frozen=True, slots=True)
class Subject:
    """The parts of a question; texts as the agent sent them, hidden characters included.

    A command runs in `folder`, `code` in the notebook's kernel; `paths` are all that are named, except those that
    head a change; `rest` holds name and text of everything else. `deletes`: see the call. `mcp_tool`: server and tool,
    where both are known; `full_title` names them, and `is_titled_by_tool` if it says nothing else. `head` is what we
    ask on our own.
    """

    title: str
    commands: tuple[str, ...]
    changes: tuple[tuple[LocatedPath, Change], ...]
    head: str = ""
    kind: str = ""
    code: tuple[str, ...] = ()
    folder: LocatedPath | None = None
    paths: tuple[LocatedPath, ...] = ()
    rest: tuple[tuple[str, str], ...] = ()
    deletes: tuple[str, bool | None] | None = None
    is_of_notebook: bool = False
    mcp_tool: tuple[str, str] | None = None
    full_title: str = ""
    is_titled_by_tool: bool = False

    @property
    def is_evident(self) -> bool:
        """True if what the agent runs or changes is there, whatever it calls it."""
        return bool(self.commands or self.changes) and not self.is_of_notebook

    @property
    def texts(self) -> Iterator[str]:
        """Everything that the agent wrote."""
        yield from (self.title, *self.commands, *self.code, *(place.path for place in self.paths))
        yield self.folder.path if self.folder else ""
        for place, change in self.changes:
            yield from (place.path, *(line.text for line in change.lines))
        for name, text in self.rest:
            yield from (name, text)


def subject(question: Question, root: str) -> Subject:
    """`root` is the project's folder; if it is empty, no path is called outside."""
    if isinstance(call := question.about, OwnSubject):
        changes = ((locate(diff.path, root, root), between(diff.old_text, diff.new_text)) for diff in call.changes)
        return Subject(call.head, call.commands, tuple(changes), call.head)
    named = inputs.folder(call.raw_input)
    folder = question.folder or named
    commands, paths = inputs.commands(call.raw_input), inputs.paths(call)
    theirs = parse_unified(diff) if (diff := raw.unified_diff(call.raw_input)) else None
    is_ours = inputs.is_of_notebook(call)
    tool = None if is_ours else inputs.mcp_tool(call)
    return Subject(
        title=call.best_title or call.name or "no title",
        kind=call.kind,
        deletes=call.deletes,
        commands=commands,
        code=tuple(code for part in call.content if (code := _code(part))) if is_ours else (),
        changes=tuple(
            (locate(path, folder, root) if path else LocatedPath("a file"), change)
            for path, change in _changes(call, theirs, paths)
        ),
        folder=_working_folder(folder, root) if folder and (commands or named or folder != root) else None,
        # The notebook is where the question is shown.
        paths=() if is_ours else tuple(locate(path, folder, root) for path in _other_paths(call, theirs, paths)),
        rest=tuple(_rest(call, theirs)),
        is_of_notebook=is_ours,
        mcp_tool=tool,
        full_title=inputs.title(call),
        is_titled_by_tool=tool is not None and inputs.title(call) == " · ".join(tool),
    )


def remarks_on(commands: Iterable[str]) -> list[str]:
    """Return remarks on commands. For display only: a command may hide what it does."""
    views = [command[:_MAX_REMARKED].replace("\\\n", " ") for command in commands]
    return [words for pattern, words in _REMARKS if any(map(pattern.search, views))]


def change_of(call: ToolCall, diff: Diff, most: int = sys.maxsize) -> Change:
    """The change of a diff of the call; the agent's own unified diff if that says the same and knows better where.

    `most` is that of `between`.
    """
    if inputs.is_of_notebook(call):
        return between_cells(diff.old_text, diff.new_text)
    change = between(diff.old_text, diff.new_text, call.excerpts.get(diff), most)
    sources = (call.raw_input,) if change.is_numbered else (call.raw_input, call.raw_output)
    for theirs in map(parse_unified, map(raw.unified_diff, sources)):
        if theirs is not None and theirs.same_edit(change):
            return theirs
    return change


def _code(part: ToolContent) -> str:
    return raw.unfenced(part.text) if isinstance(part, TextBlock) else ""


def locate(path: str, folder: str, root: str) -> LocatedPath:
    """`path` as a call in `folder` means it; `root` is the project's folder. Both may be empty.

    Paths are compared as they are written, without looking at the disk; a `..` after a link may lead anywhere.
    """
    rules, kind = rules_of(root or folder or path)
    is_absolute = path.startswith(("/", "~")) or has_drive(path) or "://" in path
    whole = path if is_absolute else rules.join(folder or root, path)
    remark = ""
    if root and "://" not in whole:
        whole = str(kind(whole)) if rules is ntpath else whole
        is_inside = kind(rules.normpath(whole)).is_relative_to(rules.normpath(root))
        if whole.startswith("~") or not is_inside:
            remark = _OUTSIDE
        elif ".." in kind(whole).parts:
            remark = "may lead elsewhere through links"
    return LocatedPath(whole, remark)


def _working_folder(folder: str, root: str) -> LocatedPath:
    place = locate(folder, root, root)
    kind = rules_of(root)[1]
    if place.remark or not root or kind(place.path) == kind(root):
        return place
    return LocatedPath(place.path, SUBFOLDER)


def _changes(call: ToolCall, theirs: Change | None, paths: tuple[str, ...]) -> Iterator[tuple[str, Change]]:
    """Each change once: the agent's unified diff stands for the texts that say the same."""
    if theirs is not None:
        yield (paths[0] if len(paths) == 1 else ""), theirs
    for diff in call.content:
        if isinstance(diff, Diff):
            change = change_of(call, diff)
            if change != theirs:
                yield diff.path, change


def _other_paths(call: ToolCall, theirs: Change | None, paths: tuple[str, ...]) -> list[str]:
    """A path that heads a change is not repeated; the header of the agent's own diff may name another file."""
    heads = {part.path for part in call.content if isinstance(part, Diff)}
    if theirs is not None and len(paths) == 1:
        heads.update(paths)
    before_hunks = re.split(r"^@@ ", raw.unified_diff(call.raw_input), maxsplit=1, flags=re.MULTILINE)[0]
    known = [f"/{path}" for path in (*paths, *heads)]
    others = dict.fromkeys(
        path
        for path in _HEADER.findall(before_hunks)
        if path not in ("dev/null", "/dev/null") and not any(each.endswith(f"/{path.strip('/')}") for each in known)
    )
    return [*(path for path in paths if path not in heads), *others]


def _rest(call: ToolCall, theirs: Change | None) -> Iterator[tuple[str, str]]:
    if call.title not in call.best_title:
        yield "Also called", call.title
    if theirs is None and (unreadable := raw.unified_diff(call.raw_input)):
        yield "Change", unreadable
    is_ours = inputs.is_of_notebook(call)
    texts = (part.text for part in call.content if isinstance(part, TextBlock) and not (is_ours and _code(part)))
    if message := "\n".join(text for text in (as_str(call.meta.get("question")), *texts) if text.strip()):
        yield ("Content" if is_ours else "The agent says"), message
    if output := raw.terminal_text(call.meta):
        yield "Terminal output", output
    for part in call.content:
        if not isinstance(part, TextBlock | Diff | TerminalContent):
            yield "Attached", attachment(part).text
    asked = questions(call.raw_input)
    if asked:
        yield "Questions", asked
    left = None if is_ours else raw.rest(call.raw_input, _shown_texts(call))
    if asked and left:
        left = {key: value for key, value in left.items() if key != "questions"}
    if left:
        yield "Input", _input_lines(left) or raw.as_json(left)


def _shown_texts(call: ToolCall) -> set[str]:
    """Texts that the question shows in full: in the title, in the content, or as a change from one to the other."""
    texts = {call.title, call.best_title}
    for part in call.content:
        if isinstance(part, TextBlock):
            texts.add(part.text)
        elif isinstance(part, Diff):
            texts |= {part.old_text or "", part.new_text}
    return texts


def _input_lines(left: Any) -> str:
    """Texts and numbers under their names, one line each; empty if `left` holds anything else."""
    if not isinstance(left, Mapping) or not all(isinstance(value, str | int | float) for value in left.values()):
        return ""
    found = [f"{name}: {value if isinstance(value, str) else json.dumps(value)}" for name, value in left.items()]
    return "" if any("\n" in line for line in found) else "\n".join(found)


def questions(raw_input: Any) -> str:
    """The questions that some agents put into a permission request, with their options; empty in any other shape."""
    asked = raw_input.get("questions") if isinstance(raw_input, Mapping) else None
    if not isinstance(asked, list) or not all(map(_is_question, asked)):
        return ""
    return "\n".join(map(_question_text, asked))


def _question_text(question: Mapping[str, Any]) -> str:
    several = " (choose any number)" if question.get("multiSelect") is True else ""
    head = f"{question['header']}: " if question.get("header") else ""
    options = (f"  - {': '.join(filter(None, option.values()))}" for option in question.get("options", ()))
    return "\n".join((f"{head}{question['question']}{several}", *options))


def _is_question(value: Any) -> bool:
    if not isinstance(value, Mapping) or not set(value) <= {"question", "header", "options", "multiSelect"}:
        return False
    words = (value.get("question"), value.get("header", ""))
    known = isinstance(value.get("multiSelect", False), bool) and isinstance(value.get("options", []), list)
    return known and all(isinstance(each, str) for each in words) and all(map(_is_option, value.get("options", [])))


def _is_option(value: Any) -> bool:
    """`label` comes first."""
    names = tuple(value) if isinstance(value, Mapping) else ()
    return names in (("label",), ("label", "description")) and all(isinstance(value[name], str) for name in names)
