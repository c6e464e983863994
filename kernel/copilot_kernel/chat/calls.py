"""Whose a tool call is, and which one a permission request is about that has no `toolCallId`, only words.

Ids of our own calls begin with a prefix that no id of the agent's keeps. A request joined to the wrong call would be
judged by the input of that call: rules may allow it only if it names the command, path or address of the call in full.
A request that may be about several calls is joined to none.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from ..acp.messages import PermissionRequest, TextBlock, ToolCallUpdate, Update
from ..conversation.model import Conversation, ToolCall
from ..permissions import inputs

OUR_PREFIX = "copilot-kernel-"

# How sure it is that a request is about a call. `kind`: only the kind suggests it, which is not enough to join them.
Match = Literal["no", "kind", "possible", "named"]

_KINDS = {
    "execute": "run execute executing running command shell bash terminal",
    "edit": "edit write create modify update change patch",
    "read": "read view open",
    "delete": "delete remove",
    "move": "move rename",
    "search": "search find grep",
    "fetch": "fetch download browse",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_QUOTES = "`\"'"
_LABEL = re.compile(r"[A-Za-z][A-Za-z ]{0,40}: +")


def own_ids(update: Update, before: Conversation) -> Iterable[Update]:
    """Take care that no id of the agent's looks like one of ours."""
    return (_renamed(update) if isinstance(update, ToolCallUpdate) else update,)


def request_of_agent(request: PermissionRequest) -> PermissionRequest:
    """`request` from the agent, whose ids never look like ours."""
    return replace(request, tool_call=_renamed(request.tool_call))


def _renamed(update: ToolCallUpdate) -> ToolCallUpdate:
    return replace(update, id=f"agent {update.id}") if update.id.startswith(OUR_PREFIX) else update


@dataclass(frozen=True, slots=True)
class Joined:
    """A request with the id of its call. `named`: rules may allow it, since it names the call or stands alone."""

    update: ToolCallUpdate
    named: bool = False


def join(request: ToolCallUpdate, before: Conversation, folder: str = "") -> Joined:
    """`request` with the id of the waiting call that it is about, if there is exactly one.

    Relative paths are relative to `folder`.
    """
    if request.id:
        return Joined(request, named=True)
    matches = [(match(request, call, folder), call) for call in unfinished(before) if not call.standing.asked]
    named = [call for how, call in matches if how == "named"]
    if named and all(_is_same(call, named[0]) for call in named):
        return Joined(_about(request, named[0]), named=True)
    possible = [call for how, call in matches if how in ("possible", "named")]
    if len(possible) == 1:
        return Joined(_with_words(_about(request, possible[0]), request, possible[0]))
    return Joined(request, named=not _is_only_described(request))


def match(request: ToolCallUpdate, call: ToolCall, folder: str) -> Match:
    """How sure it is that `request`, which has no id, is about `call`."""
    if not _is_only_described(request):
        return "named" if request.raw_input is not None and equal(request.raw_input, call.raw_input) else "no"
    kinds = _kinds(request)
    if len(kinds) == 1 and call.kind not in ("other", *kinds):
        return "no"
    title, description = (request.title or "").strip(), _description(request)
    if _names(description or title, call, folder if kinds == {call.kind} else None):
        return "named"
    if not (description and _subjects(call)) or any(_names(text, call, folder) for text in (title, description)):
        return "possible"
    if _LABEL.match(description):
        return "no"
    return "possible" if title == call.title or _mentions(description, call) else "kind"


class UnmatchedRequests:
    """Requests without a call that were allowed: each covers one call of its turn that it matches."""

    def __init__(self) -> None:
        self._allowed: list[tuple[ToolCall, set[int]]] = []

    def allow(self, question: ToolCall) -> None:
        """Note that the request whose entry is `question` was allowed."""
        self._allowed = [each for each in self._allowed if each[0].turn == question.turn]
        self._allowed.append((question, set()))

    def covers(self, call: ToolCall, folder: str) -> bool:
        """Whether the user was asked about `call`, as far as can be told."""
        for question, covered in self._allowed:
            is_free = not call.standing.asked and (not covered or call.id in covered)
            if question.turn == call.turn and is_free and match(_request_of(question), call, folder) != "no":
                covered.add(call.id)
                return True
        return False


