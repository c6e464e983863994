"""A real JupyterLab and a real browser."""

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, ViewportSize, sync_playwright

from ..jupyter.front_end import until
from ..limits import LIMIT
from ..ports import free_port
from ..trusting import trust_environment

BOTH = pytest.mark.parametrize("classic", [False, True], ids=["lab", "classic"])
"""A test in JupyterLab and in Notebook 7."""
LIMIT_MS = 1000 * LIMIT
"""Milliseconds that any wait in the page may take."""

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)

STORED = "local_storage,indexeddb,service_workers,cache_storage"

SIZE: ViewportSize = {"width": 1280, "height": 900}
CLOSE_ALL = """() => {
  const { shell } = window.jupyterapp;
  for (const each of [...shell.widgets('main')]) each.dispose();
  shell.expandLeft();
}"""
"""Without a question about what is not saved; the file browser is shown, as on a new page."""

NOTIFICATIONS = "@jupyterlab/apputils-extension/notification"
"""A plugin whose settings may be changed."""

KERNEL_STATUS = """() => {
  const widget = window.jupyterapp.shell.currentWidget;
  return widget?.sessionContext?.session?.kernel?.status ?? 'none';
}"""


SAVED = """async () => {
  const { path } = window.jupyterapp.shell.currentWidget.context;
  // As a plain file: while the server writes, it is empty or ends early.
  const asText = { type: 'file', format: 'text', content: true };
  const { content } = await window.jupyterapp.serviceManager.contents.get(path, asText);
  return content.includes('widget-view') && content.trimEnd().endsWith('}');
}"""


def find_chromium() -> str | None:
    """The program, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


@dataclass(frozen=True)
class Lab:
    """A running server; notebooks lie in `root`, which it calls `folder`."""

    url: str
    token: str
    root: Path
    folder: str = ""
    pages: list[Page] = field(default_factory=list)
    """Open pages of JupyterLab, in which a test may open its notebook: a new page is slow."""

    def of_test(self, folder: str, *pages: Page) -> "Lab":
        """For one test: a notebook of the same name that another test had may still have its kernel."""
        root = self.root / folder
        root.mkdir()
        return replace(self, root=root, folder=folder, pages=list(pages))

    def path(self, notebook: str) -> str:
        """What the server calls a notebook."""
        return posixpath.join(self.folder, notebook)

    def address(self, notebook: str = "", *, classic: bool = False) -> str:
        """Where the browser goes: a workspace that nobody used before, or Notebook 7."""
        if classic:
            return f"{self.url}/notebooks/{self.path(notebook)}?token={self.token}"
        path = f"/lab/tree/{self.path(notebook)}" if notebook else "/lab"
        return f"{self.url}{path}?token={self.token}&reset"

    @contextmanager
    def setting(self, plugin: str, **values: Any) -> Iterator[None]:
        """These settings of the user's as well, for pages that are opened inside."""
        self.pages.clear()
        path = self._private / "_settings_dir" / f"{plugin}.jupyterlab-settings"
        before = path.read_text() if path.exists() else "{}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**json.loads(before), **values}))
        try:
            yield
        finally:
            path.write_text(before)

    def add_kernel(self, name: str, argv: Sequence[str] = (), **environment: str) -> None:
        """One more kernel to choose: Copilot with these settings, started by `argv` if it is given."""
        self.pages.clear()
        spec = json.loads((Path(__file__).parents[2] / "kernelspec" / "kernel.json").read_text())
        spec |= {"display_name": name, "env": environment} | ({"argv": list(argv)} if argv else {})
        folder = self._private / "_data_dir" / "kernels" / name
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps(spec))
        trust_environment({**environment, "JUPYTER_DATA_DIR": str(folder.parents[1])})

    @property
    def _private(self) -> Path:
        return (self.root.parent if self.folder else self.root).parent / "private"

    def write(self, name: str, *cells: str | dict[str, Any], kernel: str = "copilot") -> Path:
        """A notebook of code cells and whole ones, with the ids `c0`, `c1`, …"""
        spec = {"name": kernel, "display_name": "Copilot", "language": "copilot"}
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": spec})
        made = (nbformat.v4.new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells)
        notebook.cells = [nbformat.from_dict({**cell, "id": f"c{number}"}) for number, cell in enumerate(made)]
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)
        return path


