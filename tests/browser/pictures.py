"""`python -m tests.browser.pictures`: the documentation's pictures, taken of the real thing with the demo agent."""

import tempfile
from pathlib import Path

from playwright.sync_api import Browser, expect

from .. import conftest  # noqa: F401 - makes `demo` the test agent, which sends the requests of `card`
from .lab import Lab, Notebook, running_browser, running_lab
from .serving import Server, running_server

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDE = (1000, 760)
TABLE = """import pandas

days = pandas.date_range("2025-01-01", "2025-06-30")
df = pandas.DataFrame({"day": days, "price": [10 + number % 45 / 5 for number in range(len(days))]})"""


def python_notebook(browser: Browser, lab: Lab) -> None:
    """`%%copilot` beside Python: an answer, what is left of it as a value, and a question that waits."""
    cells = (
        "%load_ext copilot_kernel",
        "%copilot Fix the bug in $file",
        "_copilot.code_blocks[0].code",
        "%copilot Run the tests",
    )
    lab.write("python.ipynb", cells[0] + '\nfile = "fibonacci.py"', *cells[1:], kernel="python3")
    context = browser.new_context(viewport={"width": WIDE[0], "height": 1080}, device_scale_factor=2)
    notebook = Notebook.open(context, lab, "python.ipynb")
    notebook.command("application:toggle-left-area")
    notebook.run(0)
    notebook.run(1, wait=False)
    notebook.button(1, "Allow once").click()
    notebook.wait_status("idle")
    notebook.run(2)
    notebook.run(3, wait=False)
    notebook.button(3, "Allow once").wait_for()
    expect(notebook.button(3, "Allow once")).to_be_enabled()
    notebook.settle(3)
    notebook.wait_status("busy")
    notebook.page.screenshot(path=str(IMAGES / "python-notebook.png"))
    notebook.button(3, "Deny").click()
    notebook.wait_status("idle")
    context.close()


def live_notebook(browser: Browser, lab: Lab) -> None:
    """The agent has drawn a figure in a cell of its own."""
    cells = (f"%load_ext copilot_kernel\n{TABLE}", "%%copilot\nPlot the monthly mean of `price` in df.")
    lab.write("sales.ipynb", *cells, kernel="python3")
    context = browser.new_context(viewport={"width": WIDE[0], "height": 1000}, device_scale_factor=2)
    notebook = Notebook.open(context, lab, "sales.ipynb")
    notebook.command("application:toggle-left-area")
    notebook.run(0)
    notebook.run(1, wait=False)
    notebook.button(1, "Allow once").click()
    notebook.output(2).locator("img").wait_for()
    notebook.wait_status("idle")
    notebook.settle(2)
    notebook.page.screenshot(path=str(IMAGES / "notebook-light.png"))
    context.close()


def chat_page(browser: Browser, server: Server) -> None:
    """The chat page while it asks."""
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]}, device_scale_factor=2)
    page = context.new_page()
    page.goto(server.page)
    page.get_by_label("Message").fill("Fix the bug in fibonacci.py")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Allow once").wait_for()
    page.evaluate("() => new Promise(done => setTimeout(done, 300))")  # until nothing moves
    page.screenshot(path=str(IMAGES / "chat-page-light.png"))
    page.get_by_label("Stop the turn").click()
    page.get_by_label("Stop the turn").wait_for(state="hidden")
    context.close()


def main() -> None:
    """Those of README and docs."""
    with tempfile.TemporaryDirectory() as folder, running_browser() as browser:
        with running_server(Path(folder) / "server") as server:
            chat_page(browser, server)
        with running_lab(Path(folder) / "lab", COPILOT_KERNEL_DEMO="mcp-http") as lab:
            live_notebook(browser, lab)
            python_notebook(browser, lab)


if __name__ == "__main__":
    main()
