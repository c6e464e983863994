"""The tour without a screen: run each notebook as a batch, print what a reader would see."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from ..rendering.plain import clean
from .demo import can_encrypt, environment
from .exits import CANCELLED, FAILED

CELL_LIMIT = 60
"""Seconds that one cell may take."""

HEADLESS = {"COPILOT_KERNEL_ALLOW": '["Read", "Edit", "Bash"]'}
"""Nobody is there to be asked, and what the demo agent touches is a copy."""

MAY_FAIL = "raises-exception"


def execute(folder: Path, say: Callable[[str], None] = print) -> int:
    """Run the notebooks of `folder` in the order of their names; 1 if a cell failed that should not."""
    names = sorted(folder.glob("*.ipynb"))
    try:
        failures = [failure for name in names for failure in asyncio.run(_notebook(folder, name, say))]
    except asyncio.CancelledError:
        return CANCELLED
    for failure in failures:
        say(f"FAILED {failure}")
    ending = f"{len(failures)} failures" if failures else "no cell failed"
    say(f"{len(names)} notebooks, {ending}; they are in {folder}")
    return FAILED if failures or not names else 0


async def _notebook(folder: Path, file: Path, say: Callable[[str], None]) -> list[str]:
    say(f"══ {file.name}")
    notebook: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    client = _client(notebook, folder, say)
    try:
        await client.async_execute(env=environment(folder) | HEADLESS, cleanup_kc=True)
    except (CellTimeoutError, DeadKernelError) as error:
        if _this_task().cancelling():  # nbclient takes its own cancellation for the kernel's death
            raise asyncio.CancelledError from error
        return [f"{file.name}: {error}"]
    finally:
        nbformat.write(notebook, file)  # type: ignore[no-untyped-call]
    _say_all(say, _above(notebook.cells, len(notebook.cells)))
    return [f"{file.name}: cell {index}" for index, cell in enumerate(notebook.cells) if _failed(cell)]


def _client(notebook: Any, folder: Path, say: Callable[[str], None]) -> NotebookClient:
    def shown(cell: Any, cell_index: int, **_: Any) -> None:
        _say_all(say, [*_above(notebook.cells, cell_index), read_cell(cell)])

    return NotebookClient(
        notebook,
        km=_manager(folder, notebook.metadata.get("kernelspec", {}).get("name", "copilot")),
        timeout=CELL_LIMIT,
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
        on_notebook_start=_end_on_signal,
        on_cell_executed=shown,
    )


def _end_on_signal(**_: Any) -> None:
    """nbclient's own handlers end the kernel alone, and go on with the next cell."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, _this_task().cancel)


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _say_all(say: Callable[[str], None], texts: list[str]) -> None:
    for text in texts:
        say(f"\n{text}")


def _manager(folder: Path, kernel: str) -> AsyncKernelManager:
    """Besides ours there is the Python kernel of this very environment."""
    specs = KernelSpecManager(kernel_dirs=[str(folder / ".jupyter" / "kernels")])
    manager = AsyncKernelManager(kernel_name=kernel, kernel_spec_manager=specs)
    if can_encrypt():
        manager.transport_encryption = "auto"
    return manager


def _above(cells: Any, index: int) -> list[str]:
    """The prose between the code cell before and this one."""
    prose: list[str] = []
    for cell in reversed(cells[:index]):
        if cell.cell_type == "code":
            break
        prose.insert(0, cell.source)
    return prose


def read_cell(cell: Any) -> str:
    """A code cell as text: the source behind a bar, then what each of its outputs says."""
    source = "\n".join(f"┃ {line}" for line in cell.source.splitlines())
    return "\n".join([source, *(clean(text).rstrip("\n") for text in map(_output, cell.outputs) if text)])


def _output(output: Any) -> str:
    match output.output_type:
        case "stream":
            return str(output.text)
        case "error":
            return "\n".join(output.traceback) or f"{output.ename}: {output.evalue}"
    return str(output.data.get("text/plain", f"({', '.join(output.data)})"))


def _failed(cell: Any) -> bool:
    if cell.cell_type != "code" or MAY_FAIL in cell.metadata.get("tags", []):
        return False
    return any(output.output_type == "error" for output in cell.outputs)
