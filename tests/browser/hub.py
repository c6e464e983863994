"""A real JupyterHub on loopback: its proxy, one user, and her server with the extension."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from .lab import free_port, wait_for
from .serving import EXTENSIONS

PROXY = Path(__file__).parents[1] / "peers/node_modules/configurable-http-proxy/bin/configurable-http-proxy"
INSTALL = "npm install --prefix tests/peers"
USER, PASSWORD, ADMIN = "ada", "secret", "admin-token"
SECONDS = 60
"""That a server may take to start or stop."""

CONFIG = """
c.JupyterHub.bind_url = "http://127.0.0.1:{port}/"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{hub}"
c.JupyterHub.db_url = "sqlite:///{root}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{root}/cookie_secret"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = "{password}"
c.Authenticator.allow_all = True
c.JupyterHub.services = [{{"name": "admin", "api_token": "{admin}"}}]
c.JupyterHub.load_roles = [
    {{"name": "all", "services": ["admin"], "scopes": ["admin:users", "admin:servers", "tokens", "access:servers"]}},
    {{"name": "user", "scopes": ["self", "access:servers!user"]}},
]
c.ConfigurableHTTPProxy.command = ["{node}", "{proxy}"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api}"
c.ConfigurableHTTPProxy.auth_token = "proxy-token"
c.ConfigurableHTTPProxy.pid_file = "{root}/proxy.pid"
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{root}/home/{{username}}"
c.Spawner.cmd = ["{python}", "-m", "jupyterhub.singleuser"]
c.Spawner.args = {options}
c.Spawner.environment = {environment}
"""


class Hub:
    """`url` has no slash at its end; `server` is the path of the user's server."""

    def __init__(self, root: Path) -> None:
        self.root, self.port = root, free_port()
        self.url, self.server = f"http://127.0.0.1:{self.port}", f"/user/{USER}/"
        self.config = root / "jupyterhub_config.py"
        options = ["--allow-root", *(f"--ServerApp.jpserver_extensions={name}={on}" for name, on in EXTENSIONS.items())]
        command = {name: os.environ[name] for name in ("COPILOT_KERNEL_DEMO_COMMAND", "COPILOT_DEMO_PACE")}
        environment = {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_KERNEL_DEMO_HOME": str(root / "demo"), **command}
        self.config.write_text(
            CONFIG.format(
                root=root,
                port=self.port,
                hub=free_port(),
                api=free_port(),
                password=PASSWORD,
                admin=ADMIN,
                node=shutil.which("node"),
                proxy=PROXY,
                python=sys.executable,
                options=options,
                environment=environment,
            )
        )

    def ask(self, method: str, path: str, token: str = ADMIN, **headers: str) -> tuple[int, Any]:
        """Status and body, as JSON where it is JSON."""
        sent = {"Authorization": f"token {token}"} if token else {}
        request = Request(
            f"{self.url}{path}", method=method, headers={**sent, **headers}, data=b"" if method == "POST" else None
        )
        try:
            with urlopen(request, timeout=SECONDS) as answer:
                status, text = answer.status, answer.read().decode()
        except HTTPError as error:
            status, text = error.code, error.read().decode()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def token(self, *scopes: str) -> str:
        """One of the user's, with these scopes alone."""
        body = json.dumps({"scopes": scopes}).encode()
        request = Request(
            f"{self.url}/hub/api/users/{USER}/tokens", data=body, headers={"Authorization": f"token {ADMIN}"}
        )
        with urlopen(request, timeout=SECONDS) as answer:
            return str(json.load(answer)["token"])

    def start_server(self) -> None:
        """Of the user, who is made here."""
        self.ask("POST", f"/hub/api/users/{USER}")
        self.ask("POST", f"/hub/api/users/{USER}/server")
        self._until(lambda model: model.get("ready", False))

    def _until(self, holds: Any) -> None:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            _, model = self.ask("GET", f"/hub/api/users/{USER}")
            if holds(model.get("servers", {}).get("", {})):
                return
            time.sleep(0.1)
        raise TimeoutError(f"the server of {USER} does not start; see {self.root / 'hub.log'}")


@contextmanager
def running_hub(root: Path) -> Iterator[Hub]:
    """Ended with the block, with its proxy and the user's server."""
    hub = Hub(root)
    private = {f"JUPYTER{key}": str(root / key) for key in ("_CONFIG_DIR", "_DATA_DIR", "_RUNTIME_DIR")}
    with (root / "hub.log").open("w") as log:
        command = [sys.executable, "-m", "jupyterhub", "-f", str(hub.config)]
        where: dict[str, Any] = {"cwd": root, "env": {**os.environ, **private}, "stdout": log, "stderr": log}
        process = subprocess.Popen(command, start_new_session=True, **where)
        try:
            wait_for(f"{hub.url}/hub/api/", process)
            hub.start_server()
            yield hub
        finally:
            process.terminate()
            process.wait(60)
