"""Settings → Copilot, as its user sees it."""

import json
import os

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from ..jupyter.front_end import until
from .axe import findings
from .lab import BOTH, Lab, Notebook

pytestmark = pytest.mark.browser


def row(page: Notebook, title: str) -> Locator:
    return page.page.locator(".copilot-setting").filter(has=page.page.get_by_label(title, exact=True))


@BOTH
def test_a_setting_is_changed_confirmed_and_reset_by_keyboard_alone(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    file = lab._private / "_config_dir" / "copilot_kernel.json"

    def saved() -> dict[str, object]:
        return dict(json.loads(file.read_text())) if file.exists() else {}

    notebook = Notebook.new(context, lab, "settings.ipynb", "", classic=classic)
    notebook.command("copilot:settings")
    page = notebook.page
    mode = row(notebook, "Permission mode")
    mode.get_by_role("combobox").focus()
    page.keyboard.press("End")
    keep, change = mode.get_by_role("button", name="Keep it as it was"), mode.get_by_role("button", name="Change it")
    expect(keep).to_be_focused()
    assert saved().get("permission_mode") is None
    page.keyboard.press("Tab")
    expect(change).to_have_attribute("aria-disabled", "false")
    page.keyboard.press("Enter")
    until(lambda: saved().get("permission_mode") is not None, "the mode is saved")
    expect(mode.get_by_role("status")).to_have_text("Saved. Applies from the next conversation.")
    if folder := os.environ.get("SHOTS"):
        for theme in ("Dark", "Light"):
            notebook.theme(f"JupyterLab {theme}")
            for width in (1400, 700):
                page.set_viewport_size({"width": width, "height": 900})
                page.wait_for_timeout(500)
                page.screenshot(path=f"{folder}/settings-{'nb7' if classic else 'lab'}-{theme}-{width}.png")
    assert findings(page, ".copilot-settings") == []
    mode.get_by_role("button", name="Reset Permission mode").press("Enter")
    until(lambda: "permission_mode" not in saved(), "the mode is reset")
    deny = row(notebook, "Deny")
    deny.get_by_role("textbox").fill("Bash(rm *)\n\nRead(secret/**)")
    deny.get_by_role("textbox").blur()
    expect(deny.get_by_role("status")).to_have_text("Saved. Applies at once, also in open notebooks.")
    assert saved()["deny"] == ["Bash(rm *)", "Read(secret/**)"]
    expect(row(notebook, "Agent").get_by_role("textbox")).to_be_disabled()
    file.unlink()
