"""Errors as cards."""

import pytest
from copilot_kernel.acp.agent_errors import error_from_answer
from copilot_kernel.acp.jsonrpc import RpcError
from copilot_kernel.acp.messages import AuthMethod
from copilot_kernel.chat.trust import HINT_REFUSED
from copilot_kernel.errors import (
    AgentExited,
    AgentNotFound,
    AgentRefused,
    AgentStartFailed,
    AuthRequired,
    ModelFailed,
    UsageError,
)
from copilot_kernel.rendering.failure import render_failure
from copilot_kernel.rendering.markup import CELL_COMMAND, COMMAND, FAILURE, NO_AGENT, escape, pre
from copilot_kernel.rendering.report import Wording

from .allowed import problems, text_of
from .hostile import HOSTILE

NAME, DESCRIPTION = "Log in with Copilot CLI", "Run `copilot login` in the terminal"
CHAT = Wording("try again", "/", frozenset({"restart"}))


def test_a_sign_in_says_what_to_run():
    method = AuthMethod("x", NAME, DESCRIPTION, command=("/a b/copilot", "login"))
    bundle = render_failure(AuthRequired("session/new", "Authentication required", methods=(method,)))
    assert bundle["text/plain"] == (
        "✗ The agent is not signed in\nRun this in a terminal: `'/a b/copilot' login`. Then run this cell again."
    )
    assert pre(escape("'/a b/copilot' login"), kind=COMMAND) in bundle["text/html"]
    assert "<details>" not in bundle["text/html"]
    without = render_failure(AuthRequired("session/new", "", methods=(AuthMethod("x", "", type="terminal"),)))
    assert without["text/plain"] == "✗ The agent is not signed in\nx. Then run this cell again."
    expired = AuthRequired("session/prompt", "Authentication required: expired")
    assert render_failure(expired)["text/plain"] == (
        f"✗ The agent is not signed in: {expired}\nThen run this cell again."
    )
    longer = AuthRequired("session/prompt", "No account\nat line 1")
    assert render_failure(longer)["text/plain"].endswith("Technical details:\nat line 1")


def test_ways_to_sign_in_are_folded_where_a_button_does_it():
    methods = (AuthMethod("a", "Account", "Opens a browser"), AuthMethod("x", NAME, command=("copilot", "login")))
    error = AuthRequired("session/new", "", methods=methods, hint="Not given to the agent: A.")
    bundle = render_failure(error)
    seen, folded = bundle["text/html"].split("<details>")
    assert text_of(seen) == "✗ The agent is not signed in\nNot given to the agent: A.\n"
    assert text_of(folded.replace("</summary>", "\n")).splitlines() == [
        "Ways to sign in", "Run %login.", "Account. Opens a browser.", "Run this in a terminal:copilot login",
        "Then run this cell again.",
    ]  # fmt: skip
    assert bundle["text/plain"] == (
        "✗ The agent is not signed in\nNot given to the agent: A.\n"
        "Run `%login`. Account. Opens a browser. Run this in a terminal: `copilot login`. Then run this cell again."
    )
    assert "<details open>" in render_failure(error, CHAT)["text/html"]


@pytest.mark.parametrize(("error", "words"), [
    (AgentNotFound("No such command: x", "Install `x`."), "✗ No such command: x\nInstall `x`."),
    (AgentExited("It ended", "Run it again.", "last\nwords\n"),
     "✗ It ended\nRun it again.\nTechnical details:\nlast\nwords"),
    (AgentStartFailed("It was not ready\nboom", stderr="\x1b[31mboom\x1b[0m"),
     "✗ It was not ready\nTechnical details:\nboom"),
    (AgentRefused("session/prompt", -32603, "Internal error", {"details": "x"}),
     '✗ Internal error\nTechnical details:\nsession/prompt: error -32603\n{\n  "details": "x"\n}'),
    (AgentRefused("session/prompt", None, "No"), "✗ No\nTechnical details:\nsession/prompt"),
    (AgentRefused("session/prompt", 1, "No\nat line 1"),
     "✗ No\nTechnical details:\nsession/prompt: error 1\nNo\nat line 1"),
    (ModelFailed("429 Slow down", "Wait.", "quota", "429 Slow down"), "✗ 429 Slow down\nWait."),
    (ModelFailed("429 Slow down", "Wait.", "quota", "After 5 attempts: 429 Slow down"),
     "✗ 429 Slow down\nWait.\nTechnical details:\nAfter 5 attempts: 429 Slow down"),
    (UsageError(""), "✗ UsageError"),
])  # fmt: skip
def test_an_error_in_words(error, words):
    assert render_failure(error)["text/plain"] == words


