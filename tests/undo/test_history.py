"""Undo, with real files: what a turn changed is put back, and nothing else is touched."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import partial
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .project import Agent, commit, files_in, make

NAMES = ["a.txt", "b.txt", "src/c.py", "src/deep/d.py", "link", "new.txt", "src/new/e.py", "other"]


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    """The project, without and with a repository."""
    found = []
    for with_git in (False, True):
        root = tmp_path_factory.mktemp("template") / "project"
        root.mkdir()
        make(root)
        if with_git:
            commit(root)
        found.append(root)
    return found


def put(path: Path, text: str) -> None:
    if path.is_dir() and not path.is_symlink():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        path.write_text(text)
    except (FileExistsError, NotADirectoryError):
        pass


def remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def move(path: Path, to: Path) -> None:
    if os.path.lexists(path) and not os.path.lexists(to) and not to.is_relative_to(path):
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            return
        path.rename(to)


def link(path: Path, target: str) -> None:
    if path.parent.is_dir() and not (path.is_dir() and not path.is_symlink()):
        path.unlink(missing_ok=True)
        path.symlink_to(target)


def rights(path: Path, mode: int) -> None:
    if path.is_file() and not path.is_symlink():
        path.chmod(mode)


names = st.sampled_from(NAMES)
actions = st.one_of(
    st.tuples(st.just("put"), names, st.sampled_from(["x\n", "y\r\n", "one\ntwo\n", ""])),
    st.tuples(st.just("remove"), st.sampled_from([*NAMES, "src", "src/deep"])),
    st.tuples(st.just("move"), st.sampled_from([*NAMES, "src"]), st.sampled_from([*NAMES, "moved", "src/moved"])),
    st.tuples(st.just("link"), names, st.sampled_from(["b.txt", "/etc/hostname", "src", "nowhere"])),
    st.tuples(st.just("rights"), names, st.sampled_from([0o600, 0o755, 0o444])),
)
steps = st.lists(st.tuples(st.booleans(), actions), max_size=8)


def act(agent: Agent, by_call: bool, action: tuple) -> tuple[str, ...]:
    """The paths that a call names."""
    what, name, *more = action
    path = agent.root / name
    if what == "move":
        work, kind, named = partial(move, path, agent.root / more[0]), "move", (name, more[0])
    else:
        work = partial({"put": put, "remove": remove, "link": link, "rights": rights}[what], path, *more)
        kind, named = "delete" if what == "remove" else "edit", (name,)
    if by_call and (what != "remove" or os.path.lexists(path)):
        agent.call(kind, work, *named)
        return named
    agent.command(work)
    return ()


async def turn_and_undo(root: Path, state: Path, done: list, *, with_git: bool) -> None:
    before, agent = files_in(root), Agent(root, state)
    async with agent:
        for by_call, action in done:
            act(agent, by_call, action)
    after, plan = files_in(root), agent.plan()
    promised = {file.path: file.before for file in plan.certain}
    assert agent.undo.restore(plan, plan.certain).skipped == ()
    now = files_in(root)
    assert {path for path in now.keys() | after.keys() if now.get(path) != after.get(path)} <= promised.keys()
    assert {path: now.get(path, ("absent", 0))[:2] for path in promised} == {
        path: (state.kind, state.mode) for path, state in promised.items()
    }
    if with_git or all(by_call for by_call, _ in done):
        assert {path: now.get(path) for path in promised} == {path: before.get(path) for path in promised}
        assert agent.undo.restore(plan, plan.uncertain).skipped == ()
        assert (files_in(root), plan.skipped) == (before, ())
    agent.undo.close()
    assert list((state / "undo").glob("*")) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(done=steps, with_git=st.booleans())
def test_undo_restores_what_it_promised_and_touches_nothing_else(templates, done, with_git):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        shutil.copytree(templates[with_git], root, symlinks=True)
        anyio.run(partial(turn_and_undo, root, Path(folder, "state"), done, with_git=with_git))
