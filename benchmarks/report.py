"""What a benchmark measured: figures with units, some of them with a bound."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field


@dataclass
class Report:
    """The figures of one run, a line each, and where they were measured."""

    name: str
    what: str
    lines: list[str] = field(default_factory=list)
    holds: bool = True
    """Whether all figures keep their bounds."""

    def add(
        self, name: str, value: float, unit: str, bound: float | None = None, *, least: float | None = None
    ) -> None:
        """Append one figure. `bound` is the most that it may be, `least` the least, if there is one."""
        holds = (bound is None or value <= bound) and (least is None or value >= least)
        limits = "".join(f"{sign} {each:g}: " for sign, each in (("≤", bound), ("≥", least)) if each is not None)
        limit = f"   ({limits}{'holds' if holds else 'MISSED'})" if limits else ""
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
        self.lines.append(f"  {name:<66} {number:>8} {unit}{limit}")
        self.holds = self.holds and holds

    def __str__(self) -> str:
        where = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
        return "\n".join([f"{self.name}: {self.what} [{where}]", *self.lines])


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` (0 to 1) of `values` lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
