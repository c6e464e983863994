"""Faults at random moments: nothing may hang, stay unanswered, be left behind or be lost."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from tests.jupyter.front_end import until

from .report import Report
from .trial import KERNEL, LIMIT, MAX_MORE, Notebook, Notebooks, Project, Trial
from .turn_faults import KINDS, MOMENTS, clock, faults, hangs, interrupts, kills, races, shared_agent, turns

OPEN_SECONDS = 1.5
"""Within which a notebook is closed again: its agent starts after 0.5."""
DISK = 512 * 1024
UNSHARE = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")
MAX_SECONDS = 15.0
"""For a reply after a fault, on a busy machine."""
MAX_MEGABYTES = 70.0
"""What a kernel does not share. At its start it has about 44; what then grows has a bound."""
MAX_PRINTED = 20


# -- kernels ----------------------------------------------------------------------------------------------------------


def openings(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """A notebook is opened and soon closed, or its kernel killed, while the agent may be starting early."""
    (notebook,) = notebooks
    trial.check(0, "closed", notebook.close(), notebook.project.orphans())
    notebook.open()
    time.sleep(chance.uniform(0, OPEN_SECONDS))
    if chance.random() < 0.3:
        notebook.kill()
        trial.check(0, "killed", notebook.project.orphans())
        notebook.open()


def resumes(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """`kill -9` of a kernel during a turn: its next one resumes the session, and other notebooks go on."""
    agent = shared_agent(trial, notebooks)
    first, *others = notebooks
    session, file = first.journal.session, first.project.root / "work" / "file.txt"
    cell = first.begin(f"edit file.txt t{number}\nsay {{tag}} 1", "edit")
    cell.press()
    trial.check(cell.end(), "edit", cell.wrong("", 1), cell.lost())
    cells = [each.begin("call 5\nsay {tag} 40 4", f"o{number}") for each in others]
    first.begin(chance.choice(KINDS), f"kill{number}")
    time.sleep(chance.uniform(0, MOMENTS))
    first.journal.closed.discard(session)
    first.kill()
    for each in cells:
        trial.check(each.end(), "another notebook", each.wrong("", 40), each.lost())
    if others:
        until(lambda: session in first.closed_sessions, "the end of the session", LIMIT)
        trial.check(0, "another notebook", [] if others[0].agent == agent else ["it got another agent"])
    else:
        trial.check(0, "killed", first.project.orphans())
    edited = file.read_text()
    trial.check(
        0, "killed", _unsaved(first.project.root / "state", session), [edited] if edited != f"t{number}" else []
    )
    first.open()
    first.goes_on(trial)


def _unsaved(state: Path, session: str) -> list[str]:
    """What is wrong with the saved sessions of a kernel whose last prompt went to `session`."""
    try:
        saved = [json.loads(file.read_text())["session"] for file in (state / "sessions").glob("*.json")]
    except (OSError, ValueError, KeyError) as error:
        return [str(error)]
    return [] if session in saved else [f"saved are {saved}, not {session}"]


# -- disks ------------------------------------------------------------------------------------------------------------


def full(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """State and work folder are full for a while: turns go on, and files that cannot be written stay as they were."""
    (notebook,) = notebooks
    state, work = _disks(notebook)
    (work / "kept.txt").write_text("good\n")
    fillings = [_fill(folder) for folder in (state, work)]
    if chance.random() < 0.5:
        cell = notebook.begin("%new", "command")
        trial.check(cell.end(), "%new", cell.wrong(""))
    _turns(trial, notebook)
    kept = (work / "kept.txt").read_text()
    trial.check(0, "disk full", [] if kept == "good\n" else [f"a file was damaged: {kept[:100]!r}"])
    for filling in fillings:
        filling.unlink()
    notebook.goes_on(trial)
    trial.check(0, "disk free again", _unsaved(state, notebook.journal.session))


def read_only(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """State and work folder cannot be written, from the start: turns go on."""
    _turns(trial, notebooks[0])
    trial.check(0, "read-only", [f"written: {file}" for file in _disks(notebooks[0])[0].iterdir()])


def _turns(trial: Trial, notebook: Notebook) -> None:
    for script in ("say {tag} 3", "ask\nsay {tag} 3", f"write kept.txt bad {DISK}\nsay {{tag}} 3"):
        cell = notebook.begin(script, script.split()[0])
        if not script.startswith("say"):
            cell.press()
        trial.check(cell.end(), script, cell.wrong("", 3), cell.lost())


def _fill(folder: Path) -> Path:
    """A file that takes all that is left."""
    file = folder / "filling"
    with file.open("wb", buffering=0) as stream:
        for size in (4096, 1):
            with suppress(OSError):
                while stream.write(b"x" * size):
                    pass
    return file


def _disks(notebook: Notebook) -> list[Path]:
    """The state and the work folder, as its kernel has them."""
    root = Path(f"/proc/{notebook.front_end.process.pid}/root")
    return [root / (notebook.project.root / name).relative_to("/") for name in ("state", "work")]


def _mounting(options: str) -> tuple[str, ...]:
    """A kernel whose state and work folder are file systems of its own."""
    mount = f'mount -t tmpfs -o {options} none "$COPILOT_KERNEL_STATE" && mount -t tmpfs -o {options} none "$PWD"'
    return (
        *UNSHARE,
        "sh",
        "-c",
        f'mkdir -p "$COPILOT_KERNEL_STATE" && {mount} && cd "$PWD" && exec "$@"',
        "sh",
        *KERNEL,
    )


# -- all of them ------------------------------------------------------------------------------------------------------

Play = Callable[[Trial, Notebooks, int, Random], None]


class Group(NamedTuple):
    """Scenarios with the same kernels: by name, the number of rounds at scale 1, and what plays one."""

    scenarios: dict[str, tuple[int, Play]]
    names: tuple[str, ...] = ("alone",)
    environ: Mapping[str, str] = MappingProxyType({})
    disks: str = ""
    """The mount options of the state and the work folder, if these are file systems of their own."""


GROUPS = {
    "patient": Group(
        {"kills": (500, kills), "interrupts": (2000, interrupts), "races": (1000, races)},
        environ={"COPILOT_KERNEL_CANCEL_GRACE": "60"},
    ),
    "impatient": Group(
        {
            "hangs": (200, hangs),
            "faults": (100, faults),
            "clock": (50, clock),
            "openings": (20, openings),
            "resumes": (100, resumes),
        },
        environ={"COPILOT_KERNEL_WARM_START": "on"},
    ),
    "long": Group({"turns": (5000, turns)}),
    "full": Group({"full": (20, full)}, disks=f"size={DISK}"),
    "read-only": Group({"read-only": (5, read_only)}, disks="ro"),
    "shared": Group(
        {"shared-kills": (500, kills), "shared-hangs": (100, hangs), "shared-resumes": (100, resumes)},
        names=("left", "right"),
    ),
}
SCENARIOS = {name: group for group, each in GROUPS.items() for name in each.scenarios}


def run(scale: float, seed: int, only: str = "") -> Report:
    """All scenarios, or `only` one."""
    report = Report("chaos", f"faults at random moments, seed {seed}")
    for name, group in GROUPS.items():
        chosen = {
            each: max(1, round(count * scale)) for each, (count, _) in group.scenarios.items() if only in ("", each)
        }
        if chosen and group.disks and not can_mount():
            print(f"chaos {name}: skipped, there are no mount namespaces here", flush=True)
        elif chosen:
            for each, trial in play(name, chosen, seed).items():
                _add(report, each, chosen.get(each, 0), trial)
    return report


def can_mount() -> bool:
    """Whether folders can be replaced by file systems of their own."""
    return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0


def play(name: str, counts: dict[str, int], seed: int) -> dict[str, Trial]:
    """So many rounds of scenarios of one group, and what was found, also at the end of the kernels."""
    group, end = GROUPS[name], Trial(seed)
    trials = {each: Trial(seed) for each in counts}
    with tempfile.TemporaryDirectory(prefix="ck-", ignore_cleanup_errors=True) as folder:
        argv = _mounting(group.disks) if group.disks else KERNEL
        project = Project(Path(folder), group.names, argv, **group.environ)
        try:
            held = [_first_turn(end, notebook, DISK if group.disks else 1) for notebook in project.notebooks]
            for each, trial in trials.items():
                for number, chance in trial.rounds(each, counts[each]):
                    group.scenarios[each][1](trial, project.notebooks, number, chance)
            if "turns" in counts:
                end.megabytes = project.notebooks[0].probe()["bytes"] / 1_000_000
            for notebook, before in zip(project.notebooks, held, strict=True):
                end.check(0, notebook.name, _more(before, notebook))
            for notebook in project.notebooks:
                end.check(0, notebook.name, notebook.close()[:MAX_PRINTED])
        except (AssertionError, Empty) as error:  # what was awaited has not come; the kernels are of no more use
            end.check(0, "given up", [str(error) or repr(error)])
            for notebook in project.notebooks:
                notebook.kill()
        end.check(0, "end", project.orphans())
    return {**trials, f"{name} kernels at the end": end}


def _first_turn(trial: Trial, notebook: Notebook, size: int) -> dict[str, int]:
    """Start the kernel, and import what a turn needs that writes a file of this size; what it holds then."""
    notebook.open()
    cell = notebook.begin(f"write first.txt bad {size}\nsay {{tag}} 2", "first")
    cell.press()
    trial.check(cell.end(), "first", cell.wrong("", 2))
    return notebook.probe()


def _more(before: dict[str, int], notebook: Notebook) -> list[str]:
    """What it holds too much of; tasks may still be ending."""
    kinds = ("tasks", "threads", "descriptors")

    def found() -> list[str]:
        after = notebook.probe()
        return [f"{before[kind]} {kind}, then {after[kind]}" for kind in kinds if after[kind] > before[kind] + MAX_MORE]

    with suppress(AssertionError):
        until(lambda: not found(), "the end of its tasks", LIMIT)
    return found()


def _add(report: Report, name: str, count: int, trial: Trial) -> None:
    """The invariants, which are printed if they are broken, and the slowest reply."""
    report.add(f"{name}: invariants broken in {count:,} rounds", len(trial.broken), "", 0)
    if trial.megabytes:
        report.add(f"{name}: memory", trial.megabytes, "MB", MAX_MEGABYTES)
    if count:
        report.add(f"{name}: slowest reply after its fault", trial.slowest, "s", MAX_SECONDS)
    for line in trial.broken:
        print(f"chaos {line}   (repeat: --seed {trial.seed} --only {name})", flush=True)
