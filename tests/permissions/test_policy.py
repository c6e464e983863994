"""The answer to the agent: which option, in whose name, in which words; and that nothing an agent sends breaks it."""

import copy
import sys
from dataclasses import replace
from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff, Location, PermissionOption
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.call_input import FILE_KINDS
from copilot_kernel.permissions.policy import (
    ALLOWED_BY_MODE,
    NO_ALLOW_ONCE,
    Decision,
    PolicyContext,
    answerable,
    decide,
    decider,
    paths,
    reject,
)
from copilot_kernel.permissions.question import RuleOffer
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from ..limits import examples
from .making import (
    ALWAYS,
    HOME,
    NEVER,
    NO,
    ONCE,
    OPTIONS,
    PROTECTED,
    ROOT,
    around,
    edit,
    fetch,
    judged,
    make,
    run,
    split,
    tool,
    view,
)

ODD = PermissionOption("allow_once", "Allow once", "allow_for_an_hour")


@pytest.mark.parametrize(
    ("call", "circumstances", "decision"),
    [
        (
            run("git status"),
            {"allow": "Bash(git *)"},
            Decision("allow", ONCE, "rule", "The rule Bash(git *) allows it.", ("Bash(git *)",)),
        ),
        (
            run("git diff > a"),
            {"allow": "Bash(git *); Edit(./a)"},
            Decision(
                "allow", ONCE, "rule", "The rules Bash(git *) and Edit(./a) allow it.", ("Bash(git *)", "Edit(./a)")
            ),
        ),
        (
            edit("a"),
            {"mode": "acceptEdits"},
            Decision("allow", ONCE, "mode", ALLOWED_BY_MODE.format("acceptEdits")),
        ),
        (
            edit("a"),
            {"deny": "Edit(a)"},
            Decision("reject", NO, "rule", "The rule Edit(a) denies it.", ("Edit(a)",)),
        ),
        (run("npm test"), {}, Decision("ask", None, "mode", "No rule covers `npm test`.")),
        (
            run("git push"),
            {"allow": "Bash(git *)", "ask": "Bash(git push *)"},
            Decision("ask", None, "rule", "The rule Bash(git push *) asks about it.", ("Bash(git push *)",)),
        ),
    ],
)
def test_a_decision_says_who_decided_and_why(call: ToolCall, circumstances: dict[str, str], decision: Decision) -> None:
    assert judged(call, **circumstances) == decision


def test_what_would_have_allowed_it_is_tried_when_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    decision, quick = judged(run("npm test")), judged(run("git push"), ask="Bash(git push)")
    npm = "Always allow running “npm test” in"
    offered = (
        RuleOffer(f"{npm} this conversation", "Bash(npm test)"),
        RuleOffer(f"{npm} every project", "Bash(npm test)", "settings"),
    )
    found = [(each.is_routine, each.would, each.offers) for each in (decision, quick)]
    assert found == [(True, ("Bash(npm test)", "Bash"), offered), (False, (), ())]
    monkeypatch.setattr("copilot_kernel.permissions.policy.offers", None)
    assert judged(run("npm test")).outcome == "ask"


def test_who_decided_in_words() -> None:
    asked = (
        judged(run("git diff > a"), allow="Bash(git *); Edit(./a)"),
        judged(edit("a"), deny="Edit(a)"),
        judged(edit("a"), mode="acceptEdits"),
    )
    names = [decider(each, "acceptEdits") for each in asked]
    assert names == ["rules `Bash(git *)` and `Edit(./a)`", "rule `Edit(a)`", "“Edit freely” mode"]


@pytest.mark.parametrize(
    ("call", "outcome"),
    [
        (run("rm -r build; curl x | sh"), "allow"),
        (edit("a"), "allow"),
        (edit("/etc/hosts"), "allow"),
        (edit("AGENTS.md"), "allow"),
        (run(""), "ask"),
        (view("src/a.py"), "allow"),
        (view("/etc/passwd"), "ask"),
        (fetch("https://example.com"), "ask"),
        (tool("mcp__files__write"), "ask"),
        (structs.replace(run("ls"), name="mcp__files__run"), "ask"),
    ],
)
def test_the_mode_sandboxed_allows_what_the_agent_itself_runs_and_changes(call: ToolCall, outcome: str) -> None:
    assert judged(call, mode="sandboxed").outcome == outcome
    assert judged(call, mode="sandboxed", deny="Bash; Edit; Read; WebFetch; mcp__files").outcome == "reject"


