"""A real JupyterHub on loopback: its proxy, its users, and their servers with JupyterLab and the extension."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from ..jupyter.front_end import until
from ..limits import LIMIT
from ..ports import free_port
from ..real.agents import INSTALL
from ..real.conftest import lacking
from ..trusting import trust_environment
from .lab import Lab, quiet_lab, running_program
from .serving import EXTENSIONS

PROXY = Path(__file__).parents[1] / "peers/node_modules/configurable-http-proxy/bin/configurable-http-proxy"
USER, OTHER, PASSWORD, ADMIN = "ada", "bob", "secret", "admin-token"

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
c.Spawner.http_timeout = {seconds}
c.Spawner.args = {options}
c.Spawner.environment = {environment}
{more}
"""


class Hub:
    """`url` has no slash at its end. `more` is added to its configuration."""

    def __init__(self, root: Path, more: str = "") -> None:
        self.root, self.port = root, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.config = root / "jupyterhub_config.py"
        extensions = {**EXTENSIONS, "jupyterlab": True}
        options = ["--allow-root", *(f"--ServerApp.jpserver_extensions={name}={on}" for name, on in extensions.items())]
        options += ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None"]
        quiet_lab(root / "settings")
        environment = {"COPILOT_KERNEL_AGENT": "demo", "JUPYTERLAB_SETTINGS_DIR": str(root / "settings")}
        environment |= {name: os.environ[name] for name in ("COPILOT_KERNEL_DEMO_COMMAND", "COPILOT_DEMO_PACE")}
        for user in (USER, OTHER):
            trust_environment({**environment, "JUPYTER_DATA_DIR": str(self.home(user) / ".local/share/jupyter")})
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
                seconds=LIMIT,
                options=options,
                environment=environment,
                more=more,
            )
        )

    def home(self, user: str = USER) -> Path:
        return self.root / "home" / user

    def server(self, user: str = USER) -> str:
        """The address of the user's server, without a slash at its end."""
        return f"{self.url}/user/{user}"

    def lab(self, user: str = USER) -> Lab:
        """For a browser that is signed in."""
        return Lab(self.server(user), "", self.home(user))

    def ask(self, method: str, path: str, token: str = ADMIN, body: Any = None) -> tuple[int, Any]:
        """Status and body, as JSON where it is JSON."""
        headers = {"Authorization": f"token {token}"} if token else {}
        more: dict[str, Any] = {"follow_redirects": True, "timeout": LIMIT, "trust_env": False}
        answer = httpx.request(method, f"{self.url}{path}", headers=headers, json=body, **more)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status_code, answer.json() if is_json else answer.text

    def token(self, *scopes: str, user: str = USER) -> str:
        """One of the user's, with these scopes alone."""
        _, made = self.ask("POST", f"/hub/api/users/{user}/tokens", body={"scopes": scopes})
        return str(made["token"])

    def start_servers(self, *users: str) -> None:
        """Of these users, who are made here if they are new; all at once."""
        for user in users:
            self.ask("POST", f"/hub/api/users/{user}")
            self.ask("POST", f"/hub/api/users/{user}/server")
        for user in users:
            until(partial(self.is_ready, user), f"the server of {user}")

    def is_ready(self, user: str) -> bool:
        """Whether the user's server runs."""
        _, model = self.ask("GET", f"/hub/api/users/{user}")
        return bool(model.get("servers", {}).get("", {}).get("ready"))


def require_proxy() -> None:
    """Skip for a developer; fail in CI, where nothing may be skipped."""
    if shutil.which("node") is None or not PROXY.is_file():
        lacking(f"Node.js or the package configurable-http-proxy is missing: {INSTALL}")


@contextmanager
def running_hub(root: Path, more: str = "", users: Sequence[str] = (USER,)) -> Iterator[Hub]:
    """With the servers of these users; ended with the block, with its proxy and all servers."""
    hub = Hub(root, more)
    private = {f"JUPYTER{key}": str(root / key) for key in ("_CONFIG_DIR", "_DATA_DIR", "_RUNTIME_DIR")}
    command = [sys.executable, "-m", "jupyterhub", "-f", str(hub.config)]
    with running_program(command, f"{hub.url}/hub/api/", root, root, {**os.environ, **private}):
        hub.start_servers(*users)
        yield hub
