"""A Jupyter server with the extension alone, without JupyterLab, that can be ended and started again on its port."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..ports import free_port
from .lab import running_program

TOKEN = "secret"
OTHERS = ("jupyterlab", "jupyter_lsp", "notebook", "notebook_shim")
EXTENSIONS = {"copilot_kernel": True, **dict.fromkeys(OTHERS, False)}


class Server:
    """`start` and `stop` may be called again and again; what it keeps is under `root`."""

    def __init__(self, root: Path, base: str = "/", **environment: str) -> None:
        self.root, self.port, self.base = root, free_port(), base
        self.work = root / "work"
        self.work.mkdir(parents=True)
        private = {f"JUPYTER{key}": str(root / key) for key in ("_CONFIG_DIR", "_DATA_DIR", "_RUNTIME_DIR")}
        demo = {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_KERNEL_DEMO_HOME": str(root / "demo")}
        self._environment = {**os.environ, **private, **demo, **environment}
        self._running = ExitStack()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.base}"

    @property
    def page(self) -> str:
        """The chat page, with the token."""
        return f"{self.url}copilot/chat?token={TOKEN}"

    def start(self, *options: str) -> None:
        which = [f"--ServerApp.jpserver_extensions={name}={on}" for name, on in EXTENSIONS.items()]
        command = [sys.executable, "-m", "jupyter_server", "--no-browser", f"--port={self.port}", *which]
        command += ["--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", "--ServerApp.allow_root=True"]
        command += [f"--ServerApp.root_dir={self.work}", f"--ServerApp.base_url={self.base}", *options]
        program = running_program(command, f"{self.url}api", self.root, self.work, self._environment)
        self._running.enter_context(program)

    def stop(self) -> None:
        self._running.close()


@contextmanager
def running_server(root: Path, base: str = "/", *options: str, **environment: str) -> Iterator[Server]:
    """Ended with the block."""
    server = Server(root, base, **environment)
    server.start(*options)
    try:
        yield server
    finally:
        server.stop()
