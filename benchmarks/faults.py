"""A real kernel with the fault agent, a front end on it, and what must hold after each fault."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from tests.jupyter.front_end import OPTIONS, FrontEnd, Outcome, kernel_process, until

AGENT = Path(__file__).with_name("fault_agent.py")
KERNEL = (sys.executable, "-P", str(Path(__file__).with_name("probed_kernel.py")), *OPTIONS)
MARK = "BENCHMARK_MARK"
"""An environment variable, by which the processes of one kernel are found wherever they are."""
GRACE = 0.5
"""Seconds of `COPILOT_KERNEL_CANCEL_GRACE`."""
REPLY_LIMIT = 15.0
"""Seconds within which each cell must get its reply: the grace, the steps of ending an agent, a busy machine."""
ORPHAN_LIMIT = 20.0
ANSWER_LIMIT = 10.0


class Journal:
    """What the agents of a folder have sent and received; `read` continues where it stopped."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.jsonl"
        self._at = 0

    def read(self) -> list[dict[str, Any]]:
        """The notes that are new and whole."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return []
        data = data[: data.rfind(b"\n") + 1]
        self._at += len(data)
        return [json.loads(line) for line in data.splitlines()]


class Exchange:
    """What one turn has led to on the wire, as far as the journal has it.

    Where several notebooks share an agent, the prompts of this one have `name` in them, and all else goes by session.
    """

    def __init__(self, journal: Journal, name: str = "") -> None:
        self._journal, self._name = journal, name
        self.agent = 0
        """The process that wrote last; with a name, the one that got the last prompt."""
        self.session = ""
        """Of the last prompt."""
        self.chunks = 0
        self.closed: set[str] = set()
        """Sessions that agents were told to close."""
        self._requests: dict[tuple[int, int], list[Any]] = {}
        self._answers: dict[tuple[int, int], list[Any]] = {}

    def begin(self) -> None:
        """Forget the turn before."""
        self.read()
        self.chunks, self._requests, self._answers = 0, {}, {}

    def read(self) -> None:
        """Take in what is new."""
        for note in self._journal.read():
            pid, message = note["pid"], note["message"]
            if not self._name:
                self.agent = pid
            match note["way"], message:
                case ">", {"id": number, "method": _, "params": {"sessionId": session}} if self._is_ours(session):
                    self._requests[pid, number] = self._answered(pid, number)
                case "<", {"method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}}:
                    if self._name in prompt[0]["text"]:
                        self.agent, self.session = pid, session
                case "<", {"method": "session/close", "params": {"sessionId": session}}:
                    self.closed.add(session)
                case "<", {"id": number, **answer} if "method" not in message:
                    self._answered(pid, number).append(answer.get("result", answer))
                case ">", {"params": {"sessionId": session, "update": {"sessionUpdate": "agent_message_chunk"}}}:
                    self.chunks += self._is_ours(session)

    def _is_ours(self, session: str) -> bool:
        return not self._name or session == self.session

    def _answered(self, pid: int, number: int) -> list[Any]:
        """An answer may be noted before its request."""
        return self._answers.setdefault((pid, number), [])

    def wrong_answers(self) -> list[str]:
        """Requests of agents that were not answered exactly once; an agent that is gone may have got no answer."""
        end = time.monotonic() + ANSWER_LIMIT
        while (wrong := self._wrong()) and time.monotonic() < end:
            time.sleep(0.005)
            self.read()
        return wrong

    def _wrong(self) -> list[str]:
        counts = ((pid, number, len(answers)) for (pid, number), answers in self._requests.items())
        wrong = [each for each in counts if each[2] > 1 or (each[2] == 0 and is_alive(each[0]))]
        return [f"request {number} of agent {pid} has {count} answers" for pid, number, count in wrong]

    def outcomes(self) -> list[str]:
        """What permission requests were answered with."""
        answers = (answer for given in self._requests.values() for answer in given)
        outcomes = (answer.get("outcome", {}) for answer in answers if isinstance(answer, dict))
        return [str(outcome.get("optionId", outcome.get("outcome"))) for outcome in outcomes]


def is_alive(pid: int) -> bool:
    """Neither gone nor waiting to be buried."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def kernel(folder: Path, environ: Mapping[str, str], argv: tuple[str, ...] = KERNEL) -> Iterator[FrontEnd]:
    """A front end with widgets, on a kernel whose agent keeps its journal in `folder`."""
    settings = {
        "COPILOT_KERNEL_AGENT": shlex.join([sys.executable, "-I", "-S", str(AGENT), str(folder)]),
        "COPILOT_KERNEL_CANCEL_GRACE": str(GRACE),
        "COPILOT_KERNEL_FS": "on",
        "COPILOT_KERNEL_STATE": str(folder / "state"),
        "BENCHMARK_PROBE": str(folder / "probe.json"),
    }
    with kernel_process(folder, {**settings, **environ}, argv) as front_end:
        front_end.open_control()
        yield front_end


def mark() -> dict[str, str]:
    """An environment that no other process has."""
    return {MARK: uuid4().hex}


def orphans(environ: dict[str, str], program: str = "") -> list[str]:
    """The command lines of processes with this mark, all or of one program, that do not end within some time."""
    end = time.monotonic() + ORPHAN_LIMIT
    while (left := _marked(environ[MARK], program)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def running(environ: dict[str, str]) -> list[str]:
    """The command lines of processes with this mark."""
    return _marked(environ[MARK], "")


def _marked(value: str, program: str) -> list[str]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_wanted = process.environ().get(MARK) == value and program in ("", process.name())
            if is_wanted and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
    return found


def probe(front_end: FrontEnd, folder: Path) -> dict[str, int]:
    """What the kernel holds: tasks, threads, objects, descriptors and bytes of its own memory."""
    file = folder / "probe.json"
    file.unlink(missing_ok=True)
    process = front_end.process
    process.send_signal(10)
    until(file.exists, "the probe", 60)
    own = process.memory_full_info()
    return {**json.loads(file.read_text()), "descriptors": process.num_fds(), "bytes": own.uss, "rss": own.rss}


def run_cell(front_end: FrontEnd, script: str, cell_id: str = "cell") -> Outcome:
    """Run a prompt to its end."""
    return front_end.run(script, REPLY_LIMIT, cell_id=cell_id)


def forget(front_end: FrontEnd) -> None:
    """Drop what was published so far: a front end that remembers everything slows down."""
    front_end.published.clear()
    front_end.replies.clear()


def words(text: str, tag: str) -> int:
    """How many of a tag's words a text has without a gap, from the first on."""
    found = set(text.split())
    return next(number for number in range(len(found) + 1) if f"{tag}w{number}" not in found)
