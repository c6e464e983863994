"""What `install` writes, and that it never writes over somebody else's kernel."""

import importlib
import json
import sys
from pathlib import Path

import pytest
from copilot_kernel.acp.locate import PROGRAM_NOT_FOUND
from copilot_kernel.cli import install, main
from copilot_kernel.cli.install import ANOTHER_KERNEL, DIFFERS, NEEDS_PYCRYPTODOMEX
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager


def spec_of(prefix: Path, name: str) -> dict[str, object]:
    folder = prefix / "share" / "jupyter" / "kernels" / name
    return json.loads((folder / "kernel.json").read_text("utf-8"))


START = [sys.executable, "-P", "-m", "copilot_kernel", "-f", "{connection_file}"]


def test_the_kernelspec_names_this_very_interpreter_and_the_agent(tmp_path, capsys):
    options = ["--name", "Guest", "--display-name", "A guest", "--agent", "sh -c 'exit 3'"]
    code = main(["install", "--prefix", str(tmp_path), *options])
    folder = tmp_path / "share" / "jupyter" / "kernels" / "guest"
    assert (code, spec_of(tmp_path, "guest")) == (
        0,
        {
            "argv": [*START, "--agent=sh -c 'exit 3'"],
            "display_name": "A guest",
            "language": "markdown",
            "interrupt_mode": "message",
            "metadata": {"debugger": False, "supported_encryption": ["curve"]},
        },
    )
    assert {file.suffix for file in folder.iterdir()} == {".json", ".png", ".svg"}
    assert capsys.readouterr() == (f"Installed 'guest' in {folder}\nTo uninstall, delete this folder.\n", "")


def test_installing_twice_replaces_what_we_wrote(tmp_path):
    assert main(["install", "--prefix", str(tmp_path), "--display-name", "Old"]) == 0
    assert main(["install", "--prefix", str(tmp_path)]) == 0
    assert spec_of(tmp_path, "copilot")["display_name"] == "Copilot"


def test_for_the_user_is_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    assert main(["install"]) == 0
    assert (tmp_path / "data" / "kernels" / "copilot" / "kernel.json").exists()


def test_somebody_elses_kernel_is_not_written_over(tmp_path, capsys):
    theirs = tmp_path / "share" / "jupyter" / "kernels" / "python3"
    theirs.mkdir(parents=True)
    (theirs / "kernel.json").write_text('{"argv": ["python", "-m", "ipykernel_launcher"]}')
    assert main(["install", "--prefix", str(tmp_path), "--name", "Python3"]) == 2
    assert capsys.readouterr().err == (
        f"copilot-kernel: {ANOTHER_KERNEL.format(theirs)}\nChoose another name with --name.\n"
    )
    assert spec_of(tmp_path, "python3") == {"argv": ["python", "-m", "ipykernel_launcher"]}


