"""Undo, with real files: what a turn changed is restored, and nothing else is touched."""

import errno
import os
import shutil
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.undo.history import NEEDED
from copilot_kernel.undo.tree import ABSENT, FileState, digest_of
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from ..limits import examples
from .project import Agent, Tree, commit, files_in, make, remove

NAMES = ["a.txt", "b.txt", "src/c.py", "src/deep/d.py", "link", "new.txt", "src/new/e.py", "other"]


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    """The project, without and with a repository."""
    found = []
    for with_git in (False, True):
        root = tmp_path_factory.mktemp("template") / "project"
        make(root)
        if with_git:
            commit(root)
        found.append(root)
    return found


def put(path: Path, text: str) -> None:
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        path.write_text(text)


def move(path: Path, to: Path) -> None:
    if os.path.lexists(path) and not os.path.lexists(to) and not to.is_relative_to(path):
        with suppress(OSError):
            to.parent.mkdir(parents=True, exist_ok=True)
            path.rename(to)


def link(path: Path, target: str) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.symlink_to(target)


def rights(path: Path, mode: int) -> None:
    if path.is_file() and not path.is_symlink():
        path.chmod(mode)


IN_THE_WAY = (os.strerror(errno.ENOTDIR), os.strerror(errno.ENOTEMPTY))
"""Where a folder was is a file that is not selected, or the other way round."""

names = st.sampled_from(NAMES)
actions = st.one_of(
    st.tuples(st.just("put"), names, st.sampled_from(["x\n", "y\r\n", "one\ntwo\n", ""])),
    st.tuples(st.just("remove"), st.sampled_from([*NAMES, "src", "src/deep"])),
    st.tuples(st.just("move"), st.sampled_from([*NAMES, "src"]), st.sampled_from([*NAMES, "moved", "src/moved"])),
    st.tuples(st.just("link"), names, st.sampled_from(["b.txt", "/etc/hostname", "src", "nowhere"])),
    st.tuples(st.just("rights"), names, st.sampled_from([0o644, 0o755])),
)
WORKS = {"put": put, "remove": remove, "move": move, "link": link, "rights": rights}
WHO = ["call", "late call", "command", "user", "user, while the agent asks"]
steps = st.lists(st.tuples(st.sampled_from(WHO), actions), max_size=8)


def act(agent: Agent, who: str, action: tuple) -> None:
    """What is done by a call is named by it."""
    what, name, *more = action
    path = agent.root / name
    if what == "put" and who.startswith("user"):
        more = [f"mine {more[0]}"]
    work = partial(WORKS[what], path, *([agent.root / more[0]] if what == "move" else more))
    named = (name, more[0]) if what == "move" else (name,)
    kind = {"remove": "delete", "move": "move"}.get(what, "edit")
    said = (Diff(str(path), None, more[0]),) if what == "put" else ()
    if who == "call":
        agent.call(kind, work, *named, content=said)
    elif who == "late call":
        work()
        agent.report(kind, *named, content=said)
    elif who == "command":
        agent.command(work)
    elif who == "user":
        work()
    else:
        call = agent.ask(name, Diff(str(path), None, "asked\n"))
        work()
        agent.answer(call, True, partial(put, path, "asked\n"))


def done_by_user(root: Path, mine: Tree, before: Tree, who: str) -> None:
    """Note what the user has written, and nobody but calls has changed since."""
    after = files_in(root)
    for path in before.keys() | after.keys():
        if before.get(path) != after.get(path) and who == "command":
            mine.pop(path, None)
        elif before.get(path) != after.get(path) and who == "user":
            mine.pop(path, None)
            mine |= {path: after[path]} if path in after else {}


async def turn(agent: Agent, done: list) -> Tree:
    """What the user wrote meanwhile."""
    mine: Tree = {}
    async with agent:
        for who, action in done:
            before = files_in(agent.root)
            act(agent, who, action)
            done_by_user(agent.root, mine, before, who)
    return mine


async def turn_and_undo(root: Path, state: Path, done: list, *, with_git: bool) -> None:
    before, agent = files_in(root), Agent(root, state)
    mine = await turn(agent, done)
    after, plan = files_in(root), agent.plan()
    promised = {file.path: file.before for file in plan.certain}
    outcome = agent.undo.restore(plan, plan.certain)
    now = files_in(root)
    assert {why for _, why in outcome.skipped} <= {NEEDED, *IN_THE_WAY}
    assert {path for path in now.keys() | after.keys() if now.get(path) != after.get(path)} <= set(outcome.done)
    assert {path: state_of(now.get(path)) for path in outcome.done} == {path: promised[path] for path in outcome.done}
    if "late call" not in [who for who, _ in done]:  # what was overwritten unseen is gone
        assert {path: now.get(path) for path in mine if now.get(path) not in (mine[path], after.get(path))} == {}
    assert written(after) <= written(now)
    if not any(who.startswith("user") for who, _ in done) and (with_git or all(who == "call" for who, _ in done)):
        agent.undo.restore(plan, (*plan.certain, *plan.uncertain))
        agent.undo.restore(plan, (*plan.certain, *plan.uncertain))
        late = {path for path, _ in plan.skipped}  # without git: it already was what the call says
        assert (files_in(root), late if with_git else set()) == (before, set())
    agent.undo.close()
    assert list((state / "undo").glob("*")) == []


def written(files: Tree) -> set[bytes]:
    """What the user wrote."""
    return {data for _, _, data in files.values() if data.startswith(b"mine")}


def state_of(found: tuple[str, int, bytes] | None) -> FileState:
    if found is None:
        return ABSENT
    kind, mode, data = found
    return FileState("link", content=digest_of(data)) if kind == "link" else FileState("file", mode, digest_of(data))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(done=steps, with_git=st.booleans())
@example(done=[("late call", ("remove", "a.txt")), ("call", ("move", "src", "a.txt"))], with_git=True)
@example(
    done=[("call", ("remove", "a.txt")), ("user", ("link", "a.txt", "b.txt")), ("call", ("remove", "a.txt"))],
    with_git=True,
)
@example(
    done=[
        ("call", ("put", "a.txt", "x\n")),
        ("user", ("put", "a.txt", "y\n")),
        ("late call", ("rights", "a.txt", 0o755)),
    ],
    with_git=False,
)
def test_undo_restores_what_it_promised_and_touches_nothing_else(templates, done, with_git):
    note(repr((done, with_git)))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        shutil.copytree(templates[with_git], root, symlinks=True)
        anyio.run(partial(turn_and_undo, root, Path(folder, "state"), done, with_git=with_git))
