"""What a program needs that may lie in the home folder."""

import os

import pytest
from copilot_kernel.programs import links_of, needed_by


def file(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def needed(*argv, cwd="/", path=""):
    """But for what the system has anyway."""
    found = needed_by(list(map(str, argv)), str(cwd), {"PATH": str(path)})
    return {each for each in found if each.parts[1] not in ("bin", "lib", "usr")}


def test_a_program_of_npm_needs_its_packages_its_link_and_node(tmp_path):
    prefix = tmp_path / "node/v20"
    script = file(prefix / "lib/node_modules/@x/agent/index.js", "#!/usr/bin/env node\n")
    node = file(prefix / "bin/node")
    program = prefix / "bin/agent"
    program.symlink_to("../lib/node_modules/@x/agent/index.js")
    assert needed(program, path=prefix / "bin") == {program, prefix / "lib", prefix / "lib/node_modules", node}
    assert links_of(program) == (script, {str(program): "../lib/node_modules/@x/agent/index.js"})


def test_a_program_of_a_virtual_environment_needs_that_and_its_base(tmp_path):
    base, environment = tmp_path / "python", tmp_path / "tool"
    file(base / "bin/python3")
    python = environment / "bin/python"
    file(environment / "pyvenv.cfg", f"home = {base}/bin\n")
    python.parent.mkdir()
    python.symlink_to(base / "bin/python3")
    program = file(environment / "bin/agent", f"#!{python}\n")
    assert needed(program) == {program, environment, base, python}


def test_a_program_in_local_does_not_take_all_of_local_along(tmp_path):
    local = tmp_path / ".local"
    file(local / "lib/python3.11/site-packages/agent.py")
    file(local / "share/keyrings/secret")
    program = file(local / "bin/agent", "#!/bin/sh\n")
    assert needed(program) == {program, local / "lib"}


def test_files_that_the_command_line_names_are_needed(tmp_path):
    script, settings, more = (file(tmp_path / name) for name in ("agent.py", "settings.json", "more.json"))
    found = needed("/bin/cat", "./agent.py", f"--settings={settings}", f"@{more}", "agent.py", cwd=tmp_path)
    assert found == {tmp_path / "agent.py", settings, more}
    assert script in found


def test_links_that_lead_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="too many symbolic links"):
        links_of(tmp_path / "a")


def test_links_on_the_way_are_followed_and_remembered(tmp_path):
    real = file(tmp_path / "real/deep/x")
    (tmp_path / "one").symlink_to(tmp_path / "real")
    (tmp_path / "real/two").symlink_to("deep/../deep")
    found = links_of(tmp_path / "one/two/x")
    assert found == (real, {f"{tmp_path}/one": f"{tmp_path}/real", f"{tmp_path}/real/two": "deep/../deep"})
    assert os.path.realpath(tmp_path / "one/two/x") == str(real)
