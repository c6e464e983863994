"""Both platforms offer the same: names, methods, parameters."""

import ast
from pathlib import Path

import pytest
from copilot_kernel.system import files, processes

FOLDER = Path(files.__file__).parent
NAMES = {*files.__all__, *processes.__all__}


def interface(module: str) -> dict[str, str]:
    """What others may use of a module, with parameters and results as they are written."""
    body = ast.parse((FOLDER / f"{module}.py").read_text("utf-8")).body
    found = {name: signature for node in body for name, signature in named(node)}
    return {name: signature for name, signature in found.items() if name.partition(".")[0] in NAMES}


def named(node: ast.stmt, owner: str = "") -> list[tuple[str, str]]:
    match node:
        case ast.ClassDef():
            return [(node.name, ""), *(each for inner in node.body for each in named(inner, f"{node.name}."))]
        case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name[0] != "_":
            return [
                (
                    owner + node.name,
                    f"{type(node).__name__}({ast.unparse(node.args)}) -> {node.returns and ast.unparse(node.returns)}",
                )
            ]
    return []


@pytest.mark.parametrize("suffix", ["", "_files"])
def test_posix_and_windows_have_one_interface(suffix: str) -> None:
    here, there = interface(f"posix{suffix}"), interface(f"windows{suffix}")
    # On POSIX these are functions of the standard library's, or stand in a module of their own.
    assert {name: there.get(name) for name in here} == here
    assert there.keys() - here.keys() <= {"which", "split_command", "keep_apart"}