def test_in_the_mode_sandboxed_our_own_settings_and_what_a_denied_command_may_hide_in_prompt() -> None:
    assert judged(edit(PROTECTED[0]), mode="sandboxed").outcome == "ask"
    assert judged(run("bash -c 'git push'"), mode="sandboxed", deny="Bash(git push)").outcome == "ask"


@pytest.mark.parametrize(
    ("call", "allow", "offered"),
    [
        (run("npm test"), "", "Bash(npm test)"),
        (run(f"cd {ROOT} && npm test"), "", "Bash(npm test)"),
        (run("echo 'a b'"), "", "Bash(echo 'a b')"),
        (run("cd demo-project && python3 test_fibonacci.py"), "", "Bash(python3 test_fibonacci.py)"),
        (run("timeout 60 npm test 2>&1 | tail -5"), "", "Bash(npm test)"),
        (run("ls && npm test && true"), "Bash(ls)", "Bash(npm test)"),
        (run("npm test && ls"), "", ""),
        (run("npm test > log"), "", ""),
        (run("npm test $X"), "", ""),
        (edit("src/a.py"), "", "Edit(src/a.py)"),
        (edit("a.py"), "", "Edit(./a.py)"),
        (edit("/tmp/a.py"), "", "Edit(/tmp/a.py)"),
        (edit("a[1].py"), "", "Edit"),
        (make("edit", {"edits": [{"path": "src/a"}, {"path": "src/b"}]}), "", "Edit(src/**)"),
        (make("edit", {"edits": [{"path": "src/a"}, {"path": "b"}]}), "", "Edit"),
        (view("data/a.csv"), "", "Read(data/a.csv)"),
        (make("search", {"pattern": "x"}), "", "Grep"),
        (fetch("https://example.com/a"), "", "WebFetch(domain:example.com)"),
        (tool("mcp__gh__issue"), "", "mcp__gh__issue"),
        (edit(".env"), "", ""),
    ],
)
def test_the_narrowest_rule_is_offered_first_and_none_that_would_not_do(
    call: ToolCall, allow: str, offered: str
) -> None:
    rules = [offer.rule for offer in judged(call, allow=allow).offers]
    assert rules[:1] == [*filter(None, [offered])]


@pytest.mark.parametrize("mode", ["bypassPermissions", "default"])
@pytest.mark.parametrize("options", [(), (ALWAYS, NO), (ODD,), (ODD, ALWAYS, NO, NEVER)])
def test_no_standing_or_unknown_option_is_ever_chosen(mode: str, options: tuple[PermissionOption, ...]) -> None:
    decision = judged(run("ls"), mode=mode, allow="Bash", options=options)
    assert (decision.outcome, decision.option) == ("ask", None)
    assert NO_ALLOW_ONCE in decision.reason


def test_of_two_options_for_once_the_first_is_taken() -> None:
    second = PermissionOption("9", "Allow once, really", "allow_once")
    assert judged(run("ls"), allow="Bash", options=(ALWAYS, second, ONCE)).option == second


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ((ONCE, NEVER, NO), NO),
        ((ONCE, NEVER), NEVER),
        ((ONCE, ALWAYS), None),
        ((PermissionOption("reject_once", "Reject", "refuse"),), None),
        ((), None),
    ],
)
def test_the_mildest_no_is_said(options: tuple[PermissionOption, ...], option: PermissionOption | None) -> None:
    assert reject(options) == option
    decision = judged(run("ls"), mode="plan", options=options)
    assert (decision.outcome, decision.option, decision.by) == ("reject", option, "mode")


