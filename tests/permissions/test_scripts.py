"""Facts about the real sed and awk: what is approved runs no program and writes no file, whatever it is made of."""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from copilot_kernel.permissions.commands import judge
from copilot_kernel.permissions.patterns import compile_pattern

SEED = 20261122
MOST = 200
"""Scripts that are really run, of each program."""

TRICKS = (
    "/[/p;s,a,]/e touch made;#,",
    "s/[]/x]/;s,a,/e;#,",
    "/[/p;s,a,]/w made,",
    "s/[]/x]/;s,a,/w made,",
    "s/[^]/x]/;s,a,/w made,",
)
"""GNU sed does not end an expression inside of a set: each of these runs a program or writes a file."""

_SED = r"""
/[/ ¦ /[^/ ¦ /[]/ ¦ ] ¦ /]/ ¦ [^] ¦ []/ ¦ [[:alpha:]] ¦ [[.a.] ¦ [= ¦ [a] ¦ [^a] ¦ [a\] ¦ [ ¦ \[ ¦ \]
\/ ¦ \\ ¦ \c ¦ \n
s, ¦ s/ ¦ s/a/ ¦ s,a, ¦ s| ¦ /x/ ¦ /g ¦ ,g ¦ , ¦ / ¦ | ¦ a ¦ b ¦ w made ¦ /w made ¦ w made, ¦ e ¦ /e ¦ ]/e ¦ e evil ¦ 1e
p ¦ d ¦ ; ¦ ; ¦ ; ¦ ;# ¦ # ¦ ! ¦ $ ¦ 1 ¦ 1,2 ¦ /a/ ¦ /a/,/b/ ¦ } ¦ { ¦ r f ¦ & ¦ \1 ¦ I ¦ y/a/b/ ¦ a\ ¦ s,a,b,;
"""
_AWK = r"""
{ ¦ } ¦ print ¦ printf ¦ $1 ¦ "evil" ¦ "made" ¦ "%s" ¦ > ¦ >> ¦ | ¦ || ¦ && ¦ |& ¦ /a|b/ ¦ /[/]/ ¦ /
NR>1 ¦ NR ¦ ; ¦ , ¦ (
) ¦ x= ¦ "f" ¦ ~ ¦ ! ¦ 1 ¦ -1 ¦ getline ¦ system( ¦ ARGV[1]= ¦ BEGIN{ ¦ END{ ¦ {print} ¦ {print $1}
{print}NR>1 ¦ \ ¦ " ¦ #
"""
PIECES = {
    name: [piece for row in text.strip().splitlines() for piece in row.split(" ¦ ")]
    for name, text in (("sed", _SED), ("awk", _AWK))
}
SWITCHES = {"sed": ("", "", "-n", "-E", "-nE", "-s", "--posix", "-n -e p -e"), "awk": ("", "", "-F, ", "-v x=1")}
WHOLE = {"sed": (*TRICKS, "s/[a-z]*//;p", "/a/,/b/p", "s,a,[b],g"), "awk": ("NR>1{print $1}", '{print > "made"}')}


class Folder:
    """With a file whose lines are names of programs, of which each leaves a mark."""

    def __init__(self, place: Path) -> None:
        self.work, beside = place / "work", place / "bin"
        self.work.mkdir()
        beside.mkdir()
        (beside / "evil").write_text(f"#!/bin/sh\n: > {self.work}/ran\n", "utf-8")
        (beside / "evil").chmod(0o755)
        for name in ("a", "b", "touch"):
            (beside / name).symlink_to("evil")
        (self.work / "f").write_text("evil\na/b\na\n", "utf-8")
        self._env = {"PATH": str(beside), "LC_ALL": "C"}

    def harm(self, words: list[str]) -> list[str]:
        """What running `words` did; a shell that did not find its program was started too."""
        program = str(shutil.which(words[0]))
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        done = subprocess.run([program, *words[1:]], cwd=self.work, env=self._env, timeout=30, check=False, **quiet)
        made = sorted(set(os.listdir(self.work)) - {"f"})
        for name in made:
            (self.work / name).unlink()
        return made + [row for row in done.stderr.decode("utf-8", "replace").splitlines() if row.startswith("sh: ")]


def made_up(program: str, chance: random.Random) -> Iterator[list[str]]:
    """Commands out of pieces, some of them in the middle of a whole script."""
    while True:
        joined = chance.choice(("", "", " ")).join(chance.choices(PIECES[program], k=chance.randint(1, 6)))
        if chance.random() < 0.5:
            script = chance.choice(WHOLE[program])
            at = chance.randint(0, len(script))
            joined = script[:at] + joined + script[at + chance.choice((0, 0, 1, 2)) :]
        yield [program, *chance.choice(SWITCHES[program]).split(), joined, "f"]


def allowed(words: list[str]) -> bool:
    return judge(shlex.join(words), [compile_pattern("sed *"), compile_pattern("awk *")]).outcome == "allow"


def harmful(program: str, folder: Folder, policy: Callable[[list[str]], bool]) -> tuple[int, list[str]]:
    """How many were run, and those that did harm."""
    made = islice(made_up(program, random.Random(SEED)), MOST * 100)
    tried = list(islice(filter(policy, made), MOST))
    return len(tried), [f"{shlex.join(words)}: {harm}" for words in tried if (harm := folder.harm(words))]


def has_gnu_sed() -> bool:
    sed = shutil.which("sed")
    said = subprocess.run([sed, "--version"], capture_output=True, timeout=30, check=False).stdout if sed else b""
    return b"GNU sed" in said


@pytest.mark.parametrize("program", ["sed", "awk"])
def test_no_approved_script_runs_or_writes(program: str, tmp_path: Path) -> None:
    if not shutil.which(program):
        pytest.skip(f"these are facts about {program}")
    assert harmful(program, Folder(tmp_path), allowed) == (MOST, [])


@pytest.mark.skipif(not has_gnu_sed(), reason="these are facts about GNU sed")
@pytest.mark.parametrize("trick", TRICKS)
def test_a_set_that_hides_a_command_is_held_back(trick: str, tmp_path: Path) -> None:
    assert Folder(tmp_path).harm(["sed", "-n", trick, "f"])
    assert not allowed(["sed", "-n", trick, "f"])


_CARELESS = re.compile(r"(?:(?:/[^/\\]+/|\d+)?(?:[pd]|s([/,|])(?:(?!\1).)*\1(?:(?!\1).)*\1[gp]*)?(?:;|#.*|\Z))*")


@pytest.mark.skipif(not has_gnu_sed(), reason="these are facts about GNU sed")
def test_the_runner_catches_a_policy_that_ends_a_set_at_its_slash(tmp_path: Path) -> None:
    assert harmful("sed", Folder(tmp_path), lambda words: bool(_CARELESS.fullmatch(words[-2])))[1]


def test_the_runner_catches_a_policy_that_knows_no_words_of_awk(tmp_path: Path) -> None:
    if not shutil.which("awk"):
        pytest.skip("these are facts about awk")
    assert harmful("awk", Folder(tmp_path), lambda words: "print" in words[-2])[1]
