"""What an agent asks to be filled in, and what it sends to be kept, in a real JupyterLab.

`context` sees to it that no page asks another machine.
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook
from .test_first_use import DEAD_WIDGET, plain

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]


def test_a_form_is_filled_in_by_keyboard_and_the_saved_notebook_reads_well(context: BrowserContext, lab: Lab) -> None:
    path = lab.write("form.ipynb", "demo: elicit form\nsay Thanks.")
    notebook = Notebook.open(context, lab, "form.ipynb")
    notebook.run(0, wait=False)
    cell = notebook.output(0)
    cell.get_by_label("Name", exact=True).fill("A")
    notebook.button(0, "Submit").click()
    expect(cell).to_contain_text("Enter at least 2 characters (now 1).")
    notebook.wait_status("busy")
    cell.get_by_label("Name", exact=True).fill("Ada")
    cell.get_by_label("Colour").select_option("red")
    cell.get_by_label("How many").fill("5")
    cell.get_by_label("Is it a gift?").check()
    cell.get_by_label("Extras").select_option(["card", "candle"])
    notebook.button(0, "Submit").press("Enter")
    expect(cell).to_contain_text(
        "Answered: Name: Ada; Colour: red; How many: 5; Is it a gift?: yes; Extras: card, candle"
    )
    expect(cell).to_contain_text("Thanks.")
    notebook.wait_status("idle")
    expect(notebook.page.locator(DEAD_WIDGET)).to_have_count(0)
    notebook.save()
    assert "Answered: Name: Ada; Colour: red" in plain(path, 0)


def test_an_address_is_opened_by_nobody_but_the_user(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "address.ipynb", "demo: elicit url https://sign-in.invalid/now")
    notebook.run(0, wait=False)
    link = notebook.output(0).get_by_role("link", name="https://sign-in.invalid/now")
    expect(link).to_have_attribute("target", "_blank")
    expect(link).to_have_attribute("rel", re.compile("noopener"))
    notebook.button(0, "Agree").click()
    expect(notebook.output(0)).to_contain_text("Agreed to open https://sign-in.invalid/now")
    notebook.wait_status("idle")


def test_bytes_can_be_saved_and_media_are_fetched_from_nowhere(
    context: BrowserContext, lab: Lab, tmp_path: Path
) -> None:
    notebook = Notebook.new(
        context, lab, "media.ipynb", "demo: blob\nimage\nsvg\naudio\nlink https://elsewhere.invalid/x.png"
    )
    notebook.run(0)
    cell = notebook.output(0)
    with notebook.page.expect_download() as download:
        cell.get_by_role("link", name="save attachment.bin").click()
    download.value.save_as(tmp_path / "saved.bin")
    assert (tmp_path / "saved.bin").read_bytes() == bytes(range(256))
    images = cell.locator("img").evaluate_all("all => all.map(image => image.naturalWidth > 0)")
    assert (images, cell.locator("audio").count()) == ([True, True], 1)
    assert cell.locator("img").first.get_attribute("alt") == "Picture from the agent: image/png, 148 bytes"