def unfinished(now: Conversation) -> list[ToolCall]:
    """The agent's own calls of this turn that have not ended, in order."""
    theirs = (call for call in now.entries.unfinished() if call.turn == now.turn)
    return [call for call in theirs if call.call_id and not call.call_id.startswith(OUR_PREFIX)]


def _about(request: ToolCallUpdate, call: ToolCall) -> ToolCallUpdate:
    """The call keeps its own title and content."""
    return replace(request, id=call.call_id, title=None if call.title else request.title, content=None, kind=None)


def _with_words(update: ToolCallUpdate, request: ToolCallUpdate, call: ToolCall) -> ToolCallUpdate:
    """Show the words of the request beside the call that it does not name."""
    words = "\n".join(filter(None, (request.title, _description(request))))
    return replace(update, content=(*call.content, TextBlock(words))) if words else update


def _is_only_described(request: ToolCallUpdate) -> bool:
    """It has a title, perhaps a description and a kind, and nothing by which it could be judged itself."""
    is_prose = all(isinstance(part, TextBlock) for part in request.content or ())
    return is_prose and request.raw_input is None and not request.locations


def _kinds(request: ToolCallUpdate) -> set[str]:
    """Its kind, or what the words of its title and the first word of its description suggest."""
    if request.kind not in (None, "other"):
        return {request.kind}
    words = [*(request.title or "").split(), *_description(request).split(maxsplit=1)[:1]]
    letters = (re.sub(r"[^a-z]", "", word.casefold()) for word in words)
    return {_KIND_OF[word] for word in letters if word in _KIND_OF}


def _names(text: str, call: ToolCall, folder: str | None) -> bool:
    """Whether `text` is a command, path or address of the call in full, perhaps after a label or a verb.

    Without `folder` only commands count: a path does not say whether it is read or written.
    """
    commands = inputs.commands(call.raw_input)
    paths = {_absolute(path, folder) for path in inputs.paths(call)} if folder is not None else set()
    for each in filter(None, _unlabelled(text)):
        if each in commands:
            return True
        if folder is not None and (each in _subjects(call) or _absolute(each, folder) in paths):
            return True
    return False


def _absolute(path: str, folder: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))


def _unlabelled(text: str) -> Iterator[str]:
    first, _, rest = text.strip().partition(" ")
    label = _LABEL.match(text.strip())
    yield _unquoted(text)
    yield _unquoted(text.strip()[label.end() :] if label else "")
    yield _unquoted(rest if first.casefold() in _KIND_OF else "")


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES else text


def _mentions(description: str, call: ToolCall) -> bool:
    """Whether prose has a command of the call in quotes, or one of its files."""
    if any(f"{quote}{line}{quote}" in description for line in inputs.commands(call.raw_input) for quote in _QUOTES):
        return True
    paths = inputs.paths(call)
    files = filter(None, (*paths, *map(posixpath.basename, paths)))
    return any(re.search(rf"(?<![\w/.~-]){re.escape(file)}(?![\w/-])", description) for file in files)


def _subjects(call: ToolCall) -> set[str]:
    return set(filter(None, (*inputs.commands(call.raw_input), *inputs.read(call).urls, *inputs.paths(call))))


def _description(request: ToolCallUpdate) -> str:
    return "\n".join(part.text for part in request.content or () if isinstance(part, TextBlock)).strip()


def _request_of(question: ToolCall) -> ToolCallUpdate:
    """With a kind, its locations count: rules may have allowed it by them."""
    kind = question.kind if question.kind != "other" else None
    return ToolCallUpdate(
        "",
        title=question.title,
        kind=kind,
        content=question.content,
        locations=question.locations if kind else None,
        raw_input=question.raw_input,
    )


def _is_same(one: ToolCall, other: ToolCall) -> bool:
    members = ("kind", "raw_input", "content")
    return all(equal(getattr(one, name), getattr(other, name)) for name in members)


def equal(one: object, other: object) -> bool:
    """JSON may be nested deeper than it can be compared."""
    try:
        return bool(one == other)
    except RecursionError:
        return False