@contextmanager
def running_lab(root: Path, agent: str = "demo", **environment: str) -> Iterator[Lab]:
    """JupyterLab on loopback with its settings under `root`, ended with the block."""
    work, private = root / "work", root / "private"
    work.mkdir(parents=True)
    port, token = free_port(), "secret"
    python = os.environ.get("COPILOT_TEST_LAB_PYTHON", sys.executable)  # of an environment with another JupyterLab
    command = [python, "-m", "jupyterlab", "--no-browser", f"--port={port}", "--ServerApp.port_retries=0"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={work}", "--ServerApp.allow_root=True"]
    command += ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None", "--LabApp.extension_manager=readonly"]
    command += ["--JupyterNotebookApp.expose_app_in_browser=True"]
    settings = {f"JUPYTER{key}": str(private / key.lower()) for key in ("_CONFIG_DIR", "_DATA_DIR", "_RUNTIME_DIR")}
    settings |= {f"JUPYTERLAB{key}": str(private / key.lower()) for key in ("_SETTINGS_DIR", "_WORKSPACES_DIR")}
    settings |= {"COPILOT_KERNEL_DEMO_HOME": str(private / "demo"), "JUPYTER_PATH": ""}
    quiet_lab(private / "_settings_dir")
    everything = {**os.environ, **settings, "COPILOT_KERNEL_AGENT": agent, **environment}
    trust_environment(everything)
    with running_program(command, f"http://127.0.0.1:{port}/api", root, work, everything):
        yield Lab(f"http://127.0.0.1:{port}", token, work)


def exactly(name: str | re.Pattern[str]) -> re.Pattern[str]:
    """The whole text of a button; screen readers hear behind it what it answers."""
    return re.compile(rf"^\s*{re.escape(name)}\s*$") if isinstance(name, str) else name


def toasts(page: Page) -> Locator:
    """The notifications that are shown."""
    return page.locator(".Toastify__toast")


def quiet_lab(settings: Path) -> None:
    """No question about news, which would cover the page."""
    quiet = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
    path = settings / f"{NOTIFICATIONS}.jupyterlab-settings"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(quiet))


