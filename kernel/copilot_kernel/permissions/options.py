"""Closed lists of options for programs that rules commonly name and that can start others, or write, by an option."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .accepted import Accepted, accepted
from .projects import PROJECT_ALIASES, PROJECTS

_ACCEPTED = PROJECTS | {
    "find": """
        -H -L -P -name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname -type -xtype
        -size -empty -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -newerct -newerat -user
        -group -uid -gid -nouser -nogroup -perm -readable -writable -executable -links -inum -samefile -fstype -maxdepth
        -mindepth -depth -d -xdev -mount -follow -daystart -prune -quit -print -print0 -printf -ls -true -false -not
        -and -or -a -o -noleaf -ignore_readdir_race -warn -nowarn -used -#
    """,
    "fd": """
        -H -I -u -s -i -g -F -a -L -p -0 -q -1 -t: -e: -E: -d: -c: -S: -j: --hidden --no-ignore --unrestricted --type
        --extension --exclude --max-depth --min-depth --exact-depth --glob --fixed-strings --absolute-path --full-path
        --follow --size --changed-within --changed-before --owner --color --print0 --max-results --quiet
        --case-sensitive --ignore-case
    """,
    "rg": """
        -n -N -i -s -S -w -x -v -l -L -c -o -F -P -U -u -H -I -h -q -a -0 -. -p -b -V -e: -g: -t: -T: -A: -B: -C: -m:
        -r: -d: -j: -M: --files --type --type-not --type-list --glob --iglob --line-number --no-line-number
        --ignore-case --smart-case --case-sensitive --word-regexp --line-regexp --invert-match --files-with-matches
        --files-without-match --count --count-matches --only-matching --fixed-strings --pcre2 --multiline
        --multiline-dotall --hidden --no-ignore --no-ignore-vcs --follow --max-depth --max-count --max-filesize
        --max-columns --context --after-context --before-context --heading --no-heading --with-filename --no-filename
        --color --json --stats --sort --sortr --text --trim --vimgrep --column --replace --regexp --quiet --null
        --threads --unrestricted --passthru --version
    """,
    "sort": """
        -n -r -u -f -h -V -g -M -b -d -i -s -z -c -C -m -R -k: -t: -S: --numeric-sort --reverse --unique --ignore-case
        --human-numeric-sort --version-sort --general-numeric-sort --month-sort --key --field-separator --stable --check
        --merge --zero-terminated --parallel --buffer-size --random-sort --ignore-leading-blanks --dictionary-order
    """,
    "uniq": """
        -c -d -D -u -i -z -f: -s: -w: --count --repeated --unique --ignore-case --skip-fields --skip-chars --check-chars
    """,
    "shuf": "-n: -e -i: -r -z --head-count --echo --input-range --repeat --zero-terminated",
    "split": """
        -l: -b: -C: -n: -a: -d -x -e --lines --bytes --number --suffix-length --numeric-suffixes --additional-suffix
        --verbose
    """,
    "diff": """
        -u -c -n -y -q -r -N -a -b -B -w -i -s -t -p -e -d -U: -C: -W: -I: -x: --unified --brief --side-by-side
        --recursive --new-file --text --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines
        --color --width --suppress-common-lines --strip-trailing-cr --exclude --label --minimal --report-identical-files
    """,
    "tar": """
        -c -x -t -v -z -j -J -k -p -m -a -h -O -r -u -f: -C: -b: --create --extract --list --verbose --gzip --bzip2 --xz
        --zstd --file --directory --exclude --strip-components --wildcards --auto-compress --keep-old-files
        --no-same-owner --exclude-vcs --totals --to-stdout --get --diff --compare
    """,
    "zip": "-r -q -v -j -u -f -d -0 -1 -6 -9 -y -x -i -@",
    "rsync": """
        -a -v -z -n -r -h -P -u -t -p -l -o -g -D -q -i -c -H -A -X -S -x -R -W -L -k --archive --verbose --compress
        --dry-run --recursive --human-readable --progress --partial --update --times --perms --links --delete
        --delete-after --delete-excluded --exclude --exclude-from --include --include-from --filter --stats
        --itemize-changes --checksum --size-only --ignore-existing --existing --max-size --min-size --bwlimit --info
        --no-perms --no-owner --no-group
    """,
    "ssh": "-p: -i: -l: -v -q -T -t -n -N -4 -6 -C -x -a -V",
    "scp": "-r -p -q -v -C -B -P: -i: -4 -6 -3",
    "make": """
        -n -k -s -B -q -i -w -r -R -S -j: -l: -# --dry-run --just-print --keep-going --silent --quiet --always-make
        --jobs --question --no-print-directory --print-directory --trace --version --debug --warn-undefined-variables
    """,
    "less": "-N -S -R -F -X -E -e -i -I -n -r -s -g -M -m -Q -q --version",
    "man": "-k -f -a -w --where --path --apropos --whatis",
    "curl": """
        -s -S -f -L -I -i -v -k -g -4 -6 -N -G -# -H: -X: -d: -A: -e: -m: -r: -u: --silent --show-error --fail
        --fail-with-body --location --head --include --verbose --insecure --header --request --data --data-raw
        --data-urlencode --data-binary --json --user-agent --referer --max-time --connect-timeout --retry --retry-delay
        --retry-all-errors --compressed --get --url --range --http1.1 --http2 --no-progress-meter --progress-bar --ipv4
        --ipv6 --user --version
    """,
    "wget": """
        -q -v -S -t: -T: -nv -nc --quiet --verbose --no-verbose --no-clobber --spider --server-response
        --tries --timeout --wait --header --user-agent --no-check-certificate --show-progress --progress --version
    """,
    "sed": """
        -n -E -r -s -u -z -e --quiet --silent --regexp-extended --separate --unbuffered --null-data --sandbox --posix
    """,
    "awk": "-F: -v: --posix --traditional --re-interval --version --sandbox --csv",
    "jobs": "-l -p -r -s -n",
    "wait": "-n -f",
    "printf": "",
    "test": """
        -f -d -e -r -w -x -s -L -h -n -z -b -c -p -S -t -u -g -k -O -G -N -a -o -eq -ne -lt -le -gt -ge -nt -ot -ef
    """,
    "tree": """
        -a -d -f -l -x -L -P -I -p -s -h -u -g -D -C -n -i -r -t -v -J -X --dirsfirst --noreport --gitignore --prune
        --du -F
    """,
    "xxd": "-a -b -c: -e -g: -i -l: -n: -p -s: -u -ps -plain -#",
    "jq": """
        -r -c -s -n -e -S -a -j -M -C -R --raw-output --compact-output --slurp --null-input --exit-status --sort-keys
        --arg --argjson --args --jsonargs --tab --indent --ascii-output --join-output --raw-input --slurpfile --rawfile
        --seq
    """,
    "iconv": "-f: -t: -l -c -s --from-code --to-code --list",
    "date": "-u -d: -I -R -r: --utc --date --iso-8601 --rfc-3339 --rfc-email --reference",
    "bat": """
        -n -p -P -A -l: -r: -H: --plain --number --language --line-range --style --color --decorations --show-all
        --paging
    """,
    "column": "-t -s: -n -x -c: -N: -o: -J --table --separator --output-separator --table-columns --json",
    "cp": """
        -a -d -f -i -n -p -r -R -u -v -x -H -L -P -T -t: --archive --recursive --force --interactive --no-clobber
        --update --verbose --preserve --no-preserve --dereference --no-dereference --one-file-system --parents --reflink
        --sparse --target-directory --no-target-directory --strip-trailing-slashes --version
    """,
    "mv": """
        -f -i -n -u -v -T -t: --force --interactive --no-clobber --update --verbose --target-directory
        --no-target-directory --strip-trailing-slashes --version
    """,
    "ln": """
        -s -f -i -n -r -v -h -L -P -T -t: --symbolic --force --interactive --no-dereference --relative --verbose
        --target-directory --no-target-directory --version
    """,
    "install": """
        -c -C -d -D -p -v -T -m: -o: -g: -t: --mode --owner --group --directory --compare --preserve-timestamps
        --target-directory --no-target-directory --verbose --version
    """,
    "unzip": "-l -v -t -p -c -z -Z -1 -q -o -n -j -u -f -a -b -C -L -h -d:",
}

ALIASES = (
    PROJECT_ALIASES
    | {
        "gawk": "awk",
        "mawk": "awk",
        "nawk": "awk",
        "gsed": "sed",
        "gtar": "tar",
        "gcp": "cp",
        "gmv": "mv",
        "gln": "ln",
        "ginstall": "install",
        "bsdtar": "tar",
        "fdfind": "fd",
    }
    | {"gfind": "find", "gmake": "make", "gsort": "sort", "[": "test", "batcat": "bat", "gdate": "date", "more": "less"}
)
"""Other names of the same programs."""


@cache
def options_of(program: str) -> Accepted | None:
    """None: nothing is held back from this program."""
    listed = _ACCEPTED.get(ALIASES.get(program, program))
    return None if listed is None else accepted(listed)


@dataclass(frozen=True, slots=True)
class Refused:
    """`letters` are refused among others too (`-xc`); of `names`, with one dash or two, also what begins them.

    Unless the program takes whole names only (`is_exact`), or the beginning is a name of its own (`harmless`).
    """

    letters: str
    names: tuple[str, ...]
    harmless: frozenset[str]
    is_exact: bool

    def covers(self, word: str) -> bool:
        if not word.startswith("-"):
            return False
        name = word.split("=")[0].lstrip("-")
        if word[1:2] != "-" and any(letter in name for letter in self.letters):
            return True
        if name in self.names:
            return True
        is_whole = self.is_exact or len(name) < 2 or name in self.harmless
        return not is_whole and any(known.startswith(name) for known in self.names)


_PACKAGES = """
    -C script-shell prefix node-options userconfig globalconfig cwd dir git shell editor viewer browser use-yarnrc
    +global
