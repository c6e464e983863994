"""Faults of a kernel and of its machine: SIGKILL, a full disk, folders that cannot be written, a clock that jumps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.agent.command import COMMAND
from tests.jupyter.front_end import until

from .faults import GRACE, KERNEL, Exchange, Journal, kernel, mark, orphans, running
from .trial import Cell, Kernel, Trial

MOMENTS = 0.08
"""Seconds within which a kernel is killed after the cell was sent."""
OPEN_SECONDS = 1.5
"""Within which a notebook is closed again: its agent starts after 0.5."""
KINDS = ("say {tag} 40 1", "ask\nsay {tag} 3", "child\ncall 20\nsay {tag} 20")
DISK = 512 * 1024
UNSHARE = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")
JUMPS = (-(10**9), -86_400 * 365, -3600, -1, 1, 3600, 10**9)


def openings(trial: Trial, count: int) -> None:
    """Notebooks that are opened and soon closed, or whose kernel is killed, while the agent may be starting early."""
    for _, chance in trial.rounds(count):
        with trial.kernel(COPILOT_KERNEL_AGENT="demo", COPILOT_KERNEL_WARM_START="on") as ours:
            time.sleep(chance.uniform(0, OPEN_SECONDS))
            has_agent = any(" ".join(COMMAND) in command for command in running(ours.environ))
            trial.ends["an agent" if has_agent else "no agent yet"] += 1
            if chance.random() < 0.3:
                ours.front_end.process.kill()
                until(lambda: not ours.front_end.manager.is_alive(), "the end of the kernel")


def resumes(trial: Trial, count: int) -> None:
    """`kill -9` of the kernel during a turn; its notebook's next kernel goes on in the same session."""
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as name:
        folder, environ = Path(name), mark()
        book = folder / "book.ipynb"
        book.write_text("{}")
        exchange = Exchange(Journal(folder))
        for number, chance in trial.rounds(count):
            with kernel(folder, {**environ, "JPY_SESSION_NAME": str(book)}) as front_end:
                ours = Kernel(front_end, folder, environ, exchange)
                resumed(trial, ours, number)
                file = _edited(trial, ours, number)
                ours.begin(chance.choice(KINDS), f"kill{number}")
                time.sleep(chance.uniform(0, MOMENTS))
                front_end.process.kill()
                left = [f"an orphan: {command}" for command in orphans(environ)]
            trial.check(0, "kernel killed", left, _unsaved(folder / "state", exchange.session))
            trial.check(0, "kernel killed", [] if file.read_text() == f"t{number}" else ["an allowed edit is gone"])


def resumed(trial: Trial, ours: Kernel, number: int) -> None:
    before = ours.exchange.session
    cell = ours.begin("say {tag} 2", f"back{number}")
    took = cell.end()
    wrong = [] if cell.words == 2 else [f"{cell.error} {cell.text[-300:]!r}"]
    if number and not (ours.exchange.session == before and "Resumed the conversation" in cell.text):
        wrong.append(f"not resumed: {before}, then {ours.exchange.session}: {cell.text[-300:]!r}")
    trial.check(took, "resumed", wrong)


def _edited(trial: Trial, ours: Kernel, number: int) -> Path:
    cell = ours.begin(f"edit file.txt t{number}\nsay {{tag}} 1", f"edit{number}")
    ours.front_end.press(cell.button())
    trial.check(cell.end(), "edit", cell.unanswered(), [] if cell.words == 1 else [cell.text[-300:]])
    return ours.folder / "work" / "file.txt"


def _unsaved(state: Path, session: str) -> list[str]:
    """What is wrong with the saved sessions of a kernel whose last prompt went to `session`."""
    saved = []
    for file in (state / "sessions").glob("*.json"):
        try:
            saved.append(json.loads(file.read_text())["session"])
        except (OSError, ValueError, KeyError) as error:
            return [f"{file.name}: {error}"]
    return [] if saved == [session] else [f"saved are {saved}, not {session}"]


# -- disks ----------------------------------------------------------------------------------------------------------


def full(trial: Trial, count: int) -> None:
    """State and work folder are full for a while: turns go on, and files that cannot be written stay as they were."""
    with _on_disks(trial, f"size={DISK}", f"size={DISK}") as (ours, state, work):
        for number, chance in trial.rounds(count if ours else 0):
            assert ours is not None
            (work / "kept.txt").write_text("good\n")
            fillings = [_fill(folder) for folder in (state, work)]
            if chance.random() < 0.5:
                _command(trial, ours, "%new")
            _turns(trial, ours, number)
            kept = (work / "kept.txt").read_text()
            trial.check(0, "disk full", [] if kept == "good\n" else [f"a file was damaged: {kept[:100]!r}"])
            for filling in fillings:
                filling.unlink()
            _turn(trial, ours, "say {tag} 2", f"free{number}")
            trial.check(0, "disk free again", _unsaved(state, ours.exchange.session))


def read_only(trial: Trial, count: int) -> None:
    """State and work folder cannot be written, from the start: turns go on."""
    with _on_disks(trial, "ro", "ro") as (ours, state, _):
        for number, _chance in trial.rounds(count if ours else 0):
            assert ours is not None
            _turns(trial, ours, number)
            trial.check(0, "read-only", [f"written: {file}" for file in state.iterdir()])