@pytest.mark.parametrize(
    ("offered", "answers"),
    [
        ("allow_once=a", "allow_once=a reject_once=None"),
        ("allow_always=a", "allow_always=a reject_once=None"),
        ("new_kind=a", "new_kind=a reject_once=None"),
        ("reject_once=n allow_once=a", "reject_once=n allow_once=a"),
        ("allow_once=a reject_once=a", "allow_once=a reject_once=None"),
        ("reject_once=a allow_always=a", "allow_always=a reject_once=None"),
        ("reject_once=a new_kind=a", "new_kind=a reject_once=None"),
        ("allow_once=a reject_once=a reject_once=n", "allow_once=a reject_once=n"),
        ("allow_once=a reject_always=a", "allow_once=a reject_once=None"),
        ("allow_once=a reject_always=n", "allow_once=a reject_always=n reject_once=None"),
        ("reject_once=n reject_always=n", "reject_once=n reject_always=n"),
        ("reject_always=n", "reject_always=n reject_once=None"),
        ("", ""),
    ],
)
def test_one_answer_denies_once_and_none_that_denies_is_sent_as_one_that_may_allow(offered: str, answers: str) -> None:
    options = [PermissionOption(id, "", kind) for kind, id in (each.split("=") for each in offered.split())]
    assert " ".join(f"{each.kind}={each.id}" for each in answerable(options)) == answers


@pytest.mark.parametrize("mode", ["", "bypasspermissions"])
def test_an_unknown_mode_is_the_default_one(mode: str) -> None:
    for call in (run("ls"), edit("a"), view("a")):
        assert judged(call, mode=mode) == judged(call)
        assert judged(call, mode=mode, allow="Bash; Edit; Read").outcome == "allow"


def test_of_each_path_it_must_be_known_where_it_leads() -> None:
    call = run("echo x > out.txt", cwd="src")
    known = around(call, allow="Bash(echo *); Edit")
    assert set(known.real) == {ROOT, HOME, *PROTECTED, f"{ROOT}/src", f"{ROOT}/src/out.txt"}
    assert decide(call, OPTIONS, known).outcome == "allow"
    for path in (f"{ROOT}/src", f"{ROOT}/src/out.txt"):
        without = {each: leads for each, leads in known.real.items() if each != path}
        assert decide(call, OPTIONS, replace(known, real=without)).outcome == "ask"


def test_without_a_project_nothing_is_inside() -> None:
    for call in (edit("a"), view("a"), run("ls"), make("search", {"pattern": "x"})):
        known = replace(around(call, allow="Edit; Read; Bash; Grep"), root="", cwd="")
        known = replace(known, real={path: path for path in paths(call, known)})
        assert decide(call, OPTIONS, known).outcome == "ask"


_ODD_WORDS = ("\x00", "�", "x" * 300, "", "*** Begin Patch\n*** Add File: a\n", "\u202e")
_USUAL_WORDS = split("""
/home/me/project ¦ /home/me/project/a.py ¦ a.py ¦ ../a ¦ /etc/passwd ¦ ~/x ¦ git status ¦ rm -rf / ¦ git status; rm x
https://example.com/ ¦ https://a@b ¦ file:///a ¦ $(x)
""")
_WORDS = st.sampled_from([*_ODD_WORDS, *_USUAL_WORDS])
_TEXTS = _WORDS | st.text(max_size=40)
_NAMES = st.sampled_from(
    ["command", "commands", "cmd", "argv", "path", "fileName", "url", "cwd", "diff", "server", "tool", "args", "input"]
) | st.text(max_size=8)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)
_KINDS = st.sampled_from([*sorted(FILE_KINDS), "execute", "fetch", "think", "other", "switch_mode", "x"])
_CALLS = st.builds(
    make,
    _KINDS,
    st.dictionaries(_NAMES, _JSON, max_size=5) | _JSON,
    _TEXTS,
    name=st.sampled_from(["", "mcp__a__b"]),
    locations=st.lists(st.builds(Location, _TEXTS), max_size=2).map(tuple),
    content=st.lists(st.builds(Diff, _TEXTS, st.none() | _TEXTS, _TEXTS), max_size=1).map(tuple),
    meta=st.dictionaries(st.text(max_size=5), _JSON, max_size=2),
)
_RULE = st.sampled_from(
    split("""
Bash ¦ Bash(git *) ¦ Bash(rm *) ¦ Edit ¦ Edit(*.py) ¦ Edit(/**) ¦ Edit(src/**) ¦ Read ¦ Read(~/**) ¦ Grep ¦ WebFetch
WebFetch(domain:example.com) ¦ mcp__a ¦ mcp__a__b
""")
)
_RULES = st.lists(_RULE, max_size=4).map("; ".join)
_MODES = st.sampled_from(["default", "acceptEdits", "bypassPermissions", "plan", "sandboxed", "yolo"])
_OPTIONS = st.lists(st.sampled_from([ALWAYS, ONCE, NO, NEVER, ODD]), max_size=4).map(tuple)


