"""What other people's machines build and install: images, values of a Helm chart, a kernelspec. Checked, not built."""

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from copilot_kernel.cli.kernelspec import KERNEL_CLASS, remote_spec
from jupyter_client.kernelspec import KernelSpec

from .limits import LIMIT

ROOT = Path(__file__).parents[1]
DEPLOY, BINDER = ROOT / "deploy", ROOT / "binder"
DOCKERFILES = [DEPLOY / "hub/Dockerfile", DEPLOY / "enterprise-gateway/Dockerfile"]

pytestmark = pytest.mark.skipif(not DEPLOY.is_dir(), reason="these are checks of a checkout")


def text(path: Path) -> str:
    return path.read_text("utf-8")


# -- images ----------------------------------------------------------------------------------------------------------


def findings(dockerfile: str) -> list[str]:
    """The rules of hadolint that a Dockerfile breaks."""
    program = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([program, "-f", "json", "-"], input=dockerfile, capture_output=True, text=True, timeout=LIMIT)
    return [each["code"] for each in json.loads(done.stdout)]


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)
def test_a_linter_finds_nothing_in(dockerfile):
    assert findings(text(dockerfile)) == []


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)
def test_images_hold_the_copilot_that_the_tests_run(dockerfile):
    tested = json.loads(text(ROOT / "tests/peers/package.json"))["dependencies"]["@github/copilot"]
    assert re.findall(r"@github/copilot@(\S+)", text(dockerfile)) == [tested]


# -- Enterprise Gateway on Kubernetes --------------------------------------------------------------------------------


def test_the_launcher_in_the_image_starts_our_kernel_class():
    environ = dict(re.findall(r"\b(KERNEL_\w+)=(\S+)", text(DEPLOY / "enterprise-gateway/Dockerfile")))
    assert environ == {"KERNEL_CLASS_NAME": KERNEL_CLASS, "KERNEL_LANGUAGE": "python"}
    module, _, name = KERNEL_CLASS.rpartition(".")
    assert hasattr(importlib.import_module(module), name)


def test_the_kernelspec_for_kubernetes_starts_the_same_kernel_in_the_same_image():
    spec = KernelSpec.from_resource_dir(str(DEPLOY / "enterprise-gateway/copilot_kubernetes"))
    python, script, *options = spec.argv
    assert (python, script.split("/")[-3:]) == ("python", ["copilot_kubernetes", "scripts", "launch_kubernetes.py"])
    assert options == remote_spec()["argv"][2:]
    assert (spec.language, spec.interrupt_mode) == ("python", "message")
    image = spec.metadata["process_proxy"]["config"]["image_name"]
    assert f"--tag {image.rpartition('/')[2]} " in text(DEPLOY / "enterprise-gateway/Dockerfile")


# -- Zero to JupyterHub ----------------------------------------------------------------------------------------------

VALUES = {
    "image": {"name": str, "tag": str},
    "defaultUrl": str,
    "memory": {"guarantee": str, "limit": str},
    "storage": {
        "type": str,
        "capacity": str,
        "homeMountPath": str,
        "extraVolumes": dict,
        "extraVolumeMounts": dict,
    },
    "extraEnv": dict,
}
"""Keys of `singleuser` in the chart's schema, which allows no others."""


def unknown(values: Any, known: Any, place: str) -> Iterator[str]:
    """The places of values that are not `known`, or of another type."""
    if isinstance(known, type):
        if not isinstance(values, known):
            yield place
        return
    for name, value in values.items():
        if name in known:
            yield from unknown(value, known[name], f"{place}.{name}")
        else:
            yield f"{place}.{name}"


def test_the_chart_knows_the_values():
    values = yaml.safe_load(text(DEPLOY / "zero-to-jupyterhub/values.yaml"))
    assert list(unknown(values, {"singleuser": VALUES}, "")) == []
    user = values["singleuser"]
    assert f"--tag {user['image']['name'].rpartition('/')[2]}:" in text(DEPLOY / "hub/Dockerfile")
    volumes, mounts = user["storage"]["extraVolumes"], user["storage"]["extraVolumeMounts"]
    assert {each["name"] for each in mounts.values()} == {each["name"] for each in volumes.values()}
    secret = user["extraEnv"]["COPILOT_GITHUB_TOKEN"]["valueFrom"]["secretKeyRef"]
    assert secret == {"name": "copilot-{username}", "key": "token", "optional": True}


# -- Binder ----------------------------------------------------------------------------------------------------------


def test_binder_installs_this_checkout_with_jupyterlab_on_a_python_that_we_support():
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    extra = re.fullmatch(r"\./\[(\w+)\]\n", text(BINDER / "requirements.txt"))[1]
    assert any(each.startswith("jupyterlab") for each in project["optional-dependencies"][extra])
    version = re.fullmatch(r"python-(.+)\n", text(BINDER / "runtime.txt"))[1]
    assert f"Programming Language :: Python :: {version}" in project["classifiers"]


@pytest.mark.parametrize(("environ", "agent"), [
    ({}, "demo"),
    ({"COPILOT_KERNEL_AGENT": "copilot --acp"}, "copilot --acp"),
])  # fmt: skip
def test_on_binder_the_agent_is_the_demo_agent_unless_somebody_chose_another(environ, agent):
    command = [BINDER / "start", "printenv", "COPILOT_KERNEL_AGENT"]
    environ = {"PATH": os.environ["PATH"], **environ}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=LIMIT)
    assert (done.stdout, done.stderr) == (f"{agent}\n", "")
