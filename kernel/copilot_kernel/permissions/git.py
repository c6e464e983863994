"""Git: which subcommands, with which options, run nothing but git and stay in the repository.

A list of what is harmless, since what is not is long, differs between versions, and may be abbreviated. Programs that
the user's own configuration names (editor, pager, hooks, filters, credentials) are the user's and count as git.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from .accepted import Accepted, accepted
from .remotes import NETWORK, OUTSIDE, USUAL, address_hides
from .sensitive import is_never_written

_SHOWING = """
    -p -u -s -w -b -a -z -r -t -i -E -F -P -R -q -# -n: -U: -S: -G: -L: -M: -C: -c --cc --patch --no-patch --stat
    --numstat --shortstat --dirstat --summary --name-only --name-status --raw --check --color --no-color --word-diff
    --color-words --word-diff-regex --unified --minimal --patience --histogram --diff-algorithm --diff-filter
    --find-renames --find-copies --no-renames --no-prefix --full-index --binary --abbrev --abbrev-commit
    --no-abbrev-commit --text --exit-code --quiet --ignore-space-change --ignore-all-space --ignore-blank-lines
    --ignore-space-at-eol --relative --function-context --no-ext-diff --no-textconv --no-index --cached --staged
    --merge-base --submodule --compact-summary --oneline --graph --all --branches --tags --remotes --decorate
    --no-decorate --source --since --until --after --before --author --committer --grep --all-match --invert-grep
    --format --pretty --date --relative-date --max-count --skip --follow --merges --no-merges --min-parents
    --max-parents --first-parent --reverse --topo-order --date-order --boundary --left-right --cherry-pick
    --cherry-mark --ancestry-path --simplify-by-decoration --full-history --count --walk-reflogs -g --notes
    --no-notes --pickaxe-regex --pickaxe-all --regexp-ignore-case --no-walk --extended-regexp
    --fixed-strings --perl-regexp --objects --parents --children --no-commit-id --root --ours --theirs
