"""The tour without a screen: run each notebook as a batch, print what a reader would see."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import zmq
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from ..rendering.plain import clean
from .error_text import CANCELLED, FAILED

CELL_SECONDS = 60
"""Time that one cell may take."""
HEADLESS = {"COPILOT_KERNEL_ALLOW": '["Read", "Edit", "Bash", "mcp__notebook__run_python"]'}
"""There is no user to ask, and what the demo agent touches is a copy."""
MAY_FAIL = "raises-exception"


def execute(folder: Path, environ: Mapping[str, str]) -> int:
    """Run the notebooks of `folder` in the order of their names; 1 if a cell failed that should not."""
    files = sorted(folder.glob("*.ipynb"))
    try:
        failures = [failure for file in files for failure in asyncio.run(_run(file, environ))]
    except asyncio.CancelledError:
        return CANCELLED
    for failure in failures:
        print(f"FAILED {failure}")
    result = f"{len(failures)} failures" if failures else "no failures"
    print(f"{len(files)} notebooks, {result}; see {folder}")
    return FAILED if failures or not files else 0


def can_encrypt() -> bool:
    """Return True if messages to kernels can be encrypted here; ipykernel warns of those that are not."""
    return bool(zmq.has("curve")) and AsyncKernelManager.class_traits().get("transport_encryption") is not None


async def _run(file: Path, environ: Mapping[str, str]) -> list[str]:
    """Run one notebook in place; the cells that failed."""
    print(f"══ {file.name}")
    notebook: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    client = _client(notebook, file.parent)
    try:
        await client.async_execute(env={**environ, **HEADLESS}, cleanup_kc=True)
    except (CellTimeoutError, DeadKernelError) as error:
        if _this_task().cancelling():  # nbclient takes its own cancellation for the kernel's death
            raise asyncio.CancelledError from error
        return [f"{file.name}: {error}"]
    finally:
        nbformat.write(notebook, file)  # type: ignore[no-untyped-call]
    _print_all(_above(notebook.cells))
    return [f"{file.name}: cell {index}" for index, cell in enumerate(notebook.cells) if _failed(cell)]


def _client(notebook: Any, folder: Path) -> NotebookClient:
    """Make a client whose kernels are this one and the Python kernel of this environment."""

    def show(cell: Any, cell_index: int, **_: Any) -> None:
        _print_all([*_above(notebook.cells[:cell_index]), read_cell(cell)])

    specs = KernelSpecManager(kernel_dirs=[str(folder / ".jupyter" / "kernels")])
    kernel = notebook.metadata.get("kernelspec", {}).get("name", "copilot")
    manager = AsyncKernelManager(kernel_name=kernel, kernel_spec_manager=specs)
    if can_encrypt():
        manager.transport_encryption = "auto"
    return NotebookClient(
        notebook,
        km=manager,
        timeout=CELL_SECONDS,
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
        on_notebook_start=_end_on_signal,
        on_cell_executed=show,
    )


def _end_on_signal(**_: Any) -> None:
    """nbclient's own handlers end the kernel alone, and go on with the next cell."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, _this_task().cancel)


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _print_all(texts: Sequence[str]) -> None:
    for text in texts:
        print(f"\n{text}")


def _above(cells: Sequence[Any]) -> list[str]:
    """The prose after the last code cell of `cells`."""
    prose: list[str] = []
    for cell in cells:
        prose = [] if cell.cell_type == "code" else [*prose, cell.source]
    return prose


def read_cell(cell: Any) -> str:
    """A code cell as text: the source behind a bar, then the text of each output."""
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
