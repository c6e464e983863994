"""The table against the real programs: each word starts a program or writes elsewhere, and prompts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ..limits import LIMIT
from .making import judged, run, split

# Each line runs in a folder with a repository, some files and `./evil`, which writes the file `PROOF`. Where the line
# has its effect by itself, that is named after `->`.
_CASES = r"""
git -c alias.x='!./evil' x ¦ git --exec-path=bin x ¦ git -C sub log -> ok
git --git-dir=.git --work-tree=sub status -> ok ¦ git --config-env=alias.x=EVIL x
git fetch --upload-pack=./evil origin ¦ git fetch --upl=./evil origin ¦ git ls-remote --upload-pack ./evil .
git push --receive-pack=./evil origin HEAD ¦ git push --exec=./evil origin HEAD
git archive --remote=. --exec=./evil HEAD ¦ git grep --open-files-in-pager=./evil x ¦ git grep -O./evil x
git grep -nO./evil x ¦ git rebase --exec ./evil HEAD~1 ¦ git rebase -x ./evil HEAD~1
git rebase --exe=./evil HEAD~1 ¦ git submodule foreach ./evil -> ok
git filter-branch --tree-filter 'echo x > "$PROOF"' HEAD ¦ git difftool -y -x ./evil HEAD~1
git config alias.y '!./evil' -> .git/config ¦ git config --add a.b c -> .git/config
git log --output=PROOF ¦ git archive -o PROOF HEAD ¦ git format-patch -o out HEAD~1 -> out/0001-2.patch
git format-patch --output-directory=out HEAD~1 -> out/0001-2.patch ¦ git clone . copy -> copy/a.txt
git worktree add tree -> tree/a.txt ¦ git remote add x ./y -> .git/config
git init --template=templates fresh -> fresh/.git/hooks/x ¦ git init --bare bare -> bare/HEAD
git apply add.patch -> AGENTS.md ¦ git bisect start HEAD HEAD~1 && git bisect run ./evil
find . -name a.txt -exec ./evil {} + ¦ find . -name a.txt -execdir {}/../evil ';' -> ok
find . -name b.txt -delete -> !b.txt ¦ find . -name a.txt -fprint PROOF ¦ find . -name a.txt -fprintf PROOF %p
find . -fprint0 PROOF ¦ find . -fls PROOF ¦ sed -i s/1/2/ a.txt -> =a.txt
sed --in-place s/1/2/ a.txt -> =a.txt ¦ sed -ni p a.txt -> ok ¦ sed 's/1/.\/evil/e' a.txt
sed '1e ./evil' a.txt ¦ sed 'w PROOF' a.txt ¦ sed 's/1/2/w PROOF' a.txt ¦ sed -f script.sed a.txt
sed -e p -e '1e ./evil' a.txt ¦ sed -es/1/2/wPROOF a.txt ¦ sed --expression='1e ./evil' a.txt
sed -l 5 '1e ./evil' a.txt ¦ awk 'BEGIN{system("./evil")}' ¦ awk 'BEGIN{print 1 | "./evil"}'
awk 'BEGIN{print 1 > "PROOF"}' ¦ awk -f script.awk ¦ awk 'BEGIN{"./evil" | getline}'
tar -cf x.tar --checkpoint=1 --checkpoint-action=exec=./evil a.txt ¦ tar -I ./evil -cf x.tar a.txt
tar cIf ./evil x.tar a.txt ¦ tar --use-compress-program=./evil -cf x.tar a.txt
tar -xf a.tar --to-command=./evil ¦ tar -xf a.tar -> from-tar ¦ tar xf a.tar -> from-tar
tar --extract -f a.tar -> from-tar ¦ tar -f a.tar --get -> from-tar ¦ tar -cMf x.tar -L 10 -F ./evil big
sort -o PROOF a.txt ¦ sort --output=PROOF a.txt ¦ sort --out PROOF a.txt ¦ sort -ruoPROOF a.txt
sort -S 1k --compress-prog=./evil big ¦ cp -r data/. . -> .hidden
cp -a data/. . -> .hidden ¦ cp -R data/. . -> .hidden ¦ cp --recursive data/. . -> .hidden
cp data/* . -> visible ¦ mv data/* . -> visible ¦ cp -b -S d b.txt AGENTS.m -> AGENTS.md
install -b -S d b.txt AGENTS.m -> AGENTS.md ¦ tee out* -> =out1 ¦ timeout --foreground 5 ./evil ¦ env ./evil
xargs ./evil ¦ sh -c ./evil ¦ bash -c ./evil ¦ bash evil ¦ eval ./evil ¦ nice -n 1 -- ./evil ¦ exec ./evil
command -- ./evil ¦ trap ./evil EXIT ¦ setsid ./evil ¦ flock out1 ./evil ¦ printf -v 'x[$(./evil)]' a
test -v 'x[$(./evil)]' ¦ make SHELL=./evil all ¦ make -f Other ¦ make -C sub
make --eval='$(shell ./evil)' all ¦ rsync -e ./evil h:x y ¦ rsync -a data/ . -> .hidden
unzip a.zip -> from-zip ¦ zip -T -TT ./evil x.zip a.txt ¦ patch -p1 -i add.patch -> AGENTS.md
rg --pre ./evil 1 . ¦ fd -x ./evil ¦ fd -X ./evil ¦ curl -o PROOF file:///etc/hostname ¦ curl -sKcurlrc
curl -sD PROOF file:///etc/hostname ¦ wget -O PROOF http://127.0.0.1:9/
git merge-index ./evil -a -> ok ¦ git clone -u './evil;git-upload-pack' . sub2
git config core.hooksPath --list -> .git/config ¦ make -E '$(shell ./evil)' all
wget --use-askpass=./evil http://u@127.0.0.1:9/ ¦ tree -o PROOF ¦ file -C -m magic -> magic.mgc
"""
CASES = split(_CASES)

_FORMS = ("rsync", "unzip")  # a rule for the program spells the form out
_PREPARE = r"""
set -e
printf '#!/bin/sh\necho ran > "$PROOF"\n' > evil; chmod +x evil
mkdir bin data sub templates templates/hooks; cp evil bin/git-x
echo 1 > a.txt; echo 2 > b.txt; echo AGENTS > AGENTS.m; : > out1; echo x > data/visible
echo x > data/.hidden; : > templates/hooks/x
echo '1e ./evil' > script.sed; echo 'BEGIN{system("./evil")}' > script.awk; seq 2000 > big
echo 'output = PROOF
url = file:///etc/hostname' > curlrc; echo '0 string x y' > magic
printf 'all:\n\t./evil\n' > Other; cp Other sub/Makefile; cp evil sub; printf 'all:\n\techo\n' > Makefile
echo x > from-tar; tar -cf a.tar from-tar; rm from-tar
echo x > from-zip; (zip -q a.zip from-zip || true); rm from-zip
git init -q -b main . && git add a.txt && git commit -qm 1 && echo x >> a.txt
 git commit -qam 2 && git remote add origin .
printf -- '--- /dev/null\n+++ b/AGENTS.md\n@@ -0,0 +1 @@\n+x\n' > add.patch
"""
_ENVIRONMENT = {
    **{"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "a", "EVIL": "!./evil"},
    **{"GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_EDITOR": "true"},
    **{"FILTER_BRANCH_SQUELCH_WARNING": "1", "LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0"},
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("referee") / "prepared"
    folder.mkdir()
    done = _bash(folder, _PREPARE)
    assert done.returncode == 0, done.stderr
    return folder


def _bash(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **_ENVIRONMENT, "HOME": str(folder), "PROOF": str(folder / "PROOF")}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT, input="x\n"
    )


@pytest.mark.parametrize("case", CASES)
def test_a_word_of_the_table_has_its_effect_and_prompts(case: str, prepared: Path, tmp_path: Path) -> None:
    line, _, proof = case.partition(" -> ")
    program = line.split()[0]
    rule = f"{program} *" if program not in _FORMS else "*"
    assert judged(run(line), allow=f"Bash({rule}); Bash(git bisect start *)").outcome == "ask"
    if not shutil.which(program) and program not in ("eval", "exec", "trap", "command"):
        pytest.skip(f"{program} is not installed")
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder, symlinks=True)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = _bash(folder, line)
    target = folder / proof.lstrip("!=")
    match proof[:1]:
        case "!":
            assert not target.exists(), done
        case "=":
            assert target.read_bytes() != before[target], done
        case _ if proof == "ok":
            assert done.returncode == 0, done
        case _:
            changed = folder / (proof or "PROOF")
            assert changed.exists(), done
            assert before.get(changed) != changed.read_bytes(), done
