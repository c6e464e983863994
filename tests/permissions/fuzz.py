"""Random command lines against real bash: an allowed line runs only programs of the rules, or pure filters.

A grammar makes ordinary lines, mutations make them hostile. What the policy allows is run by bash with stubs that log
their words. Each must be covered by a rule or be a filter on a pipe, with the words that were judged, and no file may
change that the line does not name. A run that allows less than a fifth of the lines fails.
"""

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from copilot_kernel.permissions.command_rules import compile_command, judge_line
from copilot_kernel.permissions.paths import Places
from copilot_kernel.permissions.programs import is_filter, wrapper_length
from copilot_kernel.permissions.request import AsWritten
from copilot_kernel.permissions.shell import parse_line

from .grammar import generate
from .making import split
from .sandbox import Deed, Sandbox, sandbox

_RULES = """
git * ¦ npm test ¦ npm run build ¦ pytest * ¦ python -m pytest * ¦ python train.py ¦ ruff check * ¦ ls * ¦ cat *
rg * ¦ find * ¦ sed * ¦ awk * ¦ tar * ¦ jq * ¦ printf * ¦ tee * ¦ make test ¦ diff * ¦ test * ¦ mkdir -p * ¦ wc -l b.csv
head -n 5 b.csv ¦ tail -20 a.txt ¦ grep * ¦ sort -u b.csv ¦ sort -t, -k2 -n b.csv ¦ cut -d, -f1 b.csv ¦ uniq -c a.txt
"""
RULES = split(_RULES)
_FILTERS = "head tail wc sort uniq cut tr grep nl"
_OTHERS = """
evil rm sh bash env xargs sudo node npx curl perl less vi cp mv timeout time nice nohup stdbuf setsid watch flock
parallel ssh dd ln touch chmod
"""
PROGRAMS = tuple({*(rule.split()[0] for rule in RULES), *_FILTERS.split(), *_OTHERS.split()} - {"printf", "test"})
"""Those that have a stub."""
LEAST_SHARE = 0.2
_PATTERNS = [compile_command(rule) for rule in RULES]

Policy = Callable[[str], bool]


@dataclass
class Report:
    """`violations` are lines that were allowed and did what no rule allows."""

    count: int = 0
    plain: int = 0
    plain_approved: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.plain_approved / max(1, self.plain)


PLACES = Places(root="/work", cwd="/work", home="/home/me", real=AsWritten())


def our_policy(line: str) -> bool:
    return judge_line(parse_line(line), _PATTERNS, PLACES, "/work").reason is None


def run(count: int, seed: int, policy: Policy = our_policy, most: int = 20) -> Report:
    """Until `most` violations are found."""
    chance, report = random.Random(seed), Report()
    with sandbox(PROGRAMS) as room:
        while report.count < count and len(report.violations) < most:
            line, is_mutated = generate(chance)
            is_allowed = policy(line)
            report.count += 1
            report.plain += not is_mutated
            report.plain_approved += is_allowed and not is_mutated
            if is_allowed:
                report.violations += [f"{line!r}: {wrong}" for wrong in violations(line, room)]
    return report


def violations(line: str, room: Sandbox) -> list[str]:
    """What running the allowed line did that it should not have done."""
    if "\0" in line:
        return ["holds a NUL, which bash does not even take"]
    deed = room.run(line)
    return [*_wrong_programs(line, deed), *_wrong_files(line, deed)]


def _wrong_programs(line: str, deed: Deed) -> list[str]:
    seen = parse_line(line)
    judged = {
        words[at:]
        for words in seen.commands
        for at in range(len(words))
        if set(words[:at]) <= {"time", "-p", "command"}
    }
    wrong = [f"ran {words}" for words in deed.ran if not _is_covered(words)]
    if not seen.globs:
        wrong += [f"ran {words}, which was not judged" for words in deed.ran if tuple(words) not in judged]
    said = deed.said.replace("test: syntax error", "")
    for _, file in seen.writes:
        said = said.replace(f"{file}: No such file or directory", "")
    rows = [row for row in said.splitlines() if ": cd: " not in row]
    return wrong + [f"bash said {row!r}" for row in rows if any(map(row.__contains__, _SIGNS))]


_SIGNS = ("command not found", "syntax error", "unexpected EOF", "No such file", "Permission denied", "took too long")
"""That bash did not read the line as we did, or did not find what it was told to run."""


def _is_covered(words: Sequence[str]) -> bool:
    inner = tuple(words)[wrapper_length(tuple(words)) :]
    return is_filter(inner, frozenset()) or any(pattern.spelled(inner) is not None for pattern in _PATTERNS)


def _wrong_files(line: str, deed: Deed) -> list[str]:
    files = [file for _, file in parse_line(line).writes]
    named = {os.path.normpath(file) for file in (*files, *(f"src/{file}" for file in files))}
    wrong = [name for name in deed.changed if name not in named and name not in (".", "src", "data")]
    return [f"changed {wrong}"] if wrong else []
