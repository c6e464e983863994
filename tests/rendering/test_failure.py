"""Errors as cards."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.messages import AuthMethod
from copilot_kernel.errors import AgentExited, AgentNotFound, AgentRefused, AgentStartFailed, AuthRequired, UsageError
from copilot_kernel.rendering.failure import render_failure
from copilot_kernel.rendering.markup import pre

from .allowed import problems, text_of
from .hostile import HOSTILE

COPILOT = {
    "id": "copilot-login",
    "name": "Log in with Copilot CLI",
    "description": "Run `copilot login` in the terminal",
    "_meta": {"terminal-auth": {"command": "/a b/copilot", "args": ["login"], "label": "Copilot Login"}},
}
PARSED = AuthMethod(
    "x", "Log in with Copilot CLI", "Run `copilot login` in the terminal", command=("/a b/copilot", "login")
)
SIGN_IN = """✗ The agent wants you to sign in first: Authentication required
Log in with Copilot CLI · Run `copilot login` in the terminal
  '/a b/copilot' login
Then run this cell again."""


@pytest.mark.parametrize("method", [COPILOT, PARSED])
def test_a_sign_in_says_what_to_run(method):
    bundle = render_failure(AuthRequired("session/new", "Authentication required", methods=(method,)))
    assert bundle["text/plain"] == SIGN_IN
    assert "'/a b/copilot' login" in text_of(bundle["text/html"])
    assert "Then run this cell again." in text_of(bundle["text/html"])


@pytest.mark.parametrize(
    "methods", [(), (None,), ("x",), ({},), ({"_meta": 3},), ({"_meta": {"terminal-auth": {"args": 1}}},)]
)
def test_a_sign_in_survives_methods_of_any_shape(methods):
    bundle = render_failure(AuthRequired("session/new", "", methods=methods))
    assert bundle["text/plain"].startswith("✗ The agent wants you to sign in first\n")
    assert problems(bundle["text/html"]) == []


@pytest.mark.parametrize(("error", "words"), [
    (AgentNotFound("No such command: x", "Install `x`."), "✗ No such command: x\nInstall `x`."),
    (AgentExited("It ended", "Run it again.", "last\nwords\n"), "✗ It ended\nRun it again.\nlast\nwords"),
    (AgentStartFailed("No answer", stderr="\x1b[31mboom\x1b[0m"), "✗ No answer\nboom"),
    (AgentRefused("session/prompt", -32603, "Internal error", {"details": "x"}),
     '✗ Internal error\nsession/prompt: error -32603\n{\n  "details": "x"\n}'),
    (AgentRefused("session/prompt", None, "No"), "✗ No\nsession/prompt"),
    (UsageError(""), "✗ UsageError"),
])  # fmt: skip
def test_an_error_in_words(error, words):
    assert render_failure(error)["text/plain"] == words


def test_commands_in_a_hint_look_like_commands():
    html = render_failure(AgentNotFound("No", "Run `a <b>` now"))["text/html"]
    assert "&lt;b&gt;</code> now" in html
    assert "Run a <b> now" in text_of(html)


def test_commands_in_a_hint_of_several_lines_have_lines_of_their_own():
    hint = "Install it:\n    npm install it\n    it login\nOr take another."
    html = render_failure(AgentNotFound("No", hint))["text/html"]
    block = pre("npm install it\nit login")
    assert f"<div>Install it:</div>\n{block}\n<div>Or take another.</div>" in html


def test_last_words_stand_once_in_the_card():
    failed = AgentStartFailed("It was not ready\nlast\nwords", stderr="last\nwords")
    assert render_failure(failed)["text/plain"] == "✗ It was not ready\nlast\nwords"


def test_of_many_last_words_the_last_are_seen_and_all_are_folded():
    said = "\n".join(f"line {number}" for number in range(20))
    html = render_failure(AgentExited("It ended", stderr=said))["text/html"]
    folded, seen = html.split("</details>")
    assert ("line 0\n" in folded, "line 7\n" in seen, "line 8\n" in seen, "line 19<" in seen) == (
        True,
        False,
        True,
        True,
    )
    assert "<details>" not in render_failure(AgentExited("It ended", stderr="x\n" * 3))["text/html"]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_an_error_is_more_than_text(text):
    method = {"name": text, "description": text, "_meta": {"terminal-auth": {"command": text, "args": [text]}}}
    errors = [
        AuthRequired("session/new", text, text, (method, AuthMethod(text, text, text, command=(text,)))),
        AgentRefused(text, 1, text, {text: text}, text),
        AgentExited(text, text, text),
    ]
    assert [found for error in errors if (found := problems(render_failure(error)["text/html"]))] == []
