"""Random command lines against real bash: nothing that is approved may do what no rule allows.

    python -m tests.permissions.fuzz --count 100000 --seed 1

A grammar makes ordinary and compound commands, mutations make them hostile. What `judge` approves is really run, and
must have started only programs of the rules, with the very words that were judged, and changed no file but those that
the verdict names. A run that approves less than a fifth fails: it must not pass by refusing.
"""

from __future__ import annotations

import argparse
import contextlib
import getopt
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from copilot_kernel.permissions.commands import Verdict, judge
from copilot_kernel.permissions.patterns import compile_pattern
from copilot_kernel.permissions.programs import unwrap
from copilot_kernel.permissions.shell import read

from .grammar import generate
from .hostile import BETWEEN, NEVER, OUTER
from .sandbox import Deed, Sandbox, sandbox

_RULES = """
git * ¦ npm test ¦ npm run build ¦ pytest * ¦ python -m pytest * ¦ python train.py ¦ ruff check * ¦ ls * ¦ cat *
head * ¦ tail * ¦ wc * ¦ grep * ¦ rg * ¦ find * ¦ sed * ¦ awk * ¦ sort * ¦ uniq * ¦ tar * ¦ jq * ¦ echo * ¦ printf *
tee * ¦ make test ¦ diff * ¦ cut * ¦ test * ¦ true ¦ pwd ¦ mkdir -p *
"""
RULES = tuple(rule for row in _RULES.strip().splitlines() for rule in row.split(" ¦ "))
_OTHERS = """
evil rm sh bash env xargs sudo node npx curl perl less vi cp mv timeout time nice nohup stdbuf setsid watch flock
parallel ssh dd ln touch chmod
"""
"""Programs that exist as well, but no rule names them; plain wrappers are allowed in front of those that have one."""

BUILTINS = frozenset({"echo", "printf", "test", "true", "pwd"})
PROGRAMS = tuple(sorted({rule.split()[0] for rule in RULES} - BUILTINS | set(_OTHERS.split())))
LEAST_SHARE = 0.2

Policy = Callable[[str], Verdict]
_COMPILED = tuple(compile_pattern(rule) for rule in RULES)


def our_policy(line: str) -> Verdict:
    return judge(line, _COMPILED)


@dataclass
class Report:
    seed: int
    count: int = 0
    approved: int = 0
    plain: int = 0
    plain_approved: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.approved / max(self.count, 1)

    @property
    def is_good(self) -> bool:
        return not self.violations and self.share >= LEAST_SHARE

    def __str__(self) -> str:
        plain = self.plain_approved / max(self.plain, 1)
        return (
            f"{self.count:,} command lines, seed {self.seed}: {self.approved:,} approved ({self.share:.1%}; without "
            f"mutation {plain:.1%}), {len(self.violations)} violations, {self.seconds:.0f} s"
        )


def run(count: int, seed: int, policy: Policy = our_policy, most: int = 20) -> Report:
    """Stops at `most` violations."""
    chance, report, start = random.Random(seed), Report(seed), time.monotonic()
    with sandbox(PROGRAMS) as room:
        while report.count < count and len(report.violations) < most:
            _one(chance, report, policy, room)
    report.seconds = time.monotonic() - start
    return report


def _one(chance: random.Random, report: Report, policy: Policy, room: Sandbox) -> None:
    line, is_mutated = generate(chance)
    verdict = policy(line)
    approved = verdict.outcome == "allow"
    report.count += 1
    report.plain += not is_mutated
    report.approved += approved
    report.plain_approved += approved and not is_mutated
    if approved:
        report.violations += [f"{line!r}: {wrong}" for wrong in violations(line, verdict, room)]


def violations(line: str, verdict: Verdict, room: Sandbox) -> list[str]:
    """What running the approved line did that it should not have done."""
    if "\0" in line:
        return ["holds a NUL, which bash does not even take"]
    deed = room.run(line)
    return [*_wrong_programs(line, verdict, deed), *_wrong_files(verdict, deed), *_wrong_words(deed)]


def _wrong_programs(line: str, verdict: Verdict, deed: Deed) -> list[str]:
    """Only what the rules name may have run, with words that were judged."""
    seen = read(line)
    judged = {part[at:] for part in seen.parts for at in range(len(part)) if set(part[:at]) <= {"time", "-p"}}
    wrong = [
        f"ran {words}" for words in deed.ran if not any(_fits(rule, words) or _fits_behind(words) for rule in RULES)
    ]
    if not seen.globs:
        wrong += [f"ran {words}, which was not judged" for words in deed.ran if tuple(words) not in judged]
    said = deed.said.replace("test: syntax error", "")
    for file in verdict.writes:
        said = said.replace(f"{file}: No such file or directory", "")
    return wrong + [f"bash said {row!r}" for row in said.splitlines() if any(map(row.__contains__, _SIGNS))]


_SIGNS = ("command not found", "syntax error", "unexpected EOF", "No such file", "Permission denied", "took too long")
"""That bash did not read the line as we did, or did not find what it was told to run."""


def _fits(rule: str, words: Sequence[str]) -> bool:
    wanted = rule.removesuffix(" *").split()
    return list(words[: len(wanted)]) == wanted and (rule.endswith(" *") or len(words) == len(wanted))


def _fits_behind(words: Sequence[str]) -> bool:
    """The plain wrappers were started with words that end in a command of the rules."""
    inner = unwrap(tuple(words))
    return len(inner) < len(words) and any(_fits(rule, inner) for rule in RULES)


def _wrong_files(verdict: Verdict, deed: Deed) -> list[str]:
    """A file that the verdict names is to be allowed by whoever judges edits; here it is."""
    named = {os.path.normpath(file) for file in verdict.writes}
    wrong = [name for name in deed.changed if name not in named and name not in (".", "src", "data")]
    return [f"changed {wrong}"] if wrong else []


def _wrong_words(deed: Deed) -> list[str]:
    found = [
        words
        for words in deed.ran
        if words[0] in NEVER and any(map(NEVER[words[0]].fullmatch, _and_pairs(_telling(words[0], words[1:]))))
    ]
    return [f"ran {found[0]}, which may start another program or write a file"] if found else []


def _telling(program: str, words: Sequence[str]) -> Sequence[str]:
    """Without -e, the first word for sed that is no option is the script; the others are names of files.

    Of uniq, only the files count. For git, an option before the subcommand is another one than behind it (`-p`, `-C`),
    and is marked.
    """
    if program == "uniq":
        with contextlib.suppress(getopt.GetoptError):
            return getopt.getopt(list(words), "cdDuizf:s:w:")[1]
    if program == "git":
        return [*words, *(OUTER + word for word in takewhile(lambda word: word.startswith("-"), words))]
    if program != "sed" or any(word.startswith(("-e", "--e")) for word in words):
        return words
    script = next((word for word in words if not word.startswith("-")), "")
    return [word for word in words if word == script or word.startswith("-")]


def _and_pairs(words: Sequence[str]) -> list[str]:
    return [*words, *map(BETWEEN.join, pairwise(words))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    report = run(**vars(parser.parse_args()))
    print(report, *report.violations, sep="\n  ")
    return 0 if report.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
