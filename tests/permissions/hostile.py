"""What somebody writes who wants another program to run: the material of the mutations."""

from __future__ import annotations

import re


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

TRICKS = {
    "git": _listed(r"""
-c core.pager=evil ¦ -c alias.x='!evil' ¦ --exec-path=. ¦ -C src ¦ --git-dir=x ¦ --work-tree=/ ¦ -p ¦ --paginate
--config-env=core.pager=X ¦ fetch --upload-pack=evil ¦ fetch --upl=evil ¦ push --receive-pack=evil
push --exec=evil ¦ clone -u evil x ¦ clone -uevil x ¦ clone -c core.pager=evil x ¦ clone --config=x=y z
rebase -x evil HEAD~1 ¦ rebase --exec evil ¦ rebase --exe=evil ¦ bisect run evil ¦ grep -Oevil x
grep --open=evil x ¦ grep -nOevil x ¦ grep -e -- -Oevil ¦ difftool -x evil ¦ mergetool ¦ submodule foreach evil
filter-branch x ¦ config alias.x '!evil' ¦ config --add a.b c ¦ config -e ¦ archive --exec=evil x
archive -o w.txt HEAD ¦ log --output=w.txt ¦ diff --outp w.txt ¦ diff --ext-diff ¦ log --textconv
fetch ext::evil ¦ clone evil://x ¦ ls-remote --upload-pack=evil x ¦ send-email x ¦ daemon ¦ x-alias
help -w git ¦ merge -s evil x ¦ merge --strategy=evil ¦ commit -S ¦ tag -s x ¦ instaweb ¦ web--browse
format-patch -o / HEAD ¦ bundle create w.txt HEAD ¦ worktree add /x ¦ init --template=x ¦ remote add x ext::evil
var x ¦ -ccore.pager=evil log ¦ --no-pager -c x=evil log ¦ rev-parse --exec-path ¦ fetch -uevil
pull --upload-pack evil ¦ mv evil .git/hooks/post-checkout ¦ mv evil src/../.git/hooks/x ¦ clone x .git/hooks
mv src/evil .g*/hooks/x ¦ init .git/x ¦ push upstream main ¦ remote add x evil -t a:b ¦ clone evil x
remote set-url origin evil https://example.org/x ¦ checkout-index --prefix=.git/hooks/ -a
"""),
    "find": _listed(r"""
. -exec evil {} + ¦ . -execdir evil \; ¦ . -ok evil \; ¦ . -okdir evil ¦ . -delete ¦ . -fprint w.txt
. -fprintf w.txt x ¦ . -fls w.txt ¦ . -fprint0 w.txt ¦ . -name x -o -exec evil +
"""),
    "sed": _listed(r"""
-i s/a/b/ a.txt ¦ --in-place x a.txt ¦ s/a/b/e a.txt ¦ 1e a.txt ¦ 'w w.txt' a.txt ¦ s/a/b/w ¦ -n -i p ¦ -ni p
-f evil ¦ --file=evil ¦ --in x ¦ -e p -e 'e evil' ¦ '1{e evil' a ¦ 'r x' ¦ -es/a/b/e x ¦ 's/[/]/x/w w.txt' a
-ee a.txt ¦ -nee a.txt ¦ -zee a.txt ¦ -ee d a.txt ¦ -- 1e -e p a.txt
"""),
    "awk": _listed(r"""
'BEGIN{system("evil")}' ¦ '{print|"evil"}' ¦ '{print > "w.txt"}' ¦ -f evil ¦ '"evil"|getline' ¦ -e x
'@load "x"' ¦ -- '-v system("evil")' x ¦ -- '-F system("evil")'
-i inplace x ¦ --file evil ¦ -lx y ¦ -v x=1 'BEGIN{system(x)}'
"""),
    "sort": _listed(r"""
-o w.txt a ¦ --output=w.txt ¦ --out w.txt ¦ --compress-program=evil a ¦ --comp=evil ¦ -ow.txt ¦ -uo w.txt
-T/ a
"""),
    "tar": _listed(r"""
-cf x --to-command=evil y ¦ -I evil -cf x ¦ -cIevil x ¦ --use-compress-program evil
--checkpoint-action=exec=evil ¦ --to=evil ¦ -F evil ¦ cFf evil x ¦ cIf evil x y ¦ -cf host:x y
--rsh-command=evil ¦ --info-script=evil
"""),
    "rg": _listed(r"""
--pre evil x ¦ --pre=evil x ¦ -z x ¦ --search-zip x ¦ --hostname-bin=evil x
"""),
    "uniq": _listed(r"""
a.txt w.txt ¦ - w.txt ¦ -c - w.txt ¦ -- -c w.txt ¦ -c 1 w.txt
"""),
    "pytest": _listed(r"""
-p evil ¦ -xpevil ¦ -c evil ¦ --rootdir=/ ¦ -o addopts=-pevil ¦ --basetemp src ¦ --basete=src ¦ --junitxml=w.txt
--junit-xml w.txt ¦ --junitx w.txt ¦ @evil ¦ -q @evil ¦ --pastebin=all ¦ --debug=w.txt ¦ --cov-report=xml:w.txt
--cov-config=evil ¦ --pdbcls=evil:x ¦ --log-file=w.txt ¦ /tmp/evil ¦ ../other ¦ src/../../other ¦ ~/evil
--cov=/tmp/evil ¦ file:///tmp/evil
"""),
    "python -m pytest": _listed(r"""
-p evil ¦ --junitxml=w.txt ¦ --basetemp=src ¦ @evil ¦ /tmp/evil ¦ ../other ¦ -c evil
"""),
    "ruff check": _listed(r"""
-o w.txt ¦ --output-file=w.txt ¦ --output-fil w.txt ¦ --config=evil ¦ @evil ¦ ../other ¦ --cache-dir=/tmp/x
"""),
    "mkdir": _listed(r"""
-p .git/hooks ¦ -p /tmp/evil ¦ -p ../other ¦ -p src/../.git/x ¦ -p .github/hooks
"""),
    "cat": _listed(r"""
.env ¦ ~/.ssh/id_rsa ¦ .e* ¦ src/../.env ¦ /proc/self/environ ¦ ~/.ss*/x ¦ .env-prod ¦ .env~ ¦ /dev/fd/../environ
src/id_rsa ¦ credentials.json
"""),
    "diff": _listed(r"""
-l a b ¦ --paginate a b
"""),
}
"""Words of a program by which it starts another, or writes."""


