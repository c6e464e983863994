"""A grammar of what people and agents type, and what somebody inserts who wants another program to run."""

import random
import re

from .making import split


def _marks(text: str) -> tuple[str, ...]:
    """With the escapes of Python, so that a line end can stand among them."""
    return tuple(item.encode().decode("unicode_escape") for item in split(text))


INSERTED = (
    *_marks(r"""
; evil ¦ && evil ¦ | evil ¦ || evil ¦ |& evil ¦ $(evil) ¦ `evil` ¦ <(evil) ¦ >(evil) ¦ ${x:-$(evil)} ¦ ${x@P}
$((1+1)) ¦ $[1] ¦ $'\\x3b evil' ¦ $"x" ¦ $IFS ¦ $@ ¦ ${!x} ¦ ((evil)) ¦ (evil) ¦ { evil; } ¦ {evil,x} ¦ {1..3}
{a,} ¦ * ¦ ? ¦ [a-z]* ¦ -* ¦ ~ ¦ ~+ ¦ ~root ¦ # ¦ ! ¦ !! ¦ ^ ¦ ^a^b ¦ \\ ¦ ' ¦ " ¦ '' ¦ "" ¦ \\' ¦ \\" ¦ \x00
\x1b ¦ \u200b ¦ \u202e ¦ \u2066 ¦ \ufeff ¦ \u3164 ¦ \U000e0041 ¦ \ufe0f ¦ \xe9 ¦ \u4e2d ¦ \uff1b ¦ \u037e ¦ \x7f
> w.txt ¦ >> a.txt ¦ >| a.txt ¦ &> w.txt ¦ <> w.txt ¦ 2>w.txt ¦ 3>w.txt ¦ {v}>w.txt ¦ >&w.txt ¦ 1>&- ¦ <a.txt
<<<evil ¦ <<-E ¦ 2>& ¦ > ¦ < ¦ & ¦ | ¦ ; ¦ ;; ¦ ;& ¦ ( ¦ ) ¦ { ¦ } ¦ [[ ¦ ]] ¦ == ¦ && ¦ || ¦ = ¦ a=b
>/dev/tcp/x/1 ¦ >/dev/null ¦ % ¦ @ ¦ + ¦ , ¦ : ¦ \\; ¦ \\& ¦ \\|
"""),
    *("& evil ", "\nevil\n", " # ", "\\\n", "\r", "\t", "\x0b", "\x0c"),
    *("\xa0", "\u2003", "\x85", "<<E\nevil\nE\n", " ", "\n", " - ", " -- "),
)
"""Put anywhere."""

_BEFORE = split("""
PATH=. ¦ X=1 ¦ A+=1 ¦ a[0]=1 ¦ IFS=x ¦ env ¦ env X=1 ¦ xargs ¦ sudo ¦ command ¦ builtin ¦ exec ¦ eval ¦ .
source ¦ ! ¦ time ¦ time -p ¦ coproc ¦ nohup ¦ nice ¦ nice -n 5 ¦ timeout 5 ¦ watch ¦ timeout --foreground 5
setsid ¦ flock x ¦ parallel ¦ stdbuf -oL ¦ sh -c ¦ bash -c ¦ if ¦ while ¦ { ¦ ( ¦ f() { ¦ function f {
for x in a; do ¦ case x in x) ¦ [[ -n x ]] && ¦ trap evil EXIT; ¦ alias git=evil; ¦ cd src && ¦ cd / ;
export PATH=.; ¦ set -- evil; ¦ hash -p ./evil git; ¦ enable -n echo; ¦ printf -v PATH . ; ¦ read PATH;
shopt -s extglob; ¦ git() { evil; }; ¦ unset PATH; ¦ pushd src; ¦ exec 3>w.txt; ¦ test -v 'x[$(./evil)]' ;
printf -v 'x[$(./evil)]' a; ¦ let 'x[$(./evil)]=1'; ¦ wait -p 'x[$(./evil)]'; ¦ declare -n a=b;
mapfile -C ./evil -c 1 < a.txt; ¦ jobs -x ./evil; ¦ bind -x '"a":evil'; ¦ compgen -C ./evil; ¦ history -w w.txt;
""")
BEFORE = (*(f"{item} " for item in _BEFORE), "./", "src/", "/", "\\")
"""Put before a command."""


_PLAIN = """
git status ¦ git status -sb ¦ git log --oneline -5 ¦ git diff HEAD~1 -- src/a.py ¦ git add src/a.py
git commit -m 'a message' ¦ git commit -am "it's done" ¦ git push origin main ¦ git pull --rebase
git checkout -b feature/x ¦ git stash list ¦ git show HEAD:a.txt ¦ git branch -a ¦ git blame -L 1,5 a.txt
git grep -n foo ¦ git rev-parse --abbrev-ref HEAD ¦ git ls-files ¦ git add src/*.py ¦ git add *.py ¦ npm test
npm run build ¦ pytest ¦ pytest -q tests ¦ pytest -x -k 'not slow' ¦ python -m pytest -q ¦ python train.py
ruff check . ¦ ls ¦ ls -la ¦ ls src data ¦ ls ./*.csv ¦ ls -l data/*.csv ¦ cat a.txt ¦ cat ./notes.md a.txt
head -n 5 b.csv ¦ tail -20 a.txt ¦ wc -l b.csv ¦ grep -rn "def main" src ¦ grep -c x b.csv ¦ rg -n foo src
rg 'a|b' --type py ¦ find . -name '*.py' ¦ find src -type f -size +1k ¦ sed -n 1,5p a.txt ¦ sed -n '$p' a.txt
awk '{print $1}' b.csv ¦ awk -F, '{s+=$2} END {print s}' b.csv ¦ sort -u b.csv ¦ sort -t, -k2 -n b.csv
uniq -c a.txt ¦ tar tzf x.tgz ¦ jq -r .name x.json ¦ jq '.a[] | .b' x.json ¦ echo done ¦ echo "all done: 3 files"
printf '%s,' a b ¦ tee out.txt ¦ make test ¦ diff -u a.txt b.csv ¦ cut -d, -f1 b.csv ¦ test -f a.txt ¦ true ¦ pwd
mkdir -p out ¦ timeout 60 npm test ¦ nice pytest -q ¦ time python train.py ¦ nohup python train.py
stdbuf -oL python train.py ¦ cat ~/notes.md ¦ pytest 2>&1 | tail -5 ¦ ls | wc -l ¦ cat a.txt | sort -rn | head -3
git log | grep -i fix ¦ cat b.csv | cut -d, -f1 | uniq -c
cd src && ls ¦ cd src && git status ¦ ls | tr a b
"""
PLAIN = split(_PLAIN)
SEPARATORS = (" && ", " || ", " | ", "; ", " & ", "\n", " |& ", ";", "&&", " &&\n  ")
TAILS = tuple(
    f" {tail}"
    for tail in split(
        "2>/dev/null ¦ 2>&1 ¦ >/dev/null 2>&1 ¦ &>/dev/null ¦ </dev/null ¦ > out.txt ¦ >> log.txt ¦ 2> e.txt ¦ &"
    )
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