def test_each_front_end_has_its_own_words_but_the_agent_keeps_its_own():
    error = AgentRefused(
        "x", None, "No %restart", {"d": "run this cell again"}, "`%restart`, then run this cell again. 5 %s"
    )
    shown = render_failure(error, CHAT)
    assert "`/restart`, then try again. 5 %s" in shown["text/plain"]
    assert "/restart</code>, then try again. 5 %s" in shown["text/html"]
    assert ("No %restart" in shown["text/plain"], "run this cell again" in shown["text/plain"]) == (True, True)
    assert render_failure(AuthRequired("x", ""), CHAT)["text/plain"].endswith("Then try again.")


def test_commands_in_a_hint_look_like_commands():
    hint = "Install `a <b>`:\n    npm install it\n    it login\nOr use another:\n    %agent demo"
    html = render_failure(AgentNotFound("No", hint))["text/html"]
    shell = pre("npm install it\nit login", kind=COMMAND)
    assert (
        f"&lt;b&gt;</code>:</div>\n{shell}\n<div>Or use another:</div>\n{pre('%agent demo', kind=CELL_COMMAND)}" in html
    )
    assert f"{FAILURE} {NO_AGENT}" in html
    assert NO_AGENT not in render_failure(AgentExited("No", hint))["text/html"]


def test_what_a_developer_asks_for_is_folded():
    html = render_failure(AgentExited("It ended", "Run it again.", "last words"))["text/html"]
    seen, folded = html.split("<details>")
    assert ("It ended" in seen, "Run it again." in seen, "last words" in folded) == (True, True, True)
    assert "Technical details</span></summary>" in folded
    assert "<details>" not in render_failure(AgentExited("It ended"))["text/html"]


def test_a_quota_is_said_once_with_advice_that_helps_and_the_protocol_is_folded():
    words = "429 You have exceeded your premium request allowance. Resets 2026-12-01."
    error = error_from_answer("session/prompt", RpcError(-32603, f"Internal error: {words}", {"details": words}))
    bundle = render_failure(error)
    card = f"✗ {words}\nWait until the limit is reset, or choose another model.\n"
    assert text_of(bundle["text/html"].split("<details>")[0]) == card
    assert bundle["text/plain"].startswith(f"{card}Technical details:\nsession/prompt: error -32603")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_an_error_is_more_than_text(text):
    errors = [
        AuthRequired("session/new", text, text, (AuthMethod(text, text, text, command=(text,)),)),
        AgentRefused(text, 1, text, {text: text}, text),
        AgentExited(text, text, text),
        ModelFailed(text, text, "bug", text),
    ]
    assert [found for error in errors if (found := problems(render_failure(error)["text/html"]))] == []


@pytest.mark.parametrize("before", ["", "%copilot "])
def test_what_revokes_a_refusal_is_a_command_for_a_cell(before: str) -> None:
    wording = Wording(prefix=f"{before}%", commands=frozenset({"permissions"}))
    html = render_failure(UsageError("Not started", HINT_REFUSED.format("01234567")), wording)["text/html"]
    assert pre(f"{before}%permissions revoke 01234567", kind=CELL_COMMAND) in html
