"""The referee: what we send, against the official schema of the npm package `@agentclientprotocol/sdk`.

Beside it, the check that a test leaves no process and no descriptor behind.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

PEERS = Path(os.environ.get("COPILOT_KERNEL_TEST_PEERS") or Path(__file__).parents[1] / "peers")
SDK = PEERS / "node_modules" / "@agentclientprotocol" / "sdk"


@pytest.fixture
def nothing_is_left():
    """No child process and no open descriptor outlives the test."""
    descriptors = len(os.listdir("/dev/fd"))
    yield
    assert psutil.Process().children(recursive=True) == []
    assert len(os.listdir("/dev/fd")) == descriptors


@pytest.fixture(scope="session")
def typescript_sdk():
    """The package's folder; skips where it is missing, and fails in CI."""
    if not SDK.is_dir():
        reason = f"the official TypeScript SDK is not installed: npm install --prefix {PEERS}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return SDK


Valid = Callable[[str, Any], None]


@pytest.fixture(scope="session")
def schema(typescript_sdk):
    return json.loads((typescript_sdk / "schema" / "v1" / "schema.json").read_text("utf-8"))["$defs"]


@pytest.fixture(scope="session")
def valid(schema):
    """`valid(name, value)` fails for a value that the official schema's definition `name` refuses."""

    from jsonschema import Draft202012Validator  # takes seconds

    def check(name, value):
        Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema}).validate(value)

    return check


@pytest.fixture(scope="session")
def referee(schema, valid):
    """`referee(lines)` fails for a client's message that the schema refuses, or that has members it does not know.

    `lines` are those of a wire log. Returns the checked methods: an answer is `= method`, an error `! method`.
    """

    def check(lines):
        asked, methods = {}, []
        for direction, line in lines:
            message = read(line)
            if direction == ">":
                methods.append(one(message, asked))
            elif "method" in message and "id" in message:
                asked[message["id"]] = message["method"]
        return methods

    def one(message, asked):
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            compare(message["params"], definition(message["method"], ("Request", "Notification")))
            return message["method"]
        method = asked[message["id"]]
        if "error" in message:
            compare(message["error"], "Error")
            return f"! {method}"
        compare(message["result"], definition(method, ("Response",)))
        return f"= {method}"

    def definition(method, footer_bundles):
        (name,) = (name for name, d in schema.items() if d.get("x-method") == method and name.endswith(footer_bundles))
        return name

    def compare(value, name):
        valid(name, value)
        assert value.keys() <= schema[name]["properties"].keys(), name

    return check


def read(line):
    """What an agent writes need not be JSON."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
