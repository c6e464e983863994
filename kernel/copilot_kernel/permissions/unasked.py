"""What an agent did without a question: should it have asked, and had the user allowed it before?

These are labels for what cannot be stopped any more. In doubt a call is not said to be wrong, nor to be covered.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..acp.messages import Option
from ..conversation.model import ToolCall
from . import inputs, limits
from .circumstances import Circumstances
from .parts import below
from .policy import PLAN, decide
from .request import Request

_ONCE = (Option("", "", "allow_once"),)
_DEEDS = {
    "edit": "it changed a file without asking",
    "delete": "it deleted a file without asking",
    "move": "it moved a file without asking",
    "execute": "it ran a command without asking",
}


def unasked(call: ToolCall, circumstances: Circumstances) -> str:
    """In words, what the agent should have asked about: a change, a command, or something outside of the project.

    Empty for what agents need not ask about. Searching and fetching from the network are not counted.
    """
    seen = inputs.read(call)
    if call.kind in _DEEDS:
        return _DEEDS[call.kind]
    if seen.commands:
        return _DEEDS["execute"]
    if seen.diffs:
        return _DEEDS["edit"]
    outside = next((path for path in inputs.paths(call) if _is_outside(path, circumstances)), "")
    return f"it went outside of the project without asking, to {outside}" if outside else ""


def covered(call: ToolCall, standing: Iterable[ToolCall], circumstances: Circumstances) -> str:
    """In words, what the user had allowed that covers `call`; empty: nothing.

    `standing` are the calls for which the user chose an option of kind `allow_always`, as they were shown. What such an
    answer covers is for the agent to say; counted is what is sure: the same command, the same tool, later edits in the
    project, the same paths.
    """
    request = Request(call, inputs.read(call), circumstances)
    if limits.ours(request):
        return ""
    decision = decide(call, _ONCE, circumstances)
    if decision.outcome == "allow":
        by = f"the rule {decision.rule}" if decision.rule else f"the mode {circumstances.mode}"
        return f"covered by {by}"
    if decision.outcome == "reject" or circumstances.mode == PLAN:
        return ""
    return next((words for earlier in standing if (words := _by_earlier(request, earlier))), "")


def _by_earlier(request: Request, earlier: ToolCall) -> str:
    call, before = request.call, inputs.read(earlier)
    if call.kind != earlier.kind or request.seen.is_gate != before.is_gate:
        return ""
    if request.seen.commands or before.commands or call.kind == "execute":
        same = bool(before.lines) and (before.lines, before.folder) == (request.seen.lines, request.seen.folder)
        return "covered by your earlier answer to the same command" if same else ""
    if call.kind == "edit":
        inside = bool(request.spots) and all(map(request.circumstances.is_inside, request.spots))
        return "covered by your earlier answer to an edit, which holds for later ones" if inside else ""
    if call.kind == "other":
        same = (request.seen.tool, call.title) == (before.tool, earlier.title) and bool(before.tool or earlier.title)
        return "covered by your earlier answer to the same tool" if same else ""
    same = bool(before.paths) and set(before.paths) == set(request.seen.paths)
    return "covered by your earlier answer to the same paths" if same else ""


def _is_outside(path: str, circumstances: Circumstances) -> bool:
    """For certain: by its spelling, or because it is known where it leads."""
    if "\0" in path or "://" in path or not circumstances.root:
        return False
    whole = circumstances.key(path)
    roots = (circumstances.root, circumstances.real_root)
    places = (whole, circumstances.real.get(whole, circumstances.real_root))
    return not all(any(below(place, root) is not None for root in roots) for place in places)
