"""A grammar of what people and agents type, and the mutations that make it hostile."""

from __future__ import annotations

import random
import re

from .hostile import BEFORE, INSERTED

_PLAIN = """
git status ¦ git status -sb ¦ git log --oneline -5 ¦ git diff HEAD~1 -- src/a.py ¦ git add src/a.py
git commit -m 'a message' ¦ git commit -am "it's done" ¦ git push origin main ¦ git pull --rebase
git checkout -b feature/x ¦ git stash list ¦ git show HEAD:a.txt ¦ git branch -a ¦ git blame -L 1,5 a.txt
git grep -n foo ¦ git rev-parse --abbrev-ref HEAD ¦ git ls-files ¦ git add src/*.py ¦ git add *.py ¦ npm test
npm run build ¦ pytest ¦ pytest -q tests ¦ pytest -x -k 'not slow' ¦ python -m pytest -q ¦ python train.py
ruff check . ¦ ls ¦ ls -la ¦ ls src data ¦ ls ./*.csv ¦ ls -l data/*.csv ¦ cat a.txt ¦ cat ./notes.md a.txt
head -n 5 b.csv ¦ tail -20 a.txt ¦ wc -l b.csv ¦ grep -rn "def main" src ¦ grep -c x b.csv ¦ rg -n foo src
rg 'a|b' --type py ¦ find . -name '*.py' ¦ find src -type f -size +1k ¦ sed -n 1,5p a.txt ¦ sed 's/a/b/g' a.txt
awk '{print $1}' b.csv ¦ awk -F, '{s+=$2} END {print s}' b.csv ¦ sort -u b.csv ¦ sort -t, -k2 -n b.csv
uniq -c a.txt ¦ tar tzf x.tgz ¦ jq -r .name x.json ¦ jq '.a[] | .b' x.json ¦ echo done ¦ echo "all done: 3 files"
printf '%s,' a b ¦ tee out.txt ¦ make test ¦ diff -u a.txt b.csv ¦ cut -d, -f1 b.csv ¦ test -f a.txt ¦ true ¦ pwd
mkdir -p out ¦ timeout 60 npm test ¦ nice pytest -q ¦ time python train.py ¦ nohup python train.py
stdbuf -oL python train.py ¦ cat ~/notes.md ¦ pytest 2>&1 | tail -5 ¦ ls | wc -l ¦ cat a.txt | sort -rn | head -3
git log | grep -i fix ¦ cat b.csv | cut -d, -f1 | uniq -c
cd src && ls ¦ cd src && git status ¦ ls | tr a b
"""
PLAIN = [line for row in _PLAIN.strip().splitlines() for line in row.split(" ¦ ")]
SEPARATORS = (" && ", " || ", " | ", "; ", " & ", "\n", " |& ", ";", "&&", " &&\n  ")
TAILS = (
    " 2>/dev/null",
    " 2>&1",
    " >/dev/null 2>&1",
    " &>/dev/null",
    " </dev/null",
    " > out.txt",
    " >> log.txt",
    " 2> e.txt",
    " &",
)


def ordinary(chance: random.Random) -> str:
    """One to four commands, some with a redirection."""
    parts = [_command(chance) for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4)))]
    line = parts[0]
    for part in parts[1:]:
        line += ("" if line.endswith("&") else chance.choice(SEPARATORS)) + part
    return line


def _command(chance: random.Random) -> str:
    return chance.choice(PLAIN) + (chance.choice(TAILS) if chance.random() < 0.15 else "")


def mutated(chance: random.Random, line: str) -> str:
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        line = chance.choices((_insert, _put_before, _edit, _requote), (6, 3, 3, 1))[0](chance, line)
    return line


def _insert(chance: random.Random, line: str) -> str:
    at = chance.randint(0, len(line))
    blank = chance.choice(("", "", " "))
    return line[:at] + blank + chance.choice(INSERTED) + blank + line[at:]


def _put_before(chance: random.Random, line: str) -> str:
    begins = [0, *(match.end() for match in re.finditer(r"[;&|\n]+ *", line))]
    at = chance.choice(begins)
    return line[:at] + chance.choice(BEFORE) + line[at:]


def _edit(chance: random.Random, line: str) -> str:
    """A character lost, doubled, or exchanged with its neighbour."""
    at = chance.randrange(len(line))
    middle = chance.choice(("", line[at] * 2, line[at : at + 2][::-1]))
    return line[:at] + middle + line[at + (2 if len(middle) == 2 and middle[0] != middle[1] else 1) :] or "ls"


def _requote(chance: random.Random, line: str) -> str:
    at, to = sorted((chance.randint(0, len(line)), chance.randint(0, len(line))))
    quote = chance.choice("'\"")
    return line[:at] + quote + line[at:to] + quote + line[to:]


def generate(chance: random.Random) -> tuple[str, bool]:
    """A command line, and whether it was mutated."""
    line = ordinary(chance)
    is_mutated = chance.random() < 0.7
    return (mutated(chance, line) if is_mutated else line), is_mutated
