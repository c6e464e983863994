"""How long until a kernel answers, beside the least kernel that there is, and until the first prompt is sent."""

from __future__ import annotations

from statistics import median

from . import first_prompt
from .kernels import OURS, PLAIN, kernel
from .report import Report


def run(scale: float = 1.0) -> Report:
    """Spawn → kernel_info_reply, in turns, so that a busy machine slows both."""
    rounds = max(3, round(15 * scale))
    ours, plain = list[float](), list[float]()
    for _ in range(rounds):
        for command, times in ((PLAIN, plain), (OURS, ours)):
            with kernel(command) as (_, seconds):
                times.append(seconds)
    report = Report("startup", f"spawn → kernel_info_reply, {rounds} starts each")
    report.add("minimal kernelbase kernel, median", median(plain) * 1000, "ms")
    report.add("Copilot kernel, median", median(ours) * 1000, "ms")
    report.add("ratio of the medians", median(ours) / median(plain), "×", bound=1.1)
    first_prompt.add_to(report, scale)
    return report
