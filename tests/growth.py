"""How the cost of a piece of work grows with its size: what does not depend on how fast the machine is."""

import time
from collections.abc import Callable

FACTOR = 8
TRIES = 3


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether `work(FACTOR * size)` takes clearly less than quadratic growth would: CPU time, the best of each."""
    return _best(work, FACTOR * size) < 4 * FACTOR * _best(work, size)


def _best(work: Callable[[int], object], size: int) -> float:
    taken = []
    for _ in range(TRIES):
        began = time.process_time()
        work(size)
        taken.append(time.process_time() - began)
    return min(taken)
