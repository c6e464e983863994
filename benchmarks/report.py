"""What a benchmark measured: figures with units, some of them with a bound."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One number. `bound` is the most that it may be, if there is one."""

    name: str
    value: float
    unit: str
    bound: float | None
    holds: bool

    def as_text(self) -> str:
        """One line."""
        bound = "" if self.bound is None else f"   (≤ {self.bound:g}: {'holds' if self.holds else 'MISSED'})"
        value = f"{self.value:,.0f}" if self.value >= 1000 else f"{self.value:.4g}"
        return f"  {self.name:<66} {value:>8} {self.unit}{bound}"


@dataclass
class Report:
    """The figures of one run, and where they were measured."""

    name: str
    what: str
    figures: list[Figure] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether all figures keep their bounds."""
        return all(figure.holds for figure in self.figures)

    def add(self, name: str, value: float, unit: str, bound: float | None = None) -> None:
        """Append one figure."""
        self.figures.append(Figure(name, value, unit, bound, bound is None or value <= bound))

    def as_text(self) -> str:
        """A short table."""
        where = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
        return "\n".join([f"{self.name}: {self.what} [{where}]", *(figure.as_text() for figure in self.figures)])

    def as_json(self) -> dict[str, Any]:
        """The same as one JSON object."""
        return {**asdict(self), "cores": os.cpu_count()}


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` (0 to 1) of `values` lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