_MORE = {"allow": _RULES, "ask": _RULES, "deny": _RULES, "mode": _MODES, "options": _OPTIONS}


@settings(max_examples=examples(60))
@given(_CALLS, st.fixed_dictionaries(_MORE, optional={"earlier": _CALLS}))
def test_whatever_an_agent_sends_is_decided_and_never_by_a_standing_grant(call: ToolCall, more: dict[str, Any]) -> None:
    decision = judged(call, **more)
    assert decision == judged(copy.deepcopy(call), **more)
    if decision.outcome == "allow":
        assert decision.option is not None
        assert (decision.option.kind, more["mode"] != "plan") == ("allow_once", True)
    else:
        assert decision.option is None or decision.option.kind in ("reject_once", "reject_always")
    assert decision.reason.endswith(".")


@given(_CALLS, _RULES, _MODES)
def test_what_is_denied_is_never_allowed_and_without_a_rule_only_a_mode_allows(
    call: ToolCall, allow: str, mode: str
) -> None:
    everything = "Bash; Edit; Read; Grep; WebFetch; mcp__a"
    if call.kind in ("read", "search", "edit", "delete", "move", "execute", "fetch"):
        assert judged(call, allow=allow, deny=everything, mode=mode).outcome == "reject"
        assert judged(call, allow=allow, ask=everything, mode=mode).outcome != "allow"
    if judged(call, mode=mode).outcome == "allow":
        assert mode == "bypassPermissions" or (
            call.kind in FILE_KINDS | ({"execute"} if mode == "sandboxed" else set())
            and mode in ("acceptEdits", "sandboxed")
        )


_LONG = {
    "many words": run("uv run " + "pytest " * 500),
    "many options": run("find . " + "-name a -o " * 180),
    "many files": run("cat " + " ".join(f"./f{at}" for at in range(190))),
    "many wildcards": run("cd a; cd b; cp " + " ".join(f"./a{at}/*" for at in range(90))),
    "many folders": run("; ".join(f"cd a{at}" for at in range(49))),
    "long wildcards": run("cp " + " ".join("?*" * 60 + str(at) for at in range(38))),
    "a long message": run("git commit -m '" + "/.x:=,@" * 1_200 + "'"),
    "open signs": run("$(" * 4_000),
    "open braces": run("a {" + "," * 9_000),
    "open brackets": run("cat " + "[" * 9_000),
    "deep paths": make("edit", {"path": [f"{ROOT}/{'a/' * 90}{at}" for at in range(99)]}),
    "deep ends": make("move", {"path": [f"{ROOT}/{'a/' * 90}{at}" for at in range(99)]}),
    "deep paths inside": make("other", {"x": [f"{ROOT}/{'a/' * 90}{at}" for at in range(99)]}),
    "long texts": make("edit", {"a": {"b": [f"{at}" + "../x" * 1_000 for at in range(900)]}}),
    "many heads": make("edit", {"path": "a", "diff": "--- a\n+++ b\n" * 20_000}),
    "many files of a patch": make("edit", {"patch": "*** Update File: x\n" * 20_000}),
    "many commands": run("git status; " * 800),
    "a deep word": run("cat " + "a/" * 4_900),
    "many edits": make("edit", {"edits": [{"path": f"src/{at}.py"} for at in range(500)]}),
    "a long text": make("edit", {"path": "a", "content": "x" * 5_000_000}),
    "a long host": fetch("https://" + "a." * 4_000),
    "many arguments": make("other", {"arguments": {f"x{at}": f"/a/b/{at}" for at in range(900)}}),
}
STEPS = 100_000
"""Calls of functions in one decision: a few milliseconds."""


@pytest.mark.parametrize("name", _LONG)
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_a_decision_takes_a_bounded_number_of_steps(name: str, mode: str) -> None:
    known = around(
        _LONG[name],
        allow="Bash(git *); Bash(cat *); Edit; Read",
        deny="Edit(data/**); Read(*.key)",
        mode=mode,
    )
    assert _steps(_LONG[name], known) < STEPS


def _steps(call: ToolCall, known: PolicyContext) -> int:
    """Counted, since a time would tell of the machine."""
    steps, before = 0, sys.getprofile()

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        decide(call, OPTIONS, known)
    finally:
        sys.setprofile(before)
    return steps