BETWEEN = "\0"
"""Stands between two words, since a blank may be in one. In the list below it is `~`."""
OUTER = "outer"
"""Stands before an option that stands before the subcommand."""

_PYTEST = r"""
-\w*p.* -\w*c.* -\w*o.* --rootdir.* --basete.* --ju.* @.* --pa.* --debu.* --cov-report=.*:w.* --cov-con.* --pdbc.*
--log-f.* (?!--ignore)(.*=)?(/|\.\./).* \w+/\.\./\.\./.* file:.*
"""

_NEVER_SAID = {
    "git": r"""
-c.*=.* -\w*c~(core|alias)\..*=.* --conf\w*~.*=.*
outer-(C|p|-paginate)(=.*)?
--?(exec-path|git-dir|work-tree|config-env|up\w+|rec\w+-p\w*|exe\w*|ope\w*|out\w*|ext-d\w*|textc\w*)(=.*)?
-u?x?evil -\w*Oevil bisect~run push~upstream clone~evil origin~evil
difftool mergetool foreach filter-branch config archive (ext|evil):.* send-email
daemon -S -uevil [^\s~]*\.g(it|\*)/(hooks|x)[^\s~]*
""",
    "find": r"""
-(exec|ok|delete|fprint|fls).*
""",
    "sed": r"""
-i.* --in.* -n?i -f --file.* e\sevil 1\{e\sevil .*[\s/]w.*w\.txt s/a/b/[ew] 1e.* -[a-zA-Z]*e[^~]+
""",
    "awk": r"""
.*(system|getline|\|\"evil|evil\"\||@load|print[^}]*w\.txt).* -f --file -i -e -l.*
""",
    "sort": r"""
-\w*o.* --o.* --c.* -T.*
""",
    "tar": r"""
--(to|use|check|rsh|info).* -\w*[IF].* c[IF].* \w+:.*
""",
    "rg": r"""
--pre.* -z --search-zip --hostname.*
""",
    "uniq": r"""
.*~w\.txt
""",
    "pytest": _PYTEST,
    "python": _PYTEST,
    "ruff": r"""
-o.* --output-f.* --config.* --cache-d.* @.* (.*=)?(/|\.\./).*
""",
    "mkdir": r"""
(/|\.\./).* (.*/)?\.git(hub/hooks)?(/.*)?
""",
    "cat": r"""
(.*/)?(\.(env([-\x7e].*)?|ssh)|id_rsa|credentials\.json)(/.*)? /proc/self/.* /dev/.*/\.\./.*
""",
    "diff": r"""
-l --paginate
""",
}
NEVER = {program: re.compile("|".join(words.split()).replace("~", BETWEEN)) for program, words in _NEVER_SAID.items()}
"""Words with which these may never have been started: a second opinion, apart from the lists that are tested."""
