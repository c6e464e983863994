"""Faults during turns: of the agent, of its broker, of the user's clicks, and of the clock."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import psutil

from tests.jupyter.front_end import until

from .trial import GRACE, LIMIT, Cell, Notebook, Notebooks, Trial

KINDS = ("say {tag} 40 1", "ask\nsay {tag} 3", "call 20\nsay {tag} 20", "child\nsay {tag} 20 2", "say {tag} 3\nask 3")
MORE_KINDS = ("form\nsay {tag} 3", "read notes.txt\nsay {tag} 9 1")
ORDINARY = (
    *("say {tag} 4",) * 12,
    *("call 2\nsay {tag} 4",) * 4,
    *("read notes.txt\nsay {tag} 4", "ask\nsay {tag} 4") * 2,
    "edit notes.txt {tag}\nsay {tag} 4",
)
"""Turns as often as they come."""
FAULT_SHARE = 0.01
FAULTS = {"die": "AgentExited", "hang": "Cancelled", "refuse": "", "garbage": ""}
"""What an agent does by itself, and how its turn ends."""
MOMENTS = 0.06
"""Seconds within which a fault comes after the cell was sent: about as long as a turn takes."""
CLICK_MOMENTS = 0.02
JUMPS = (-(10**9), -86_400 * 365, -3600, -1, 1, 3600, 10**9)


def kills(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """SIGKILL of the agent, or of the broker with it: all notebooks go on with one agent that is new."""
    agent = shared_agent(trial, notebooks)
    asked = [each for each in notebooks if each is notebooks[0] or chance.random() < 0.7]
    cells = [each.begin(chance.choice(KINDS), f"k{number}") for each in asked]
    victims = [agent, *_brokers(notebooks, agent)]
    is_broker = chance.random() < 0.2 and len(victims) > 1
    time.sleep(chance.uniform(0, MOMENTS))
    _send_signal(victims[is_broker], signal.SIGKILL)
    for notebook, cell in zip(asked, cells, strict=True):
        took = _end_of_struck(notebook, cell, agent)
        # What is on its way through the broker is lost with it.
        trial.check(took, "kill", cell.journal.wrong_answers() if is_broker else cell.lost())
    until(lambda: not any(map(psutil.pid_exists, victims)), "the end of the agent", LIMIT)
    for notebook in notebooks:  # a prompt that is sent before the kernel knows of the end is lost with it
        notebook.front_end.ask("kernel_info_request")
        notebook.goes_on(trial)
    trial.check(0, "kill", notebooks[0].project.orphans("sleep"))


def _end_of_struck(notebook: Notebook, cell: Cell, agent: int) -> float:
    """The seconds to its end. If its prompt came after that of `agent`, it is stopped in the next one."""
    began = time.monotonic()
    while not cell.has_ended(0.05) and time.monotonic() < began + LIMIT:
        if notebook.agent != agent:
            cell.interrupt()
            break
    cell.end()
    return time.monotonic() - began


def hangs(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """A turn ignores the cancel, or the agent is stopped. ■ once, or again after the time of a double click."""
    agent = shared_agent(trial, notebooks)
    first, *others = notebooks
    is_stopped, is_twice = chance.random() < 0.3, chance.random() < 0.3
    cell = first.begin(f"say {{tag}} 3\n{'wait' if is_stopped else 'hang'}", f"h{number}")
    cell.shows(2)
    script = "say {tag} 3\nwait" if is_stopped else "call 5\nsay {tag} 60 20"
    cells = [each.begin(script, f"h{number}") for each in others]
    for each in cells:
        each.shows(0)
    time.sleep(chance.uniform(0, MOMENTS))
    if is_stopped:
        _send_signal(agent, signal.SIGSTOP)
    trial.check(*_interrupted(cell, chance.uniform(0.31, 0.45) * is_twice), cell.wrong("Cancelled", 3), cell.lost())
    for each in cells:
        if is_stopped:
            each.interrupt()
        trial.check(
            each.end(), "another notebook", each.wrong(*(("Cancelled",) if is_stopped else ("", 60))), each.lost()
        )
    for notebook in notebooks:
        notebook.goes_on(trial)
    for notebook in others if not is_stopped else ():
        trial.check(0, "another notebook", [] if notebook.agent == agent else ["it got another agent"])
        cell = notebook.begin("%restart", "restart")
        trial.check(cell.end(), "restart", cell.wrong(""))


def _interrupted(cell: Cell, again_after: float) -> tuple[float, str, list[str]]:
    """■ while the agent hangs: how long the cell took to end, and what is wrong with that."""
    began = time.monotonic()
    cell.interrupt()
    if again_after:
        time.sleep(again_after)
        cell.interrupt()
    cell.end()
    took = time.monotonic() - began
    return took, "hang", [] if again_after or took >= GRACE else [f"it ended before the grace, after {took:.2f} s"]


def interrupts(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """■ at any moment of a turn, also after its end, by message or SIGINT; the agent obeys and lives on."""
    (notebook,) = notebooks
    agent = notebook.ensure_agent()
    cell = notebook.begin(chance.choice((*KINDS, *MORE_KINDS)), f"i{number}")
    cell.started()
    time.sleep(chance.uniform(0, MOMENTS))
    cell.interrupt(by_signal=chance.random() < 0.1)
    took = cell.end()
    trial.check(took, "interrupt", [] if cell.error == "" else cell.wrong("Cancelled"), cell.lost())
    if number % 20 == 0:
        notebook.goes_on(trial)
        trial.check(0, "interrupt", [] if notebook.agent == agent else ["the agent was started again"])


def races(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """A click that allows, ■, and the agent's own end, at nearly the same time and in any order."""
    (notebook,) = notebooks
    agent = notebook.ensure_agent()
    cell = notebook.begin("ask\nsay {tag} 2", f"r{number}")
    click = partial(cell.press, cell.button())
    actions: list[Callable[[], None]] = [click, cell.interrupt, partial(_send_signal, agent, signal.SIGUSR1)]
    for action in chance.sample(actions, chance.choice((2, 3, 3, 3))):
        time.sleep(chance.uniform(0, CLICK_MOMENTS / 2))
        action()
    trial.check(cell.end(), "race", cell.lost(), _misreported(cell))
    if number % 20 == 0:
        notebook.goes_on(trial)


