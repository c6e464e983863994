"""Where paths lead, and what holds our own settings."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import anyio
import pytest
from copilot_kernel.chat import places
from copilot_kernel.config import Settings

pytestmark = pytest.mark.anyio


async def test_links_are_followed_also_those_above_what_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    new = str(tmp_path / "link" / "a" / "b.txt")
    assert await places.resolved([new]) == {new: str(tmp_path / "real" / "a" / "b.txt")}


async def test_a_loop_of_links_and_what_is_no_path_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    found = await places.resolved([str(tmp_path / "loop" / "x"), "/nul\0", "/" + "a" * 5000])
    assert "/nul\0" not in found


async def test_a_disk_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(places, "LIMIT", 0.05)
    monkeypatch.setattr(places, "resolve", lambda paths: release.wait(10) or {})
    try:
        with anyio.fail_after(5):
            assert await places.resolved(["/a"]) == {}
    finally:
        release.set()


def test_our_own_are_the_config_files_the_memory_and_the_kernelspecs_that_start_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    for name, module in (("ours", "copilot_kernel"), ("theirs", "ipykernel_launcher")):
        spec = tmp_path / "data" / "kernels" / name / "kernel.json"
        spec.parent.mkdir(parents=True)
        spec.write_text(json.dumps({"argv": ["python", "-m", module]}))
    (tmp_path / "data" / "kernels" / "broken").mkdir()
    (tmp_path / "data" / "kernels" / "broken" / "kernel.json").write_text("[")
    found = places.protected(Settings(state=str(tmp_path / "state")))
    assert {str(tmp_path / "config" / "copilot_kernel.json"), str(tmp_path / "state")} <= set(found)
    assert [Path(each).name for each in found if "kernels" in each and str(tmp_path) in each] == ["ours"]
