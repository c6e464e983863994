"""When something is drawn again, on a clock that the test moves."""

import pytest
from copilot_kernel.views.pacer import MAX_PER_SECOND, REST_PER_WORK, SECONDS_PER_CHARACTER, Pacer

from ..output.recording import Loop


class Drawing:
    """A pacer, and when it drew."""

    def __init__(self) -> None:
        self.loop, self.drawn = Loop(), list[float]()
        self.pacer = Pacer(self.loop, self._draw)

    def _draw(self) -> None:
        self.pacer.stop()
        self.drawn.append(self.loop.now)


def test_what_wakes_first_draws_at_once_but_never_inside_of_the_call() -> None:
    drawing = Drawing()
    drawing.pacer.wake()
    drawing.pacer.wake()
    assert drawing.drawn == []
    drawing.loop.pass_time()
    assert drawing.drawn == [100.0]


def test_nothing_is_drawn_before_its_time_and_the_soonest_time_counts() -> None:
    drawing = Drawing()
    drawing.pacer.next_at = 101.0
    for at in (103.0, 100.5, 102.0):
        drawing.pacer.wake(at)
    drawing.loop.pass_time(10.0)
    assert drawing.drawn == [101.0]


def test_what_was_stopped_is_not_drawn_until_it_is_woken_again() -> None:
    drawing = Drawing()
    drawing.pacer.wake(101.0)
    drawing.pacer.stop()
    drawing.loop.pass_time(10.0)
    assert drawing.drawn == []
    drawing.pacer.wake()
    drawing.loop.pass_time()
    assert drawing.drawn == [110.0]


@pytest.mark.parametrize(
    ("chars", "seconds", "rest"),
    [
        (0, 0.0, 1 / MAX_PER_SECOND),
        (1_000_000, 0.0, 1_000_000 * SECONDS_PER_CHARACTER),
        (0, 1.0, REST_PER_WORK),
    ],
    ids=["small", "large", "slow to draw"],
)
def test_what_is_large_or_slow_to_draw_rests_longer(chars: int, seconds: float, rest: float) -> None:
    drawing = Drawing()
    began = drawing.loop.now
    drawing.loop.pass_time(seconds)
    assert drawing.pacer.rest(began, chars) == pytest.approx(began + seconds + rest)
