"""Settings → Copilot, without the page: what is described, what is written, and who gets nothing."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from copilot_kernel import __version__
from copilot_kernel.server.app import routes
from copilot_kernel.server.settings_page import CHANGED, FIXED, IN_FILE, WIDENS
from copilot_widgets.answers import CALM_SECONDS, GUARD_SECONDS

from .api import JSON, Api, web

EVIL = "https://evil.example"
OTHER = {"permission_mode": "plan", "mine": {"kept": True}}


@pytest.fixture
def file(environment: Path) -> Path:
    path = environment / "copilot_kernel.json"
    path.write_text(json.dumps(OTHER))
    return path


class Page:
    """The page of Settings, as JupyterLab loads it: with a cookie of the login and the token of XSRF."""

    def __init__(self, api: Api, client: httpx.AsyncClient) -> None:
        self.api, self.client = api, client

    async def request(self, method: str, name: str = "", body: Any = None, **headers: str) -> httpx.Response:
        more = {"X-XSRFToken": "abc", **JSON, **{key.replace("_", "-"): value for key, value in headers.items()}}
        content = None if body is None else json.dumps(body)
        return await self.client.request(method, f"{self.api.url}copilot/settings{name}", content=content, headers=more)

    async def settings(self) -> dict[str, Any]:
        return {each["name"]: each for each in (await self.request("GET")).json()["settings"]}

    async def save(self, name: str, value: Any, seen: Any = None, **more: Any) -> tuple[int, Any]:
        answer = await self.request("POST", f"/{name}", {"value": value, "seen": seen, **more})
        found = answer.json()
        return answer.status_code, found["error"]["message"] if "error" in found else found["own"]


@pytest.fixture
async def page(api: Api, file: Path) -> Any:
    async with web() as client:
        await client.get(f"{api.url}copilot/status", headers=api.bearer)
        client.cookies.set("_xsrf", "abc", domain="127.0.0.1")
        yield Page(api, client)


async def test_a_change_is_written_and_what_allows_more_only_when_it_is_confirmed(page: Page, file: Path) -> None:
    widens = WIDENS.format("Permission mode", "plan", "default")
    assert await page.save("permission_mode", "default", "plan") == (428, widens)
    assert json.loads(file.read_text()) == OTHER
    assert await page.save("permission_mode", "default", "plan", confirmed=True) == (200, "default")
    assert await page.save("deny", ["Bash(rm *)"]) == (200, ["Bash(rm *)"])
    assert await page.save("deny", [], ["Bash(rm *)"]) == (428, WIDENS.format("Deny", "Bash(rm *)", "nothing"))
    assert await page.save("undo", False) == (200, False)
    assert json.loads(file.read_text()) == {
        **OTHER,
        "permission_mode": "default",
        "deny": ["Bash(rm *)"],
        "undo": False,
    }
    assert await page.save("permission_mode", None, "default") == (200, None)
    assert "permission_mode" not in json.loads(file.read_text())


async def test_what_is_invalid_or_was_changed_elsewhere_is_not_written(page: Page, file: Path) -> None:
    before = file.read_text()
    assert await page.save("sandbox", "maybe") == (400, "Sandbox: 'maybe' is not one of required, on, off.")
    assert await page.save("permission_mode", "bypassPermissions", "default", confirmed=True) == (409, CHANGED)
    unknown = await page.save("permission_mode", "yolo", "plan", confirmed=True)
    assert (unknown[0], unknown[1].startswith("Permission mode: 'yolo' is not one of plan, default")) == (400, True)
    fixed = {"agent": FIXED.format("COPILOT_KERNEL_AGENT in the server's environment"), "mcp_servers": IN_FILE}
    for name, why in fixed.items():
        assert (await page.save(name, "{}", confirmed=True))[1].partition(": ")[2] == why
    assert (await page.save("no_such", 1))[0] == 404
    assert file.read_text() == before
    file.write_text('{"deny": ')
    described = (await page.request("GET")).json()
    status, message = await page.save("undo", False)
    assert (str(file) in described["error"], status, "cannot be read" in message) == (True, 400, True)
    assert file.read_text() == '{"deny": '


async def test_what_counts_more_than_the_file_is_said_and_secrets_stay_in_it(page: Page, file: Path) -> None:
    server = {"command": "serve", "env": {"KEY": "canary"}}
    file.write_text(json.dumps({"mcp_servers": {"mine": server}, "agent": "other --acp"}))
    answer = await page.request("GET")
    found = {each["name"]: each for each in answer.json()["settings"]}
    assert found["agent"]["fixed"] == FIXED.format("COPILOT_KERNEL_AGENT in the server's environment")
    assert (found["agent"]["value"], found["agent"]["own"]) == ("demo", "other --acp")
    assert (found["mcp_servers"]["fixed"], found["mcp_servers"]["own"]) == (IN_FILE, None)
    assert "canary" not in answer.text
    assert found["undo"]["fixed"] == ""
    assert (answer.json()["guard_seconds"], answer.json()["calm_seconds"]) == (GUARD_SECONDS, CALM_SECONDS)


@pytest.mark.parametrize(
    "headers",
    [
        {"X_XSRFToken": "wrong"},
        {"X_XSRFToken": "wrong", "Authorization": "token"},
        {"Origin": EVIL},
        {"Origin": EVIL, "Authorization": "token"},
        {"Origin": "null"},
    ],
    ids=str,
)
@pytest.mark.parametrize("extension", [{"cors_origins": [EVIL]}], indirect=True)
async def test_without_the_xsrf_token_and_from_elsewhere_there_is_nothing(
    page: Page, file: Path, headers: dict[str, str]
) -> None:
    if "Authorization" in headers:
        headers = {**headers, **page.api.bearer}
    before = file.read_text()
    for method, name, body in (("GET", "", None), ("POST", "/undo", {"value": False, "seen": None})):
        answer = await page.request(method, name, body, **headers)
        assert (answer.status_code, "settings" in answer.json()) == (403, False)
    assert file.read_text() == before


async def test_a_standalone_server_has_no_settings(api: Api) -> None:
    patterns = [[pattern for pattern, *_ in routes(replace(api.context, is_standalone=each), True)] for each in (0, 1)]
    assert [{*patterns[0]} - {*patterns[1]}, {*patterns[1]} - {*patterns[0]}] == [
        {"/copilot/report", "/copilot/settings", r"/copilot/settings/(\w+)"},
        set(),
    ]


async def test_a_report_for_a_bug_is_what_doctor_prints(page: Page) -> None:
    answer = await page.client.get(f"{page.api.url}copilot/report", headers={"X-XSRFToken": "abc"})
    refused = await page.client.get(f"{page.api.url}copilot/report", headers={"X-XSRFToken": "wrong"})
    assert answer.json()["report"].startswith(f"copilot-kernel {__version__}, Python ")
    assert refused.status_code == 403
