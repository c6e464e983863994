"""Secrets in what an agent says: hidden where an error is made, so that no place that shows it can show them."""

import pytest
from copilot_kernel.acp.agent_errors import error_from_answer
from copilot_kernel.acp.jsonrpc import RpcError
from copilot_kernel.cli.error_text import error_text
from copilot_kernel.errors import AgentError, AgentExited, AgentRefused, AgentStartFailed, AuthRequired
from copilot_kernel.redaction import HIDDEN, redactor, register
from copilot_kernel.rendering.failure import render_failure

from .growth import is_linear

LEAK = (
    "GET https://me:hunter2@proxy.example/v1 with Authorization: Bearer opaque-bearer-value, "
    "ghp_0123456789abcdefghij and value-of-a-variable"
)
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES,00\n\n{'aB+/09' * 20}=\n-----END RSA PRIVATE KEY-----"
SECRETS = ("hunter2", "opaque-bearer-value", "ghp_0123456789abcdefghij", "value-of-a-variable")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", "value-of-a-variable")
    monkeypatch.setattr("copilot_kernel.redaction._registered", set())


ERRORS = [
    lambda: AgentError(LEAK),
    lambda: AgentExited("It ended", "Run it again.", LEAK),
    lambda: AgentStartFailed(f"It was not ready\n{LEAK}", stderr=LEAK),
    lambda: AgentRefused("session/prompt", -32603, LEAK, {"details": [LEAK], LEAK: 1}),
    lambda: AuthRequired("session/new", LEAK, {"token": "abc", "details": LEAK}),
    lambda: error_from_answer("session/prompt", RpcError(-32603, "Internal error", {"details": LEAK})),
]


@pytest.mark.parametrize("make", ERRORS)
def test_no_form_of_an_agents_error_shows_a_secret(make):
    error = make()
    card = render_failure(error)
    shown = [str(error), repr(error), card["text/html"], card["text/plain"], error_text(error)]
    shown += [str(getattr(error, name, "")) for name in ("stderr", "data")]
    assert [(text, secret) for text in shown for secret in SECRETS if secret in text] == []
    assert HIDDEN in card["text/plain"] + str(getattr(error, "data", ""))


@pytest.mark.parametrize(
    "text",
    [
        "The folder /home/me/project does not exist",
        "maximum context length is 128000 tokens: you asked for 130000",
        "Invalid credentials. Run `copilot login`.",
        "ssh://git@host/x failed",
        "Bearer authentication required",
        "Basic authentication is not supported",
        "Unexpected token identifier in JSON",
        "token validation failed",
        "Invalid token: expired",
        "password: must have at least 8",
        "tokenizer: failed to load",
        "credentials: not found",
        "Missing api_key: set OPENAI_API_KEY",
        "OLDPWD=/home/me PWD=/home/me/project; pwd: no such command",
        "f(sig=inspect.signature(g)) -> sig=0.95",
    ],
)
def test_what_is_no_secret_stays(text):
    assert str(AgentError(text)) == text


def test_the_working_directory_is_no_password():
    """`PWD` has the form of a name for one."""
    assert redactor({"PWD": "/home/me/project"}).text("in /home/me/project/a.py") == "in /home/me/project/a.py"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("https://me:p@ss@host/x", f"https://{HIDDEN}@host/x"),
        ("Bearer abcdefgh12", f"Bearer {HIDDEN}"),
        ("basic dXNlcjpwdw==", f"basic {HIDDEN}"),
        ("token abcdefgh_secret", f"token {HIDDEN}"),
        ("Authorization: secret", f"Authorization: {HIDDEN}"),
        ("Authorization: Bearer authentication", f"Authorization: Bearer {HIDDEN}"),
        ("password=secret", f"password={HIDDEN}"),
        ("password:secret", f"password:{HIDDEN}"),
        ('"password": "secret"', f'"password": "{HIDDEN}"'),
        ("password: hunter2", f"password: {HIDDEN}"),
        ("credentials: Abc", f"credentials: {HIDDEN}"),
        ("MY_TOKEN_2=abc", f"MY_TOKEN_2={HIDDEN}"),
        ("client_secret_key: A1", f"client_secret_key: {HIDDEN}"),
        ("Authorization: Digest abcdef", f"Authorization: Digest {HIDDEN}"),
        (f"key:\n{PEM}\nand", f"key:\n{HIDDEN}\nand"),
        (repr({"secret": PEM}), "{'secret': '•••'}"),
        (f"see '{PEM[:90]}' # cut", f"see '{HIDDEN}# cut"),
        (f"https://x.example/c?sv=1&sig={'aB%2F' * 9}%3D&se=2", f"https://x.example/c?sv=1&sig={HIDDEN}&se=2"),
        ("AccountName=a;AccountKey=aB+/==;End=x", f"AccountName=a;AccountKey={HIDDEN};End=x"),
        ("Server=h;Uid=me;Pwd=hunter/2;Db=x", f"Server=h;Uid=me;Pwd={HIDDEN};Db=x"),
        ('DB_PWD="/hunter2"', f'DB_PWD="{HIDDEN}"'),
        ("the value is opaque-header-value.", f"the value is {HIDDEN}."),
        ("the value is opaque-header-value-and-more.", f"the value is {HIDDEN}."),
    ],
)
def test_a_secret_is_hidden_whole(text, hidden):
    register({"opaque-header-value", "opaque-header-value-and-more"})
    assert redactor({}).text(text) == hidden


@pytest.mark.parametrize(("given", "kept"), [
    ({"DEPTH": "3"}, {"DEPTH": HIDDEN}),
    ([{"name": "DEPTH", "value": "3"}, "DEPTH=3"], [{"name": "DEPTH", "value": HIDDEN}, HIDDEN]),
    ("DEPTH=3", HIDDEN),
])  # fmt: skip
def test_an_mcp_server_s_variables_and_headers_lose_their_values(given, kept):
    assert redactor({}).json({"env": given, "headers": given}) == {"env": kept, "headers": kept}


def test_a_member_with_the_name_of_a_secret_loses_its_text():
    given = {"apiKey": "abc", "AccountKey": "abc", "nested": [{"password": "x", "tokens": 5}], "note": "abc"}
    kept = {"apiKey": HIDDEN, "AccountKey": HIDDEN, "nested": [{"password": HIDDEN, "tokens": 5}], "note": "abc"}
    assert redactor({}).json(given) == kept


def test_data_nested_beyond_measure_does_not_raise():
    data: object = "x"
    for _ in range(100_000):
        data = [data]
    error = AgentRefused("m", 1, "no", data)
    assert render_failure(error)["text/plain"].startswith("✗ no\nTechnical details:\nm: error 1")


@pytest.mark.parametrize(
    "unit",
    ["a", "token", "eyJ-", "a:", "://a:", "token=", "bearer ", " ", "-", "pwd", "sig=", "-----BEGIN A-----"],
)
def test_the_time_grows_with_the_length_alone(unit):
    assert is_linear(lambda size: redactor({}).text(unit * (size // len(unit))), 10_000)