@contextmanager
def running_program(
    command: Sequence[str], url: str, root: Path, cwd: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that answers at `url`, with its log in `root`; ended with the block, together with its processes."""
    with (root / "server.log").open("ab") as log:
        server = subprocess.Popen(command, cwd=cwd, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_for(url, server)
            yield server
        finally:
            server.terminate()
            server.wait(LIMIT)


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Until the server answers; raises when it ends or takes too long."""

    def answers() -> bool:
        assert server.poll() is None, f"the server ended with {server.returncode}"
        with suppress(OSError):
            urllib.request.urlopen(url, timeout=1).close()
            return True
        return False

    until(answers, f"{url} answers")


@contextmanager
def running_profile(folder: Path, viewport: ViewportSize) -> Iterator[BrowserContext]:
    """Headless Chromium with a profile in `folder`. Each context of another browser compiles all scripts anew."""
    with sync_playwright() as playwright:
        launch = playwright.chromium.launch_persistent_context
        context = launch(folder, executable_path=find_chromium(), args=list(QUIET), headless=True, viewport=viewport)
        try:
            yield context
        finally:
            context.close()


def empty(profile: BrowserContext, *kept: Page) -> None:
    """Close all pages but these, and forget what they stored, what they may and what becomes of their requests.

    Compiled scripts stay, and beside a page of JupyterLab what is stored and its cookie.
    """
    blank, *others = kept
    storage = profile.new_cdp_session(blank)
    for page in [each for each in profile.pages if each not in kept]:
        page.close()
        if not others:
            storage.send("Storage.clearDataForOrigin", {"origin": page.url, "storageTypes": STORED})
    storage.detach()
    if not others:
        profile.clear_cookies()
    profile.clear_permissions()
    profile.unroute_all()


class Notebook:
    """The notebook in front, as its user sees it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.set_default_timeout(LIMIT_MS)

    @classmethod
    def open(cls, context: BrowserContext, lab: Lab, name: str, *, classic: bool = False) -> "Notebook":
        """Open an existing notebook and wait for its kernel."""
        if lab.pages and not classic:
            notebook = cls(lab.pages.pop())
            notebook.page.set_viewport_size(SIZE)
            notebook.page.evaluate(CLOSE_ALL)
            notebook.command("docmanager:open", path=lab.path(name))
        else:
            notebook = cls(context.new_page())
            notebook.page.goto(lab.address(name, classic=classic))
        notebook.wait_ready()
        return notebook

    @classmethod
    def new(
        cls, context: BrowserContext, lab: Lab, name: str, *cells: str, kernel: str = "copilot", classic: bool = False
    ) -> "Notebook":
        """Write a notebook with these cells, and open it."""
        lab.write(name, *cells, kernel=kernel)
        return cls.open(context, lab, name, classic=classic)

    def wait_ready(self) -> None:
        """Until cells are shown and the kernel is idle."""
        self.page.locator(".jp-NotebookPanel:visible .jp-CodeCell").first.wait_for()
        self.wait_status("idle")

    def wait_status(self, *wanted: str) -> None:
        """Until the kernel's status is one of `wanted`."""
        self.page.wait_for_function(f"() => {json.dumps(wanted)}.includes(({KERNEL_STATUS})())")

    def run(self, *indexes: int, wait: bool = True) -> None:
        """Select cells one after the other and run each by its menu command; returns at once unless `wait`."""
        script = """async ([index, wait]) => {
          const widget = window.jupyterapp.shell.currentWidget;
          widget.content.activeCellIndex = index; widget.content.deselectAll();
          const done = window.jupyterapp.commands.execute('notebook:run-cell');
          if (wait) await done;
        }"""
        for index in indexes:
            self.page.evaluate(script, [index, wait])

    def cell(self, index: int) -> Locator:
        """A code cell."""
        return self.page.locator(".jp-NotebookPanel:visible .jp-CodeCell").nth(index)

    def output(self, index: int) -> Locator:
        """Where a cell shows its outputs."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def question(self, index: int, words: str | re.Pattern[str]) -> Locator:
        """The display that says what is asked, in which these words stand."""
        asked = self.page.locator(".copilot-asked", has_text=words)
        return self.output(index).locator(".jp-OutputArea-child").filter(has=asked)

    def answers(self, index: int, words: str | re.Pattern[str]) -> Locator:
        """The display below it, with the buttons."""
        below = self.question(index, words).locator("xpath=following-sibling::*[1]")
        return below.locator(".copilot-question")

    def button(self, index: int, name: str | re.Pattern[str]) -> Locator:
        """A button in a cell's output."""
        return self.output(index).get_by_role("button").filter(has_text=exactly(name))

    def command(self, name: str, **arguments: Any) -> None:
        """A command of JupyterLab."""
        script = "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }"
        self.page.evaluate(script, [name, arguments])

    def save(self) -> None:
        """Save, and wait until it is saved."""
        self.start_saving()
        self.page.wait_for_function("() => window.saved")  # bounded, unlike `evaluate`

    def start_saving(self) -> None:
        """Save; `window.saved` is true when that has ended."""
        script = (
            "() => { saved = false; jupyterapp.commands.execute('docmanager:save').then(() => { saved = true; }); }"
        )
        self.page.evaluate(script)

    def wait_saved(self) -> None:
        """Until the notebook was saved by itself with the buttons of a question. Two saves at once conflict."""
        until(lambda: self.page.evaluate(SAVED), "the notebook is saved")  # `wait_for_function` waits for no promises

    def theme(self, name: str) -> None:
        """`JupyterLab Light` or `JupyterLab Dark`; while one is loaded, JupyterLab covers the page."""
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_function(f"() => document.body.dataset.jpThemeName === {json.dumps(name)}")
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")