def _misreported(cell: Cell) -> list[str]:
    """The agent is answered once, and the line in the cell says the same."""
    outcomes, is_allowed = cell.journal.outcomes(), "allowed by you" in cell.text
    if outcomes in (["allow_once"], ["cancelled"]) and is_allowed == (outcomes == ["allow_once"]):
        return []
    return [f"the agent was answered {outcomes}, and the cell says {cell.text[-300:]!r}"]


def faults(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """The agent ends in the turn, hangs, refuses, or writes lines that are no messages."""
    fault = list(FAULTS)[number % len(FAULTS)]
    faulty(trial, notebooks[0], fault, f"f{number}")
    notebooks[0].goes_on(trial)


def faulty(trial: Trial, notebook: Notebook, fault: str, tag: str) -> None:
    """One such turn."""
    cell = notebook.begin(f"say {{tag}} 3\n{fault}\nsay after", tag)
    if fault == "hang":
        cell.shows(2)
        cell.interrupt()
    trial.check(cell.end(), fault, cell.wrong(FAULTS[fault], 3), cell.journal.wrong_answers())


def turns(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """Ordinary turns, one after the other; 1 % have a fault."""
    (notebook,), tag = notebooks, f"t{number}"
    if chance.random() < FAULT_SHARE:
        return faulty(trial, notebook, chance.choice(list(FAULTS)), tag)
    script = chance.choice(ORDINARY)
    cell = notebook.begin(script, tag)
    if script.startswith(("ask", "edit")):
        cell.press()
    trial.check(cell.end(), script, cell.wrong("", 4), cell.lost())


def clock(trial: Trial, notebooks: Notebooks, number: int, chance: Random) -> None:
    """The wall clock jumps while a turn runs, a question is open, or a cancelled agent has its grace; a suspend."""
    (notebook,) = notebooks
    jump = partial(_jump, notebook.project.root / "clock", chance)
    if number % 4 == 0:
        cell = notebook.begin("say {tag} 20 5", f"c{number}")
        cell.shows(2)
        jump()
        trial.check(cell.end(), "jump", cell.wrong("", 20), cell.lost())
    elif number % 4 == 1:
        cell = notebook.begin("say {tag} 1\nhang", f"c{number}")
        cell.shows(0)
        jump()
        trial.check(*_interrupted(cell, 0), cell.wrong("Cancelled", 1), cell.lost())
    else:
        cell = notebook.begin("ask\nsay {tag} 2", f"c{number}")
        button = cell.button()
        is_suspended = number % 4 == 2
        if is_suspended:
            notebook.front_end.process.send_signal(signal.SIGSTOP)
        jump()
        cell.press(button)
        if is_suspended:
            time.sleep(1)
            notebook.front_end.process.send_signal(signal.SIGCONT)
        trial.check(cell.end(), "jump", cell.wrong("", 2), cell.lost())


def _jump(file: Path, chance: Random) -> None:
    file.with_suffix(".new").write_text(str(chance.choice(JUMPS)))
    file.with_suffix(".new").replace(file)


# -- agents -----------------------------------------------------------------------------------------------------------


def shared_agent(trial: Trial, notebooks: Notebooks) -> int:
    """The agent that all have after a prompt each."""
    agents = {each.ensure_agent() for each in notebooks}
    trial.check(0, "sharing", [] if len(agents) == 1 else [f"several agents: {agents}"])
    return agents.pop()


def _brokers(notebooks: Notebooks, agent: int) -> list[int]:
    """The process that runs the agent for several notebooks, which ends with it."""
    with suppress(psutil.NoSuchProcess):
        return [psutil.Process(agent).ppid()] if len(notebooks) > 1 else []
    return []


def _send_signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