"""
_REFUSED = {
    "go": """
        = exec toolexec vettool o C w modfile overlay ldflags gcflags asmflags gccgoflags compiler pkgdir
    """,
    "npm": _PACKAGES,
    "pnpm": _PACKAGES,
    "yarn": _PACKAGES,
    "cargo": "= -C config manifest-path target-dir artifact-dir out-dir",
    "ag": "pager",
    "ack": "pager ackrc",
    "mypy": "python-executable config-file install-types custom-typeshed-dir",
    "pylint": "init-hook load-plugins rcfile",
    "pytest": "= -c -o -p rootdir confcutdir config-file override-ini basetemp pdbcls log-file",
    "file": "-C compile magic-file",
}
"""Of programs that run what the project says, the options by which they run or write something else instead.

A second look, also where the words are for the project's script, or the program stands behind another one.
`=`: whole names only; `-C`: a letter; `+global`: harmless, although it begins like another.
"""


@cache
def refused_of(program: str) -> Refused | None:
    """None: no option of this program is known to be of that kind."""
    listed = _REFUSED.get(program, "").split()
    if not listed:
        return None
    return Refused(
        letters="".join(word[1] for word in listed if word[0] == "-"),
        names=tuple(word for word in listed if word[0] not in "-=+"),
        harmless=frozenset(word[1:] for word in listed if word[0] == "+"),
        is_exact="=" in listed,
    )