@pytest.mark.parametrize("place", ["--prefix", "--gateway"])
@pytest.mark.parametrize(("options", "complaint"), [
    (["--name", "../up"], "Invalid kernel name '../up'"),
    (["--agent", "sh -c 'open"], "Invalid command for the agent"),
    (["--agent", "tcp://nowhere"], "Invalid address for the agent"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused_before_anything_is_written(tmp_path, capsys, place, options, complaint):
    assert main(["install", place, str(tmp_path), *options]) == 2
    assert capsys.readouterr().err.startswith(f"copilot-kernel: {complaint}")
    assert list(tmp_path.iterdir()) == []


def test_an_agent_that_is_not_here_yet_is_noted_but_installed(tmp_path, capsys):
    assert main(["install", "--prefix", str(tmp_path), "--agent", "no-such-agent-here"]) == 0
    assert capsys.readouterr().err == f"Note: {PROGRAM_NOT_FOUND.format('no-such-agent-here')}.\n"
    assert spec_of(tmp_path, "copilot")["argv"] == [*START, "--agent=no-such-agent-here"]


@pytest.mark.parametrize("place", ["--prefix", "--gateway"])
def test_a_place_that_cannot_be_written_is_an_error_with_a_way_out(tmp_path, capsys, place):
    (tmp_path / "file").write_text("in the way")
    assert main(["install", place, str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.endswith("\nChoose another place with --user, --prefix or --gateway.\n")


# -- for a gateway -----------------------------------------------------------------------------------------------------


def test_a_gateway_gets_a_kernelspec_for_kernels_beside_it_and_one_for_kernels_on_other_hosts(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(install, "find_spec", lambda name: name)
    place = tmp_path / "eg" / "kernels"
    assert main(["install", "--gateway", str(place), "--name", "Guest", "--agent", "demo"]) == 0
    found = KernelSpecManager(kernel_dirs=[str(place)], ensure_native_kernel=False).get_all_specs()
    common = {"interrupt_mode": "message"}
    launcher = "/usr/local/bin/kernel-launchers/python/scripts/launch_ipykernel.py"
    proxy = "enterprise_gateway.services.processproxies.distributed.DistributedProcessProxy"
    assert {name: json.loads((place / name / "kernel.json").read_text("utf-8")) for name in found} == {
        "guest": common
        | {
            "argv": [*START, "--agent=demo"],
            "display_name": "Copilot",
            "language": "markdown",
            "metadata": {"debugger": False, "supported_encryption": ["curve"]},
        },
        "guest_remote": common
        | {
            "argv": [
                *(sys.executable, launcher, "--kernel-id", "{kernel_id}", "--port-range", "{port_range}"),
                *("--response-address", "{response_address}", "--public-key", "{public_key}"),
                *("--spark-context-initialization-mode", "none"),
                *("--kernel-class-name", "copilot_kernel.jupyter.kernel.CopilotKernel"),
            ],
            "display_name": "Copilot (remote)",
            "language": "python",
            "env": {"COPILOT_KERNEL_AGENT": "demo"},
            "metadata": {"process_proxy": {"class_name": proxy}},
        },
    }
    assert Path(sys.executable).is_absolute()
    assert {file.suffix for file in (place / "guest_remote").iterdir()} == {".json", ".png", ".svg"}
    assert capsys.readouterr() == (
        "".join(f"Installed '{name}' in {place / name}\nTo uninstall, delete this folder.\n" for name in sorted(found)),
        "",
    )


def test_the_launcher_of_the_gateway_finds_our_class(tmp_path):
    assert main(["install", "--gateway", str(tmp_path)]) == 0
    module, _, name = KernelSpec.from_resource_dir(str(tmp_path / "copilot_remote")).argv[-1].rpartition(".")
    assert getattr(importlib.import_module(module), name).implementation == "copilot_kernel"


def test_what_the_launcher_needs_and_is_not_here_is_noted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(install, "find_spec", lambda name: None)
    assert main(["install", "--gateway", str(tmp_path)]) == 0
    assert capsys.readouterr().err == (f"Note: {NEEDS_PYCRYPTODOMEX}\n")


@pytest.mark.parametrize("name", ["copilot", "copilot_remote"])
def test_a_kernelspec_of_the_gateway_that_somebody_edited_is_kept_and_nothing_is_written(tmp_path, capsys, name):
    assert main(["install", "--gateway", str(tmp_path)]) == 0
    assert main(["install", "--gateway", str(tmp_path)]) == 0  # nothing differs
    edited = tmp_path / name / "kernel.json"
    edited.write_text(edited.read_text("utf-8").replace('"Copilot', '"Our'), "utf-8")
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in tmp_path.rglob("*.json")}
    capsys.readouterr()
    assert main(["install", "--gateway", str(tmp_path)]) == 2
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in tmp_path.rglob("*.json")} == before
    assert capsys.readouterr().err == (
        f"copilot-kernel: {DIFFERS.format(edited.parent)}\nRemove it, or choose another name with --name.\n"
    )


@pytest.mark.parametrize(("options", "complaint"), [
    (["--gateway", ""], "argument --gateway: must name a folder"),
    (["--gateway", "x", "--user"], "argument --user: not allowed with argument --gateway"),
])  # fmt: skip
def test_a_gateway_is_one_place_with_a_name(capsys, options, complaint):
    with pytest.raises(SystemExit, match="2"):
        main(["install", *options])
    assert complaint in capsys.readouterr().err
