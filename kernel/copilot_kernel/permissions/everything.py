"""Rules that mean everything: of programs whose business it is to run others, or code from their words."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

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
_OPEN = """
    pip pip+install python+-m+pip python+-m+pip+install uv+pip uv+pip+install uv+add uv+tool+install
    npm+install npm+i npm+add pnpm+install pnpm+add yarn+add bun+install bun+add poetry+add pdm+add pixi+add
    conda+install mamba+install pipx+install cargo+install go+install go+get gem gem+install bundle
    bundle+exec rake composer dotnet dotnet+run mvn gradle gradlew cmake bazel brew brew+install apt
    apt+install apt-get apt-get+install dnf yum pacman apk snap nix nix+run nix-shell guix tmux screen mise
    mise+exec mise+x osascript powershell cmd py
"""
"""These install what they are told, or run it, but by themselves no more than the project says."""


def _prefixes(listed: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(name.split("+")) for name in listed.split())


_PREFIXES, _OPEN_PREFIXES = _prefixes(_RUNNERS), _prefixes(_OPEN)
_WRAPPERS = _prefixes("""
    env xargs sudo doas su timeout time nice nohup stdbuf setsid watch flock parallel ionice chrt taskset chroot unshare
    nsenter strace ltrace script entr unbuffer systemd-run busybox uv+run uv+tool+run uvx poetry+run pdm+run pixi+run
    hatch+run conda+run mamba+run micromamba+run rye+run npx bunx pnpx npm+exec pnpm+exec bundle+exec mise+exec nix+run
    docker+run docker+exec docker+compose+run docker+compose+exec podman+run podman+exec kubectl+exec
""")
"""They start the program that stands behind their options and values."""
_VALUE = re.compile(r"-.*|\d[\d.]*[smhd]?|\w+=.*", re.DOTALL)
_AS_OTHERS = frozenset({"sudo", "doas", "su"})

_HELD = frozenset({"eval", "source", ".", "exec", "builtin", "export", "alias", "trap", "set", "cd"})


def runs_anything(words: Sequence[str | None], is_open: bool) -> str:
    """In words, why a rule of these words (None: any one) allows much more than it seems to; empty: it does not."""
    if not words or words[0] is None:
        return "this rule allows every program"
    program = _name(words[0])
    named = (program, *words[1:])
    if program in _HELD and is_open:
        return f"{program} acts on the shell itself: only a rule that spells out the whole command allows it"
    if program in _AS_OTHERS and is_open:
        return f"{program} acts with the rights of another user: this rule allows much more than it seems to"
    if _is_anything(named, is_open) or any(_is_anything(inner, is_open) for inner in _started(named)):
        return (
            f"{' '.join(word or '*' for word in words)} can run any other program or code: this rule allows everything"
        )
    return ""


def _is_anything(named: Sequence[str | None], is_open: bool) -> bool:
    prefixes = _PREFIXES | _OPEN_PREFIXES if is_open or None in named else _PREFIXES
    return any(tuple(named[: len(prefix)]) == prefix and _is_left_open(named[len(prefix) :]) for prefix in prefixes)


def _started(named: tuple[str | None, ...]) -> Iterator[tuple[str | None, ...]]:
    """From each word behind a wrapper on: which of them is the program, depends on the wrapper's options."""
    if any(named[: len(prefix)] == prefix for prefix in _WRAPPERS):
        yield from ((_name(word), *named[at + 1 :]) for at, word in enumerate(named) if at and word)


def _name(word: str) -> str:
    """Without its path and its version."""
    return re.sub(r"[\d.]+$", "", posixpath.basename(word)) or word


def _is_left_open(rest: Sequence[str | None]) -> bool:
    """True if what is run is not spelled out: nothing but options stands before the first `*`, or before the end.

    Numbers, durations and assignments are the values of options.
    """
    first = next((word for word in rest if word is None or not _VALUE.fullmatch(word)), None)
    return first is None
