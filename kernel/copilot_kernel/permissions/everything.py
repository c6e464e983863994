"""Rules that mean everything: of programs whose business it is to run others, or code from their words."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

_RUNNERS = """
    bash sh zsh dash ksh fish tcsh pwsh busybox
    python pypy ipython node nodejs deno bun tsx ts-node perl ruby php lua R Rscript julia java groovy scala
    env xargs sudo doas su timeout time nice nohup stdbuf setsid watch flock parallel ionice chrt taskset chroot unshare
    nsenter strace ltrace gdb valgrind script expect entr unbuffer systemd-run at batch crontab ssh
    npx bunx pnpx uvx pipx npm pnpm yarn uv poetry pdm pixi hatch conda mamba micromamba tox nox just make gmake
    go cargo     vi vim nvim emacs ed ex nano sqlite3 psql mysql duckdb docker podman kubectl gh
    jupyter     uv+run uv+tool+run poetry+run pdm+run pixi+run hatch+run conda+run mamba+run micromamba+run
    npm+exec npm+x pnpm+exec
    pnpm+dlx yarn+exec yarn+dlx bun+x bun+run deno+run deno+eval go+run cargo+run docker+run docker+exec podman+run
    podman+exec kubectl+exec pipx+run docker+compose+run docker+compose+exec git+filter-branch git+bisect+run
    git+submodule+foreach git+archive git+difftool git+mergetool git+rebase+-x git+rebase+--exec git+-c
    """
_PREFIXES = frozenset(tuple(name.split("+")) for name in _RUNNERS.split())
_LONGEST = max(len(prefix) for prefix in _PREFIXES)

_HELD = frozenset({"eval", "source", ".", "exec", "builtin", "export", "alias", "trap", "set", "cd"})


def runs_anything(words: Sequence[str | None], is_open: bool) -> str:
    """In words, why a rule of these words (None: any one) allows much more than it seems to; empty: it does not."""
    if not words or words[0] is None:
        return "this rule allows every program"
    program = re.sub(r"[\d.]+$", "", posixpath.basename(words[0])) or words[0]
    named = (program, *words[1:])
    if program in _HELD and is_open:
        return f"{program} acts on the shell itself: only a rule that spells out the whole command allows it"
    if any(named[: len(prefix)] == prefix and _is_left_open(named[len(prefix) :], is_open) for prefix in _PREFIXES):
        return (
            f"{' '.join(word or '*' for word in words)} can run any other program or code: this rule allows everything"
        )
    return ""


def _is_left_open(rest: Sequence[str | None], is_open: bool) -> bool:
    """True if what is run is not spelled out: nothing but options stands before the first `*`, or before the end."""
    first = next((word for word in rest if word is None or not word.startswith("-")), None)
    return first is None
