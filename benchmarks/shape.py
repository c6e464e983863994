"""The shape of the source: how many classes have many fields, functions many parameters, and packages many modules."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .report import Report

ROOT = Path(__file__).parents[1]
MAX_FIELDS, MAX_PARAMETERS, MAX_MODULES = 7, 5, 15
CLASSES, FUNCTIONS = 55, 16
PARTS = ("commands", "output", "pages", "prompts", "views")
"""Packages of what cells and chats have in common, each of which is one topic."""


def run(scale: float = 1.0) -> Report:
    """The same for every `scale`. The names are those beyond the limits, largest first."""
    trees = {path: ast.parse(path.read_text("utf-8")) for part in ("kernel", "widgets") for path in _sources(part)}
    report = Report("shape", "of the packages copilot_kernel and copilot_widgets")
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
    report.add("statements", sum(isinstance(node, ast.stmt) for _, node in nodes), "")
    wide = [(len(_fields(node)), _name(path, node)) for path, node in nodes if isinstance(node, ast.ClassDef)]
    long = [(_parameters(node), _name(path, node)) for path, node in nodes if isinstance(node, _FUNCTION)]
    for what, found, limit, bound in (
        (f"classes with more than {MAX_FIELDS} fields", wide, MAX_FIELDS, CLASSES),
        (f"functions with more than {MAX_PARAMETERS} parameters", long, MAX_PARAMETERS, FUNCTIONS),
    ):
        beyond = sorted((each for each in found if each[0] > limit), reverse=True)
        report.add(what, len(beyond), "", bound)
        report.lines += [f"    {count:>2}  {name}" for count, name in beyond]
    modules = Counter(path.parent.name for path in trees if path.name != "__init__.py")
    for part in PARTS:
        report.add(f"modules of {part}", modules[part], "", MAX_MODULES)
    return report


_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def _sources(part: str) -> Iterator[Path]:
    return (ROOT / part).rglob("*.py")


def _name(path: Path, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def _fields(node: ast.ClassDef) -> set[str]:
    """Annotated in the class, or set in `__init__`."""
    fields = {
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    made = (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    return fields | {
        each.attr
        for function in made
        for each in ast.walk(function)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
        if isinstance(each.value, ast.Name) and each.value.id == "self"
    }


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Without `self` and `cls`."""
    named = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return sum(each.arg not in ("self", "cls") for each in named)
