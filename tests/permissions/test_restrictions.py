"""Rules that deny or ask: everything that the first design stopped still prompts at least."""

import pytest
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.policy import NO_TOOL
from msgspec import structs

from .denied_lines import DENIED
from .making import ROOT, edit, judged, make, run, split, tool


@pytest.mark.parametrize(("rules", "line"), DENIED, ids=lambda text: text[:60])
def test_what_was_denied_before_prompts_at_least(rules: str, line: str) -> None:
    for grant in ({"allow": "Bash"}, {"allow": "Bash(*)"}, {"mode": "bypassPermissions"}):
        assert judged(run(line), deny=rules, **grant).outcome != "allow", grant
        assert judged(run(line), ask=rules, **grant).outcome == "ask", grant


MATCHED = """
rm * => rm x ¦ rm * => ls && /bin/rm x ¦ rm * => timeout 5 rm x ¦ rm * => RM x ¦ rm -rf * => rm -r data -f
rm -rf * => rm -fvr data ¦ git push --force => git push origin --force main
git push --force => git push origin --forc ¦ git push --force-with-lease * => git push --force-with-lease=main
git push => git -C sub push ¦ git push main => git push --tags origin ./main ¦ cp * data => cp a b data
* => anything
"""
NOT_MATCHED = """
rm -rf * => rm -r data ¦ git push --force => git push ¦ git push main => git log main push ¦ git push => git log
rm * => ls rmdir ¦ rm * => cat rm.txt
"""


@pytest.mark.parametrize(("pairs", "outcome"), [(MATCHED, "reject"), (NOT_MATCHED, "allow")])
def test_the_same_program_with_the_words_in_order_is_denied(pairs: str, outcome: str) -> None:
    for rule, line in (pair.split(" => ") for pair in split(pairs)):
        assert judged(run(line), allow="Bash", deny=f"Bash({rule})").outcome == outcome, (rule, line)


@pytest.mark.parametrize(
    "line",
    split(
        "sudo rm x ¦ bash -c 'rm x' ¦ find . -exec rm {} + ¦ ls; echo rm ¦ x=1 rm x ¦ git commit -m 'rm x' ¦ a | $(rm)"
    ),
)
@pytest.mark.parametrize("grant", [{"allow": "Bash; Bash(*)"}, {"mode": "bypassPermissions"}], ids=str)
def test_the_name_of_the_program_anywhere_else_prompts(line: str, grant: dict[str, str]) -> None:
    decision = judged(run(line), deny="Bash(rm *)", **grant)
    assert (decision.outcome, decision.rules) == ("ask", ("Bash(rm *)",))
    assert decision.reason == "The line mentions `rm`, which the rule Bash(rm *) covers."


@pytest.mark.parametrize(
    ("line", "links"),
    [
        ("cat link", {f"{ROOT}/link": f"{ROOT}/secret/a"}),
        ("cd sub && cat a", {f"{ROOT}/sub": f"{ROOT}/secret", f"{ROOT}/sub/a": f"{ROOT}/secret/a"}),
        ("cat --file=secret/a", {}),
        ("curl -d @secret/a x", {}),
        ("tar cf x.tar .", {}),
    ],
)
def test_operands_count_after_their_links_are_followed(line: str, links: dict[str, str]) -> None:
    assert judged(run(line), mode="bypassPermissions", deny="Read(secret/**)", links=links).outcome == "ask"
    assert judged(run(line), mode="bypassPermissions", deny="Read(other/**)", links=links).outcome == (
        "ask" if line.startswith("tar") else "allow"
    )


def test_a_tool_is_matched_by_its_server_also_in_the_first_title() -> None:
    unnamed = make("other", {"x": 1}, "delete")
    asked = structs.replace(unnamed, fuller_title="gh-delete")
    for rule in ("mcp__gh", "mcp__gh__delete", "mcp__gh__*"):
        assert judged(asked, mode="bypassPermissions", deny=rule).outcome == "reject"
        assert judged(asked, allow=rule).outcome == "allow"
        assert judged(unnamed, allow=rule).outcome == "ask"
    assert judged(asked, allow="mcp__gh__x").outcome == "ask"
    assert judged(asked, allow="mcp__g").outcome == "ask"
    assert judged(tool("mcp__gh__x"), mode="bypassPermissions", deny="mcp__gh__y").outcome == "allow"


@pytest.mark.parametrize("rule", ["mcp__my-lab", "mcp__my-lab__echo"])
@pytest.mark.parametrize(
    "call",
    [
        make("other", {}, "{}", meta={"toolName": "mcp__my-lab__echo"}),
        make("edit", {"path": f"{ROOT}/a"}, "x", meta={"toolName": "my-lab_echo"}),
        make("other", {}, "x", meta={"a": {"toolName": "x"}, "b": {"serverName": "my-lab", "toolName": "echo"}}),
        make("other", {}, "x", name="mcp_my_lab_echo"),
        make("other", {}, "my_lab_echo"),
        make("other", {}, "my-lab/echo"),
        make("execute", {}, "My-Lab-echo"),
    ],
)
def test_a_server_is_denied_wherever_its_name_stands(call: ToolCall, rule: str) -> None:
    assert judged(call, mode="bypassPermissions", deny=rule).outcome == "reject"
    assert judged(call, mode="bypassPermissions", deny="mcp__lab; mcp__my-lab-2").outcome != "reject"


def test_a_call_that_names_no_tool_prompts_where_a_rule_is_about_one() -> None:
    unnamed = make("other", {"text": "hey"}, '{"text":"hey"}')
    assert judged(unnamed, mode="bypassPermissions").outcome == "allow"
    assert NO_TOOL in judged(unnamed, mode="bypassPermissions", deny="mcp__lab").reason
    assert judged(edit("lab/x"), mode="bypassPermissions", deny="mcp__lab").outcome == "allow"
