"""Errors as cards."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.messages import AuthMethod
from copilot_kernel.errors import AgentExited, AgentNotFound, AgentRefused, AgentStartFailed, AuthRequired, UsageError
from copilot_kernel.rendering.failure import render_failure
from copilot_kernel.rendering.markup import pre
from copilot_kernel.rendering.report import Wording

from .allowed import problems, text_of
from .hostile import HOSTILE

NAME, DESCRIPTION = "Log in with Copilot CLI", "Run `copilot login` in the terminal"
CHAT = Wording("try again", "/", frozenset({"restart"}))


def test_a_sign_in_says_what_to_run():
    method = AuthMethod("x", NAME, DESCRIPTION, command=("/a b/copilot", "login"))
    bundle = render_failure(AuthRequired("session/new", "Authentication required", methods=(method,)))
    assert bundle["text/plain"] == (
        f"✗ Sign in to the agent first: Authentication required\n{NAME} · {DESCRIPTION}\n"
        "  '/a b/copilot' login\nThen run this cell again."
    )
    assert "'/a b/copilot' login" in text_of(bundle["text/html"])
    without = render_failure(AuthRequired("session/new", "", methods=(AuthMethod("x", ""),)))
    assert without["text/plain"] == "✗ Sign in to the agent first\nx\nThen run this cell again."


@pytest.mark.parametrize(("error", "words"), [
    (AgentNotFound("No such command: x", "Install `x`."), "✗ No such command: x\nInstall `x`."),
    (AgentExited("It ended", "Run it again.", "last\nwords\n"), "✗ It ended\nRun it again.\nlast\nwords"),
    (AgentStartFailed("It was not ready\nboom", stderr="\x1b[31mboom\x1b[0m"), "✗ It was not ready\nboom"),
    (AgentRefused("session/prompt", -32603, "Internal error", {"details": "x"}),
     '✗ Internal error\nsession/prompt: error -32603\n{\n  "details": "x"\n}'),
    (AgentRefused("session/prompt", None, "No"), "✗ No\nsession/prompt"),
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
    hint = "Install `a <b>`:\n    npm install it\n    it login\nOr use another."
    html = render_failure(AgentNotFound("No", hint))["text/html"]
    assert "&lt;b&gt;</code>:</div>\n" + pre("npm install it\nit login") + "\n<div>Or use another.</div>" in html


def test_the_last_lines_of_much_output_are_seen_and_all_are_folded():
    output = "\n".join(f"line {number}" for number in range(20))
    folded, seen = render_failure(AgentExited("It ended", stderr=output))["text/html"].split("</details>")
    assert ("line 0\n" in folded, "line 7\n" in seen, "line 8\n" in seen, "line 19<" in seen) == (
        True,
        False,
        True,
        True,
    )
    assert "<details>" not in render_failure(AgentExited("It ended", stderr="x\n" * 3))["text/html"]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_an_error_is_more_than_text(text):
    errors = [
        AuthRequired("session/new", text, text, (AuthMethod(text, text, text, command=(text,)),)),
        AgentRefused(text, 1, text, {text: text}, text),
        AgentExited(text, text, text),
    ]
    assert [found for error in errors if (found := problems(render_failure(error)["text/html"]))] == []