def _turns(trial: Trial, ours: Kernel, number: int) -> None:
    _turn(trial, ours, "say {tag} 3", f"say{number}")
    _turn(trial, ours, "ask\nsay {tag} 3", f"ask{number}")
    _turn(trial, ours, f"write kept.txt bad {DISK}\nsay {{tag}} 3", f"write{number}")


def _turn(trial: Trial, ours: Kernel, script: str, tag: str) -> Cell:
    """A turn that must go well; its question is answered."""
    cell = ours.begin(script, tag)
    if not script.startswith("say"):
        ours.front_end.press(cell.button())
    took, wanted = cell.end(), int(script.split()[-1])
    wrong = [] if cell.error == "" and cell.words == wanted else [f"{cell.error} {cell.text[-300:]!r}"]
    trial.check(took, tag, wrong, cell.unanswered())
    return cell


def _command(trial: Trial, ours: Kernel, command: str) -> None:
    cell = ours.begin(command, "command")
    trial.check(cell.end(), command, [] if cell.error == "" else [f"{cell.error} {cell.text[-300:]!r}"])


def _fill(folder: Path) -> Path:
    """A file that takes all that is left."""
    file = folder / "filling"
    with file.open("wb", buffering=0) as stream:
        for size in (4096, 1):
            try:
                while stream.write(b"x" * size):
                    pass
            except OSError:
                continue
    return file


@contextmanager
def _on_disks(trial: Trial, state: str, work: str) -> Iterator[tuple[Kernel | None, Path, Path]]:
    """A kernel whose state and work folders are file systems of its own, with these mount options, and their paths."""
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode:
        trial.skipped = "no mount namespaces here"
        yield None, Path(), Path()
        return
    mount = f'mount -t tmpfs -o {state} none "$COPILOT_KERNEL_STATE" && mount -t tmpfs -o {work} none "$PWD"'
    make = f'mkdir -p "$COPILOT_KERNEL_STATE" && {mount} && cd "$PWD" && exec "$@"'
    argv = (*UNSHARE, "sh", "-c", make, "sh", *KERNEL)
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as name:
        book = Path(name) / "book.ipynb"
        book.write_text("{}")
        with trial.kernel(argv, JPY_SESSION_NAME=str(book)) as ours:
            root = Path(f"/proc/{ours.front_end.process.pid}/root")
            own = root / ours.folder.relative_to("/")
            yield ours, own / "state", own / "work"


# -- time -----------------------------------------------------------------------------------------------------------


def clock(trial: Trial, count: int) -> None:
    """The wall clock jumps while a turn runs, a question is open, or a cancelled agent has its grace; a suspend."""
    plays = (_jump_while_it_speaks, _jump_while_it_asks, _jump_in_the_grace, _suspend)
    with trial.kernel(BENCHMARK_CLOCK="clock") as ours:
        ours.ensure_agent()
        for number, chance in trial.rounds(count):
            plays[number % len(plays)](trial, ours, number, chance)


def _jump(ours: Kernel, chance: Random) -> None:
    (ours.folder / "work" / "clock").write_text(str(chance.choice(JUMPS)))


def _jump_while_it_speaks(trial: Trial, ours: Kernel, number: int, chance: Random) -> None:
    cell = ours.begin("say {tag} 20 4", f"c{number}")
    time.sleep(chance.uniform(0, 0.08))
    _jump(ours, chance)
    trial.check(cell.end(), "jump", cell.lost(), [] if cell.words == 20 else [f"{cell.error} {cell.text[-300:]!r}"])


def _jump_while_it_asks(trial: Trial, ours: Kernel, number: int, chance: Random) -> None:
    cell = ours.begin("ask\nsay {tag} 2", f"c{number}")
    button = cell.button()
    _jump(ours, chance)
    time.sleep(chance.uniform(0, 0.2))
    ours.front_end.press(button)
    took, is_allowed = cell.end(), ours.exchange.outcomes() == ["allow_once"]
    wrong = [] if is_allowed and cell.words == 2 else [f"{ours.exchange.outcomes()}, {cell.text[-300:]!r}"]
    trial.check(took, "jump", wrong, cell.unanswered())


def _jump_in_the_grace(trial: Trial, ours: Kernel, number: int, chance: Random) -> None:
    cell = ours.begin("say {tag} 1\nhang", f"c{number}")
    cell.shows(f"c{number}w0")
    cell.interrupt()
    _jump(ours, chance)
    took = cell.end()
    wrong = [] if cell.error == "Cancelled" and took >= GRACE * 0.9 else [f"{cell.error!r} after {took:.2f} s"]
    trial.check(took, "jump", wrong, cell.lost())


def _suspend(trial: Trial, ours: Kernel, number: int, chance: Random) -> None:
    """SIGSTOP for a second, from which the clock has jumped, too."""
    cell = ours.begin("ask\nsay {tag} 2", f"c{number}")
    button = cell.button()
    ours.front_end.process.send_signal(signal.SIGSTOP)
    _jump(ours, chance)
    ours.front_end.press(button)
    time.sleep(1)
    ours.front_end.process.send_signal(signal.SIGCONT)
    trial.check(cell.end(), "suspend", cell.unanswered(), [] if cell.words == 2 else [cell.text[-300:]])
