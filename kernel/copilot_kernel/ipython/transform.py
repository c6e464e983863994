"""Rewrite cells that contain `%copilot` as Python. Pure: text in, text out.

IPython turns each magic into a call. Here such a call becomes an `await` where one is allowed, so that the kernel's
loop runs on while the agent works. `%copilot Why is that?` reaches the agent, although IPython takes a question mark at
the end of a line as a request for help.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from tokenize import TokenInfo
from typing import Any

from IPython.core.inputtransformer2 import EscapedCommand, MagicAssign, TokenTransformBase

NAME = "copilot"
_LINE = re.compile(rf"%{NAME}(?![\w.?])")
_CALLS = (f"run_line_magic('{NAME}'", f"run_cell_magic('{NAME}'")
_VALUE = re.compile(r"\$([^\W\d]\w*)|\{([^\W\d]\w*)\}")
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class CopilotLine(TokenTransformBase):
    """`%copilot …` and `name = %copilot …`, found before IPython looks for a question mark in the same line."""

    priority = 1

    def __init__(self, found: Any) -> None:
        super().__init__((found.start_line + 1, -1))  # type: ignore[no-untyped-call]
        self._found = found

    @classmethod
    def find(cls, tokens_by_line: Sequence[Sequence[TokenInfo]]) -> CopilotLine | None:
        """The first one in the cell."""
        for line in tokens_by_line:
            if not line or f"%{NAME}" not in line[0].line:
                continue
            found = EscapedCommand.find([line]) or MagicAssign.find([line])  # type: ignore[no-untyped-call]
            if found and any(_is_ours(token, found) for token in line):
                return cls(found)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """Delegate to IPython's own transformer."""
        changed: list[str] = self._found.transform(lines)
        return changed


def _is_ours(token: TokenInfo, found: Any) -> bool:
    starts = token.start == (found.start_line + 1, found.start_col)
    return starts and _LINE.match(token.line, found.start_col) is not None


def rewrite(cell: str, awaits: bool) -> str:
    """`cell`, transformed by IPython, with our magics as calls of `get_ipython().copilot` that show nothing twice.

    Inside a function it stays a magic, which blocks. A cell that is not valid Python is returned unchanged.
    """
    if not any(call in cell for call in _CALLS):
        return cell
    try:
        tree = ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError):
        return cell
    for node in reversed(list(_statements(tree.body))):
        cell = _replaced(cell, node, awaits)
    return cell


def _statements(body: Sequence[ast.AST]) -> Iterator[ast.Expr | ast.Assign]:
    """Statements outside functions and classes whose value may be a magic, in order."""
    for node in body:
        if isinstance(node, ast.Expr | ast.Assign):
            yield node
        elif not isinstance(node, ast.expr | _SCOPES):
            yield from _statements(list(ast.iter_child_nodes(node)))


def _replaced(cell: str, node: ast.Expr | ast.Assign, awaits: bool) -> str:
    text = _prompt(node.value)
    if text is None:
        return cell
    method = ("show" if isinstance(node, ast.Expr) else "answer") + ("" if awaits else "_blocking")
    call = f"{'await ' * awaits}get_ipython().{NAME}.{method}({text!r})"
    start, end = _offsets(cell, node.value)
    return cell[:start] + call + cell[end:]


def _prompt(value: ast.expr) -> str | None:
    """The argument of our magic; None if `value` is something else."""
    match value:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name("get_ipython"), args=[]), attr="run_line_magic"),
            args=[ast.Constant("copilot"), ast.Constant(str(line))],
        ):
            return line
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name("get_ipython"), args=[]), attr="run_cell_magic"),
            args=[ast.Constant("copilot"), ast.Constant(str(line)), ast.Constant(str(body))],
        ):
            return f"{line}\n{body}"
    return None


def _offsets(cell: str, value: ast.expr) -> tuple[int, int]:
    """Python counts lines, and the bytes in them; it ends lines at fewer characters than `splitlines`."""
    lines = [f"{line}\n" for line in cell.split("\n")]
    assert value.end_lineno is not None
    assert value.end_col_offset is not None
    places = ((value.lineno, value.col_offset), (value.end_lineno, value.end_col_offset))
    start, end = (
        sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode()) for line, column in places
    )
    return start, end


def values_of(line: str, names: Mapping[str, Any]) -> dict[str, str]:
    """The values in `names` that `line` asks for, as text, by their names. The line itself stays as it was written."""
    asked = (match[1] or match[2] for match in _VALUE.finditer(line))
    return {name: str(names[name]) for name in asked if name in names}
