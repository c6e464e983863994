"""What somebody writes who wants another program to run: the material of the mutations."""

from __future__ import annotations


def _listed(text: str) -> tuple[str, ...]:
    return tuple(item.strip(" ") for line in text.strip("\n").split("\n") for item in line.split(" ¦ "))


def _marks(text: str) -> tuple[str, ...]:
    """With the escapes of Python, so that a line end can stand among them."""
    return tuple(item.encode().decode("unicode_escape") for item in _listed(text))


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
    "& evil ",
    "\nevil\n",
    " # ",
    "\\\n",
    "\r",
    "\t",
    "\x0b",
    "\x0c",
    "\xa0",
    "\u2003",
    "\x85",
    "<<E\nevil\nE\n",
    " ",
    "\n",
    " - ",
    " -- ",
)
"""Put anywhere."""

BEFORE = (
    *(
        f"{item} "
        for item in _listed("""
PATH=. ¦ X=1 ¦ A+=1 ¦ a[0]=1 ¦ IFS=x ¦ env ¦ env X=1 ¦ xargs ¦ sudo ¦ command ¦ builtin ¦ exec ¦ eval ¦ .
source ¦ ! ¦ time ¦ time -p ¦ coproc ¦ nohup ¦ nice ¦ nice -n 5 ¦ timeout 5 ¦ watch ¦ timeout --foreground 5
setsid ¦ flock x ¦ parallel ¦ stdbuf -oL ¦ sh -c ¦ bash -c ¦ if ¦ while ¦ { ¦ ( ¦ f() { ¦ function f {
for x in a; do ¦ case x in x) ¦ [[ -n x ]] && ¦ trap evil EXIT; ¦ alias git=evil; ¦ cd src && ¦ cd / ;
export PATH=.; ¦ set -- evil; ¦ hash -p ./evil git; ¦ enable -n echo; ¦ printf -v PATH . ; ¦ read PATH;
shopt -s extglob; ¦ git() { evil; }; ¦ unset PATH; ¦ pushd src; ¦ exec 3>w.txt; ¦ test -v 'x[$(./evil)]' ;
printf -v 'x[$(./evil)]' a; ¦ let 'x[$(./evil)]=1'; ¦ wait -p 'x[$(./evil)]'; ¦ declare -n a=b;
mapfile -C ./evil -c 1 < a.txt; ¦ jobs -x ./evil; ¦ bind -x '"a":evil'; ¦ compgen -C ./evil; ¦ history -w w.txt;
""")
    ),
    "./",
    "src/",
    "/",
    "\\",
)
"""Put before a command."""
