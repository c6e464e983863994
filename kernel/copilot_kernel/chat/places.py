"""What is found out about paths before a decision: where each one leads, and which hold our own settings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import anyio
from anyio import to_thread

from ..config import Settings, config_files, state_folder

LIMIT = 2.0
"""Seconds until a path counts as not known: a disk that hangs must not hold up the question."""
THREADS = anyio.CapacityLimiter(8)


async def resolved(paths: Iterable[str]) -> Mapping[str, str]:
    """For each path where it leads, links followed; of one that does not exist, its parents. Nothing if that hangs."""
    with anyio.move_on_after(LIMIT):
        return await to_thread.run_sync(resolve, tuple(paths), abandon_on_cancel=True, limiter=THREADS)
    return {}


def resolve(paths: Iterable[str]) -> Mapping[str, str]:
    """The same at once. What cannot be looked at is left out."""
    return dict(_resolved(paths))


def protected(settings: Settings) -> tuple[str, ...]:
    """Files and folders that say what agents may do, or that start us. Reads the disk."""
    return tuple(dict.fromkeys(map(str, (*config_files(), state_folder(settings), *_kernelspecs()))))


def _resolved(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        try:
            yield path, os.path.realpath(path)
        except (OSError, ValueError):
            continue


def _kernelspecs() -> Iterator[Path]:
    """Those of Jupyter's kernelspecs that start this kernel."""
    from jupyter_core.paths import jupyter_path

    for folder in jupyter_path("kernels"):
        for file in Path(folder).glob("*/kernel.json"):
            if _starts_us(file):
                yield file.parent


def _starts_us(file: Path) -> bool:
    try:
        spec = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(spec, dict) and "copilot_kernel" in (spec.get("argv") or ())
