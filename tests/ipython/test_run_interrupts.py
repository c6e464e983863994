"""Who hears an interrupt while the agent's code runs."""

import signal
import threading
from collections.abc import Iterator

import pytest
from copilot_kernel.ipython.runs import RunInterrupts


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """Interrupts that the waiting cell has heard."""
    numbers: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupts() -> RunInterrupts:
    return RunInterrupts(execute.__code__)


def execute() -> None:
    signal.raise_signal(signal.SIGINT)


def nothing() -> None:
    """A run that waits cannot be cancelled here."""


def test_an_interrupt_ends_the_run_and_the_cell_hears_it(interrupts: RunInterrupts, heard: list[int]) -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.handled("a", nothing):
        execute()
    assert heard == [signal.SIGINT]


def test_an_interrupt_of_a_run_that_waits_cancels_it(interrupts: RunInterrupts, heard: list[int]) -> None:
    cancelled: list[bool] = []
    with interrupts.handled("a", lambda: cancelled.append(interrupts.interrupted)):
        signal.raise_signal(signal.SIGINT)
    assert (cancelled, heard) == ([True], [signal.SIGINT])


def test_a_stop_is_for_its_run_alone(interrupts: RunInterrupts, heard: list[int]) -> None:
    interrupts.stop("a")
    with interrupts.handled("b", nothing):
        interrupts.stop("a")
        interrupts.check("b")
        with pytest.raises(KeyboardInterrupt):
            interrupts.check("a")
    assert (interrupts.interrupted, heard) == (False, [])


def test_a_stop_that_comes_while_the_run_ends_is_no_interrupt_of_the_cell(
    interrupts: RunInterrupts, heard: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kill, stopping, ended = signal.pthread_kill, threading.Event(), threading.Event()

    def late(thread: int, number: int) -> None:
        stopping.set()
        ended.wait(0.3)  # the run cannot end before
        kill(thread, number)

    monkeypatch.setattr(signal, "pthread_kill", late)
    stop = threading.Thread(target=interrupts.stop, args=("a",))
    with interrupts.handled("a", nothing):
        stop.start()
        stopping.wait(5)
    ended.set()
    stop.join()
    assert (interrupts.interrupted, heard) == (True, [])
