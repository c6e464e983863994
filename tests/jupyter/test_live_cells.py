"""The live notebook of our own kernel: cells, and no variables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ..ipython.fake_page import FakePage
from .front_end import FrontEnd, kernel_process

PLAYING = """
import asyncio, json
from contextlib import asynccontextmanager
from copilot_kernel.frontend.page_notebook import PageNotebook
from copilot_kernel.jupyter import kernel

class Player(PageNotebook):
    @asynccontextmanager
    async def asked_by(self, cell):
        async with super().asked_by(cell):
            task = asyncio.ensure_future(self.play())
            yield
            await task
            open("touched.json", "w").write(json.dumps(self.log.touched))

    async def play(self):
        found = [self.has_variables, await self.told(self.insert("# Two", "markdown", None))]
        state = await self.read(None, outputs=False)
        found += [[cell.source for cell in state.cells], await self.told(self.run_python("1"))]
        open("played.json", "w").write(json.dumps(found))
        open("gate", "w").close()

    async def told(self, call):
        try:
            return await call
        except Exception as error:
            return type(error).__name__


kernel.PageNotebook = Player
from runpy import run_module
run_module("copilot_kernel", run_name="__main__", alter_sys=True)
"""
CELL = "demo: unasked sh wait.sh"


def prepared(front_end: FrontEnd) -> Path:
    work = Path(front_end.process.cwd())
    (work / "wait.sh").write_text("until rm gate 2>/dev/null; do sleep 0.02; done")
    return work


def test_cells_are_read_and_inserted_through_the_page_and_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": [{"cell_type": "raw", "source": "saved"}]}))
    argv = (sys.executable, "-P", "-c", PLAYING, "-f", "{connection_file}")
    with kernel_process(tmp_path, {"JPY_SESSION_NAME": str(tmp_path / "book.ipynb")}, argv) as front_end:
        work = prepared(front_end)
        page = FakePage(front_end, {"cell": "a prompt"})
        request = front_end.execute(CELL)
        page.play(request)
        assert front_end.finish(request).status == "ok"
        played, touched = (json.loads((work / name).read_text()) for name in ("played.json", "touched.json"))
        assert (played, touched) == ([False, "new1", ["a prompt", "# Two"], "NotebookError"], ["new1"])

        assert front_end.run(CELL, live=False).status == "ok"
        played = json.loads((work / "played.json").read_text())
        assert played == [False, "NoPage", ["saved"], "NotebookError"]
        assert front_end.complaints() == []
