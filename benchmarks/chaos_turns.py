"""Faults during turns of one kernel: the agent is killed, hangs, is interrupted, and answers cross one another."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from .trial import Cell, Kernel, Trial, interrupted

KINDS = ("say {tag} 40 1", "ask\nsay {tag} 3", "call 20\nsay {tag} 20", "child\nsay {tag} 20 2", "say {tag} 3\nask 3")
MORE_KINDS = ("form\nsay {tag} 3", "read notes.txt\nsay {tag} 9 1")
MOMENTS = 0.06
"""Seconds within which a fault comes after the cell was sent: about as long as a turn takes."""
CLICK_MOMENTS = 0.02


def kills(trial: Trial, count: int) -> None:
    """SIGKILL of the agent; sometimes again while it starts."""
    with trial.kernel() as kernel:
        for number, chance in trial.rounds(count):
            kernel.ensure_agent()
            cell = kernel.begin(chance.choice(KINDS), f"k{number}")
            time.sleep(chance.uniform(0, MOMENTS))
            send_signal(agent := kernel.agent, signal.SIGKILL)
            trial.check(cell.end(), "kill", cell.lost(), cell.unanswered())
            trial.ends[cell.error or "ok"] += 1
            kernel.await_end_of(agent)
            if chance.random() < 0.03:
                _killed_at_start(trial, kernel, number)
            goes_on(trial, kernel, number)
        trial.check(0, "kills", kernel.left_by_agents())


def _killed_at_start(trial: Trial, kernel: Kernel, number: int) -> None:
    cell = kernel.begin(f"say s{number} 1", f"s{number}")
    child = kernel.new_agent()
    if child is not None:
        send_signal(child, signal.SIGKILL)
    trial.check(cell.end(), "kill at the start")


def hangs(trial: Trial, count: int) -> None:
    """The agent stops answering, or stops altogether; ■ once, or again after the time of a double click."""
    with trial.kernel() as kernel:
        for number, chance in trial.rounds(count):
            kernel.ensure_agent()
            is_stopped, twice = chance.random() < 0.3, chance.random() < 0.3
            cell = kernel.begin(f"say h{number} 3\n{'wait' if is_stopped else 'hang'}", f"h{number}")
            cell.shows(f"h{number}w2")
            time.sleep(chance.uniform(0, MOMENTS))
            if is_stopped:
                send_signal(kernel.agent, signal.SIGSTOP)
            took, early = interrupted(cell, chance, twice=twice)
            is_cancelled = [] if cell.error == "Cancelled" else [f"the cell ended with {cell.error!r}"]
            trial.check(took, "hang", early, is_cancelled, cell.lost(), cell.unanswered())
            goes_on(trial, kernel, number)


def interrupts(trial: Trial, count: int) -> None:
    """■ at any moment of a turn, also before it began and after it ended; the agent obeys and lives on."""
    with trial.kernel() as kernel:
        kernel.ensure_agent()
        agent = kernel.agent
        for number, chance in trial.rounds(count):
            cell = kernel.begin(chance.choice((*KINDS, *MORE_KINDS)), f"i{number}")
            cell.started()
            time.sleep(chance.uniform(0, MOMENTS))
            cell.interrupt(by_signal=chance.random() < 0.1)
            took = cell.end()
            wrong = [] if cell.error in ("", "Cancelled") else [f"the cell ended with {cell.error!r}"]
            trial.check(took, "interrupt", wrong, cell.lost(), cell.unanswered())
            trial.ends[cell.error or "ok"] += 1
            if number % 20 == 0:
                goes_on(trial, kernel, number)
                trial.check(0, "interrupt", [] if kernel.agent == agent else ["the agent was started again"])
                agent = kernel.agent


def races(trial: Trial, count: int) -> None:
    """A click that allows, ■, and the agent's own end, at nearly the same time and in any order."""
    with trial.kernel() as kernel:
        kernel.ensure_agent()
        for number, chance in trial.rounds(count):
            cell = kernel.begin(f"ask\nsay r{number} 2", f"r{number}")
            button = cell.button()
            actions: list[Callable[[], object]] = [
                partial(kernel.front_end.press, button),
                cell.interrupt,
                lambda: send_signal(kernel.agent, signal.SIGUSR1),
            ]
            chosen = chance.sample(actions, chance.choice((2, 3, 3, 3)))
            moments = sorted(chance.uniform(0, CLICK_MOMENTS) for _ in chosen)
            began = time.monotonic()
            for action, moment in zip(chosen, moments, strict=True):
                time.sleep(max(0.0, began + moment - time.monotonic()))
                action()
            trial.check(cell.end(), "race", cell.unanswered(), cell.lost(), _said(cell))
            trial.ends[f"{cell.error or 'ok'}, answered {' and '.join(cell.exchange.outcomes())}"] += 1
            if number % 20 == 0:
                goes_on(trial, kernel, number)


def _said(cell: Cell) -> list[str]:
    """The line in the cell says what the agent was answered."""
    outcomes, text = cell.exchange.outcomes(), cell.text
    is_allowed = "allowed by you" in text
    if len(outcomes) == 1 and outcomes[0] in ("allow_once", "cancelled") and is_allowed == (outcomes == ["allow_once"]):
        return []
    return [f"the agent was answered {outcomes}, and the cell says {text[-300:]!r}"]


def goes_on(trial: Trial, kernel: Kernel, number: int) -> None:
    """The next prompt works, in the same session."""
    session = kernel.exchange.session
    cell = kernel.begin("say {tag} 2", f"on{number}")
    took = cell.end()
    wrong = [] if cell.error == "" and cell.words == 2 else [f"the next prompt: {cell.error} {cell.text[-300:]!r}"]
    other = [] if session in ("", kernel.exchange.session) else ["the next prompt went to another session"]
    trial.check(took, "next prompt", wrong, other)


def send_signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
