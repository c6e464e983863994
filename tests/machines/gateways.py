"""Kernel Gateway, and Enterprise Gateway with local and remote kernels: all on loopback."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from copilot_kernel.cli import main

from ..browser.serving import TOKEN, running_server
from ..ports import free_port
from ..trusting import trust_environment
from .engine import running
from .remote import Remote, RemoteNotebook

GATEWAY_TOKEN, USER = "gateway-secret", "alice"
FOLDERS = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
DEMO = ("COPILOT_DEMO_PACE", "COPILOT_KERNEL_DEMO_COMMAND", "COPILOT_KERNEL_DEMO_HOME")
INHERITED = ("HOME", "LANG", "COPILOT_KERNEL_AGENT", *DEMO, *FOLDERS)
"""What kernels get from the gateway: what the documentation says, what the test agent needs, and no folder of whoever
runs the tests."""
FROM_THE_CLIENT = "JPY_SESSION_NAME"
VARIABLE = "COPILOT_TEST_ENTERPRISE_GATEWAY"
"""The folder that `enterprise_gateway.sh` has made."""


@dataclass(frozen=True)
class Gateway:
    """`app` takes its port and token; `inherited` and `sent` name the options for variables of kernels."""

    command: Sequence[str]
    app: str
    inherited: str
    sent: str

    def start(self, port: int, inherited: Sequence[str]) -> list[str]:
        options = {"port": port, "port_retries": 0, "auth_token": GATEWAY_TOKEN, "ip": "127.0.0.1"}
        command = [*self.command, *(f"--{self.app}.{name}={value}" for name, value in options.items())]
        command += [f"--{self.app}.{self.inherited}={name}" for name in inherited]
        return [*command, f"--{self.sent}={FROM_THE_CLIENT}"]


@dataclass(frozen=True)
class Running:
    """A gateway's process, and `remote`, a client of it. `home` is where it works."""

    process: psutil.Process
    remote: Remote
    home: Path

    @contextmanager
    def notebook(self, kernel: str) -> Iterator[RemoteNotebook]:
        """A new kernel, started as a Jupyter server asks for it; it goes on after the block's end."""
        begun = self.remote.ask("POST", "api/kernels", {"name": kernel, "env": {"KERNEL_USERNAME": USER}})
        with self.remote.connected(begun["id"]) as notebook:
            yield notebook


def kernel_gateway() -> Gateway:
    command = (sys.executable, "-m", "kernel_gateway")
    return Gateway(command, "KernelGatewayApp", "env_process_whitelist", "JupyterWebsocketPersonality.env_whitelist")


def enterprise_gateway() -> Gateway:
    """In an environment of its own: its dependencies are other versions of what we need."""
    command = (str(_enterprise_gateway_folder() / "bin" / "python"), "-m", "enterprise_gateway")
    return Gateway(command, "EnterpriseGatewayApp", "inherited_envs", "EnterpriseGatewayApp.client_envs")


def _enterprise_gateway_folder() -> Path:
    if not (folder := os.environ.get(VARIABLE)):
        pytest.skip(f"install it with tests/machines/enterprise_gateway.sh FOLDER, and set {VARIABLE}=FOLDER")
    return Path(folder)


@contextmanager
def running_gateway(
    gateway: Gateway, home: Path, inherited: Sequence[str] = INHERITED, **environment: str
) -> Iterator[Running]:
    """Ended with the block, and then nothing of it may be left."""
    home.mkdir(parents=True)
    data = home.with_name(f"{home.name}-data")  # kernels work in `home`, where nothing counts as the user's
    private = {name: str(home / name.lower()) for name in FOLDERS} | {"JUPYTER_DATA_DIR": str(data)}
    private |= {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_KERNEL_DEMO_HOME": str(home / "demo")}
    _install(data / "kernels")
    trust_environment({**private, **environment})
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = gateway.start(port, inherited)
    ready = f"{url}/api?token={GATEWAY_TOKEN}"
    with running(command, ready, home, {**os.environ, **private, **environment}) as process:
        yield Running(psutil.Process(process.pid), Remote(url, GATEWAY_TOKEN), home)


def _install(kernels: Path) -> None:
    """The kernelspecs for gateways; the remote one starts the launcher that the tests have."""
    assert main(["install", "--gateway", str(kernels)]) == 0
    file = kernels / "copilot_remote" / "kernel.json"
    spec = json.loads(file.read_text())
    spec["argv"][1] = str(Path(os.environ.get(VARIABLE, "")) / "launch_ipykernel.py")
    file.write_text(json.dumps(spec))


@contextmanager
def running_lab(gateway: Gateway, root: Path) -> Iterator[Remote]:
    """A Jupyter server whose notebooks lie in `root / "lab" / "work"`, and whose kernels run on the gateway."""
    with running_gateway(gateway, root / "gateway") as running:
        options = (f"--gateway-url={running.remote.url}", f"--GatewayClient.allowed_envs={FROM_THE_CLIENT}")
        user = {"JUPYTER_GATEWAY_AUTH_TOKEN": GATEWAY_TOKEN, "KERNEL_USERNAME": USER}
        with running_server(root / "lab", "/", *options, **user) as server:
            yield Remote(server.url.rstrip("/"), TOKEN)