"""

SUBCOMMANDS = {
    "status": """
        -s -b -u -z -v --short --branch --porcelain --long --untracked-files --ignored --show-stash --ahead-behind
        --no-ahead-behind --renames --no-renames --column
    """,
    "diff": _SHOWING,
    "log": _SHOWING,
    "show": _SHOWING,
    "whatchanged": _SHOWING,
    "reflog": _SHOWING,
    "diff-tree": _SHOWING,
    "diff-index": _SHOWING,
    "diff-files": _SHOWING,
    "rev-list": _SHOWING,
    "shortlog": "-s -n -e -c --summary --numbered --email --no-merges --since --until --all --group --author",
    "add": "-A -u -v -n -f -N --all --update --verbose --dry-run --force --intent-to-add --ignore-errors --no-all",
    "commit": """
        -a -q -v -s -n -m: -F: -C: --all --quiet --verbose --signoff --no-verify --message --file --amend --no-edit
        --allow-empty --allow-empty-message --author --date --dry-run --short --fixup --squash --reuse-message
        --no-gpg-sign --trailer
    """,
    "branch": """
        -a -r -v -d -D -m -M -f -q -l -c -u: --all --remotes --verbose --delete --move --copy --force --list --quiet
        --show-current --merged --no-merged --contains --no-contains --points-at --sort --format --track --no-track
        --set-upstream-to --unset-upstream --color --no-color --column --abbrev
    """,
    "checkout": """
        -q -f -t -b: -B: --quiet --force --detach --track --no-track --ours --theirs --orphan --guess --progress
    """,
    "switch": """
        -q -f -d -t -c: -C: --quiet --detach --create --force-create --discard-changes --track --no-track --orphan
    """,
    "restore": "-q -S -W -s: --quiet --staged --worktree --source --ours --theirs --ignore-unmerged",
    "reset": "-q -N --quiet --soft --mixed --hard --keep --merge",
    "rm": "-r -f -n -q --cached --force --dry-run --quiet --ignore-unmatch",
    "mv": "-f -k -n -v --force --dry-run --verbose",
    "clean": "-n -f -d -x -X -q -e: --dry-run --force --quiet --exclude",
    "stash": """
        -u -a -k -q -p -m: --include-untracked --all --keep-index --no-keep-index --quiet --message --index --staged
        --stat
    """,
    "tag": """
        -a -d -l -f -m: -F: -n: -n --annotate --delete --list --force --message --file --sort --contains --no-contains
        --merged --no-merged --points-at --format --column
    """,
    "fetch": """
        -p -t -q -v -f -n -a -P -4 -6 --prune --prune-tags --all --tags --no-tags --depth --deepen --unshallow --dry-run
        --quiet --verbose --force --progress --multiple --append --shallow-since --refetch
    """,
    "pull": """
        -q -v -r -f -t -p -n --rebase --no-rebase --ff --ff-only --no-ff --autostash --no-autostash --quiet --verbose
        --all --tags --prune --no-edit --no-commit --squash --stat --no-stat --depth --progress
    """,
    "push": """
        -u -f -q -v -d -n -4 -6 --set-upstream --force --force-with-lease --force-if-includes --tags --follow-tags
        --delete --dry-run --all --mirror --prune --quiet --verbose --porcelain --progress --atomic --no-verify
    """,
    "clone": """
        -q -v -n -b: --quiet --verbose --depth --branch --single-branch --no-single-branch --no-tags --no-checkout
        --bare --mirror --filter --sparse --progress --shallow-since --local --no-hardlinks --dissociate
    """,
    "ls-remote": "-h -t -q --heads --branches --tags --refs --quiet --get-url --exit-code --symref --sort",
    "remote": "-v -t: -m: --verbose --push --all --tags --no-tags --delete --add --dry-run -n",
    "merge": """
        -n -q -v -m: -X: -F: --ff --no-ff --ff-only --squash --no-squash --commit --no-commit --no-edit --abort
        --continue --quit --stat --no-stat --autostash --quiet --verbose --message --file --strategy-option
        --allow-unrelated-histories --signoff --log --no-verify
    """,
    "rebase": """
        -q -v -f --onto --abort --continue --skip --quit --autostash --no-autostash --quiet --verbose --root --keep-base
        --fork-point --no-fork-point --autosquash --no-autosquash --update-refs --stat --no-stat --force-rebase --no-ff
        --rebase-merges --show-current-patch --empty --keep-empty
    """,
    "cherry-pick": """
        -n -x -s -m: -X: --no-commit --mainline --abort --continue --skip --quit --ff --signoff --allow-empty
    """,
    "revert": "-n -s -m: -X: --no-commit --no-edit --mainline --abort --continue --skip --quit --signoff",
    "bisect": "",
    "blame": """
        -w -s -e -l -t -f -n -p -c -b -L: -M: -C: --date --porcelain --line-porcelain --root --show-name --show-number
        --show-email --color-lines --color-by-age --since --abbrev --first-parent --ignore-rev
    """,
    "grep": """
        -n -i -l -L -w -c -E -F -G -P -v -h -H -o -r -q -z -p -W -I -a -e: -m: -A: -B: -C: -# --cached --untracked
        --no-index --count --line-number --column --ignore-case --files-with-matches --files-without-match --name-only
        --and --or --not --max-depth --max-count --show-function --function-context --word-regexp --extended-regexp
        --fixed-strings --perl-regexp --basic-regexp --heading --break --color --no-color --recursive --no-recursive
        --invert-match --only-matching --full-name --quiet --context --after-context --before-context --text --null
        --all-match
    """,
    "describe": """
        --tags --all --always --dirty --broken --long --abbrev --match --exclude --exact-match --contains --candidates
    """,
    "rev-parse": """
        -q --quiet --abbrev-ref --short --verify --symbolic --symbolic-full-name --show-toplevel --show-prefix
        --show-cdup --git-dir --absolute-git-dir --git-common-dir --git-path --is-inside-work-tree --is-inside-git-dir
        --is-bare-repository --is-shallow-repository --show-superproject-working-tree --all --branches --tags --remotes
        --since --until --revs-only --no-revs --flags --no-flags --default --path-format
    """,
    "ls-files": """
        -c -d -m -o -s -u -i -k -t -v -z -x: --cached --deleted --modified --others --stage --unmerged --ignored
        --exclude-standard --exclude --directory --no-empty-directory --error-unmatch --full-name --eol --deduplicate
    """,
    "ls-tree": """
        -r -d -t -l -z --name-only --name-status --long --full-name --full-tree --abbrev --object-only --format
    """,
    "cat-file": "-t -s -p -e --batch --batch-check",
    "show-ref": "-d -s -q --heads --tags --head --dereference --hash --verify --quiet --abbrev",
    "for-each-ref": "--count --sort --format --points-at --merged --no-merged --contains --no-contains --color",
    "merge-base": "-a --all --octopus --is-ancestor --independent --fork-point",
    "name-rev": "--tags --refs --all --name-only --always --no-undefined",
    "check-ignore": "-q -v -n -z --quiet --verbose --non-matching --no-index --stdin",
    "check-attr": "-a -z --all --cached --stdin",
    "count-objects": "-v -H --verbose --human-readable",
    "apply": """
        -R -v -q -N -3 -p: -C: --check --stat --numstat --summary --reverse --index --cached --3way --reject --verbose
        --recount --whitespace --ignore-whitespace --include --exclude
    """,
    "init": "-q -b: --quiet --initial-branch",
    "worktree": "--porcelain -v -z",
    "submodule": "--quiet --cached --recursive --init --depth",
    "notes": "",
    "config": """
        -l -z --list --get --get-all --get-regexp --get-urlmatch --global --local --system --worktree --show-origin
        --show-scope --name-only --null --includes --no-includes --type --default --bool --int --path
    """,
    "cherry": "-v --abbrev",
    "range-diff": _SHOWING,
    "version": "--build-options",
}
"""Each with the options that are known to be harmless."""

_DEEDS = {
    "stash": {"push", "pop", "list", "show", "apply", "drop", "clear", "branch"},
    "remote": {"show", "get-url", "add", "set-url", "set-branches", "set-head", "prune"},
    "bisect": {"start", "good", "bad", "new", "old", "reset", "log", "skip", "terms"},
    "reflog": {"show"},
    "worktree": {"list"},
    "submodule": {"status", "summary", "init", "update"},
    "notes": {"list", "show"},
}
"""What those that have subcommands of their own may do; the first word after them that is no option."""

_OUTER = accepted("-P --no-pager --version --no-optional-locks --literal-pathspecs --no-replace-objects")

_OUTER_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})
"""These take the next word; only a rule that spells them out allows them."""

_NEVER_FREE = ("--exec", "--upload-pack", "--receive-pack", "--output", "--output-directory", "--extcmd", "--template")
"""Also in their abbreviations."""

_LOOKING = frozenset({"--check", "--stat", "--numstat", "--summary"})
"""With one of these, git only looks at a patch. Further behind it may be the value of an option, or a file."""

_READING = frozenset({"--get", "--get-all", "--get-regexp", "--get-urlmatch", "-l", "--list"})
"""With one of these, git only reads settings."""
_WHERE = accepted("-z --null --global --local --system --worktree --show-origin --show-scope --name-only --includes")
"""These may stand in front of them; they take no value."""

_OUTSIDE = re.compile(r"[/~]|(.*/)?\.\.(/|$)")


def git_hides(
    words: Sequence[str], free: frozenset[int], globs: frozenset[str], remotes: frozenset[str] = USUAL
) -> str:
    """Why `git …` may run or write more than it says; empty: it does not.

    `free`: what no rule spells out, by index. `remotes`: the names that stand for addresses.
    """
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if at in free and not _OUTER.covers(words[at]):
            return f"git {words[at]} may start other programs or leave the repository"
        if at not in free and words[at] in _OUTER_VALUED:
            if words[at] == "-c" and at + 1 in free:
                return "git -c changes what git runs"
            at += 1
        at += 1
    return _subcommand_hides(words, at, free, globs, remotes) if at < len(words) else ""


def _subcommand_hides(
    words: Sequence[str], at: int, free: frozenset[int], globs: frozenset[str], remotes: frozenset[str]
) -> str:
    name, rest = words[at], [words[index] for index in range(at + 1, len(words)) if index in free]
    if inside := next((word for word in rest if _is_inside(word, word in globs)), ""):
        return f"git {name} {inside} may reach what belongs to Git itself, such as hooks"
    options = _options(name)
    if not options:
        return f"git {name} is not on the list of known subcommands" if at in free else _unlisted_hides(name, rest)
    if name in _DEEDS and at + 1 < len(words) and at + 1 not in free and words[at + 1] not in _DEEDS[name]:
        return ""
    if option := next((word for word in rest if not options.covers(word)), ""):
        return f"git {name} {option} may start other programs or write elsewhere"
    if name in _DEEDS and (deed := _deed(words, at, free)) and deed not in _DEEDS[name]:
        return f"git {name} {deed} may start other programs or change more than it says"
    if name == "apply" and at in free and not _LOOKING.intersection(words[at + 1 : at + 2]):
        return "git apply may change any file of the project, as the patch says"
    if name in NETWORK and not _first_glob(name, rest, globs):
        behind = words[at + 1 :]
        return address_hides(name, behind, rest, all(map(options.covers, behind)), globs, remotes)
    return _positional_hides(name, rest, globs)


def _is_inside(word: str, is_glob: bool) -> bool:
    """Whether a part of the path may be called `.git`, also as the value of an option."""
    parts = re.split(r"[/\\=:]", word)
    return is_never_written(parts) or (is_glob and any(re.match(r"\.[^/]*[*?\[]", part) for part in parts))


def _unlisted_hides(name: str, rest: list[str]) -> str:
    """Of a subcommand that only a rule names, the options that start a program or name a file to write are known."""
    for word in rest:
        option = word.split("=")[0]
        if word.startswith("-o") or (len(option) > 2 and any(known.startswith(option) for known in _NEVER_FREE)):
            return f"git {name} {word} may start other programs or write elsewhere"
    return ""


def _positional_hides(name: str, rest: list[str], globs: frozenset[str]) -> str:
    if glob := _first_glob(name, rest, globs):
        return f"{glob} may become an option of git, by the name of a file; write ./{glob}"
    if name == "init" and (place := next(filter(OUTSIDE.match, rest), "")):
        return f"git {name} {place} may leave the folder"
    if name in ("diff", "grep") and "--no-index" in rest:
        return f"git {name} --no-index shows all files of a folder, also those that Git leaves out"
    if name == "config" and not _only_reads(rest):
        return "git config changes what git runs"
    return ""


def _first_glob(name: str, rest: list[str], globs: frozenset[str]) -> str:
    return next((word for word in rest if word in globs and word[0] in "*?[" and not _is_added(name, word)), "")


def _is_added(name: str, glob: str) -> bool:
    """`git add *.py`: none of the options of `add` that matter can end like a file name."""
    return name == "add" and re.fullmatch(r"\*\.\w+", glob) is not None


def _deed(words: Sequence[str], at: int, free: frozenset[int]) -> str:
    named = next((i for i in range(at + 1, len(words)) if not words[i].startswith("-")), 0)
    return words[named] if named in free else ""


def _only_reads(rest: list[str]) -> bool:
    """Behind the first word that is no option, `git config` takes whatever comes as the value that it writes."""
    first = next((at for at, word in enumerate(rest) if word in _READING or not _is_where(word)), len(rest))
    if "--" in rest or first == len(rest):
        return False
    is_key = not rest[first].startswith("-") and "." in rest[first]
    return rest[first] in _READING or (is_key and first == len(rest) - 1)


def _is_where(word: str) -> bool:
    return word.startswith(("--type=", "--default=")) or (word.startswith("-") and _WHERE.covers(word))


@cache
def _options(name: str) -> Accepted | None:
    return accepted(SUBCOMMANDS[name]) if name in SUBCOMMANDS else None
