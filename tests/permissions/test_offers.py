"""Rules that are offered with a question: the calls that a rule allows are those that its words name."""

import posixpath
import re

import pytest
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.question import RuleOffer
from hypothesis import given
from hypothesis import strategies as st

from .making import ROOT, delete, edit, fetch, judged, make, run, tool, view

KINDS = {
    "reading": ("read",),
    "searching": ("search",),
    "changing, moving and deleting": ("edit", "delete", "move"),
    "running": ("execute",),
    "fetching from": ("fetch",),
    "using the tool": ("other",),
}
OTHER = "/home/me/other"
_NAMES = ("a.py", "a*.py", "ab.py", "?", "~x", "./a.py", "[a].py", "a b", "notes.txt", ")", "src", "**")
_FILES = st.builds(posixpath.join, st.sampled_from(("", "src", "src/in", "src2", "s*", OTHER)), st.sampled_from(_NAMES))
_LINES = st.builds(
    " ".join, st.lists(st.sampled_from(("npm", "test", "'a b'", "*", "-u", "git", "push")), min_size=1, max_size=3)
)
CALLS = st.one_of(
    *(st.builds(made, _FILES) for made in (view, edit, delete)),
    _FILES.map(lambda path: make("search", {"pattern": "x", "path": path})),
    st.builds(lambda one, other: make("edit", {"edits": [{"path": one}, {"path": other}]}), _FILES, _FILES),
    _LINES.map(run),
    st.sampled_from(("https://example.com/a", "https://www.example.com", "http://example.com:81")).map(fetch),
    st.sampled_from(("mcp__a__b", "mcp__a__c", "mcp__a__b__c", "mcp__ab__b")).map(tool),
)
ENDING = " in (this conversation|every conversation|every project)"


def names(words: str, call: ToolCall, root: str) -> bool:
    """Return True if the words of a rule name the call, made in the project `root`, as a person reads them."""
    act, what, where = re.fullmatch(f"Always allow ({'|'.join(KINDS)}) (.+){ENDING}", words).groups()
    given = call.raw_input
    if call.kind not in KINDS[act] or (where == "this conversation" and root != ROOT):
        return False
    if act == "running":
        return f"“{given['command']}”" == what
    if act == "fetching from":
        return re.fullmatch(rf"https?://{re.escape(what)}(/.*)?", given["url"]) is not None
    if act == "using the tool":
        server, own_name = call.name.removeprefix("mcp__").split("__", 1) if call.name else _tool(call)
        return f"{own_name} of “{server}”" == what
    edits = given.get("edits", [{"path": given.get("path", given.get("fileName"))}])
    paths = [posixpath.normpath(posixpath.join(root, each["path"])) for each in edits]
    is_clear = not any(each["path"].startswith("~") for each in edits)  # else it may be in the home of another user
    return is_clear and all(
        _names_file(what, path, root, is_read=act != "changing, moving and deleting") for path in paths
    )


def _tool(call: ToolCall) -> list[str]:
    return call.meta["claudeCode"]["toolName"].removeprefix("mcp__").split("__", 1)


def _names_file(what: str, path: str, root: str, *, is_read: bool) -> bool:
    if found := re.fullmatch("files (?:of the project|in (.+)/)", what):
        folder = posixpath.join(root, found[1] or "").rstrip("/")
        return path.startswith(f"{folder}/") or (is_read and path == folder)
    return path == posixpath.join(root, what)


@given(CALLS, CALLS, st.booleans())
def test_a_rule_allows_the_calls_that_its_words_name_and_no_others(
    asked: ToolCall, later: ToolCall, is_elsewhere: bool
) -> None:
    for offer in judged(asked).offers:
        root = OTHER if is_elsewhere and offer.keep == "settings" else ROOT
        is_allowed = judged(later, allow=offer.rule, root=root, cwd=root).outcome == "allow"
        assert is_allowed == names(offer.words, later, root), (offer, later)


@given(CALLS)
def test_what_is_saved_holds_in_every_project_and_says_so_or_is_an_absolute_path(asked: ToolCall) -> None:
    for offer in judged(asked).offers:
        if offer.keep == "settings":
            is_absolute = re.fullmatch(r"\w+\(/.+\)", offer.rule) is not None
            assert is_absolute != offer.words.endswith("in every project"), offer


ACT = "Always allow changing, moving and deleting"


@pytest.mark.parametrize(("call", "offered"), [
    (edit("src/in/a.py"), [
        RuleOffer(f"{ACT} src/in/a.py in this conversation", "Edit(src/in/a.py)"),
        RuleOffer(f"{ACT} {ROOT}/src/in/a.py in every conversation", f"Edit({ROOT}/src/in/a.py)", "settings"),
        RuleOffer(f"{ACT} files in src/in/ in this conversation", "Edit(src/in/**)"),
        RuleOffer(f"{ACT} files of the project in this conversation", "Edit"),
    ]),
    (view("a*.py"), [RuleOffer("Always allow reading files of the project in this conversation", "Read")]),
    (tool("mcp__a"), []),
    (run("ls " + "x" * 1000), []),
])  # fmt: skip
def test_the_narrowest_comes_first(call: ToolCall, offered: list[RuleOffer]) -> None:
    assert list(judged(call).offers) == offered
