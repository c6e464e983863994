"""The user's variables: a list of them, and one described. Call on the thread that runs the user's code."""

from __future__ import annotations

import ast
import inspect
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, TypeVar

from ..notebook.live import NotebookError, VariableSummary
from ..redaction import HIDDEN, Redactor, is_secret, redactor
from ..system.processes import ALARM, interrupt
from . import tables
from .values import ValueText, has_method, size, type_name

T = TypeVar("T")

LIMIT_SECONDS = 2.0
"""Time for all code of the user's that describing a value calls, such as `__repr__`."""
AGAIN_SECONDS = 0.05
"""Between two interrupts: the first may come while code runs whose exceptions Python ignores, such as `__del__`."""
MAX_DESCRIPTION_CHARS = 8000
"""Limit of a description."""
MAX_DOC_CHARS = 500
MAX_SHOWN_ROWS = 100
MAX_ITEMS = 50
MAX_PATH_CHARS = 500
MAX_ATTRIBUTES = 50

_FUNCTIONS = (FunctionType, BuiltinFunctionType)
_STORED = (GetSetDescriptorType, MemberDescriptorType)
_SEQUENCES = (list, tuple, str, bytes)
_PATH = "A path is made of attributes, indexes and keys, such as .columns, [0] or ['a']['b']."


def list_variables(names: Mapping[str, Any], hidden: Mapping[str, Any], filter: str) -> list[VariableSummary]:
    """List variables whose name contains `filter`. `hidden`: what IPython put there. Runs none of the user's code."""
    text = ValueText(redactor(), lambda value: "", items=10, chars=100)
    found = [(name, value) for name, value in _users(names, hidden) if filter in name]
    return [VariableSummary(name, type_name(type(value)), *_brief(name, value, text)) for name, value in found]


def variable_names(names: Mapping[str, Any], hidden: Mapping[str, Any]) -> list[str]:
    """The names of the user's variables, in the order of their definition."""
    return [name for name, _ in _users(names, hidden)]


def inspect_variable(names: Mapping[str, Any], name: str, path: str, rows: int) -> str:
    """Describe `name`, or what is at `path` in it. Raises NotebookError if there is none."""
    if name not in names:
        raise NotebookError(f"Unknown variable {name!r}.")
    steps = list(_steps(path))
    secret = any(is_secret(step) for step in (name, *(key for _, key in steps)) if isinstance(step, str))
    value = names[name]
    for is_attribute, key in steps:
        value = _in_time(partial(_attribute if is_attribute else _item, value, key))
    head = f"{name}{path}: {_heading(value)}"
    if secret:
        return f"{head}\n{HIDDEN} (hidden: its name suggests a secret)"
    hide = redactor()
    try:
        body = _in_time(lambda: _description(value, hide, max(1, min(rows, MAX_SHOWN_ROWS))))
    except NotebookError as error:
        body = str(error)
    text = hide.text(f"{head}\n{body}"[: 2 * MAX_DESCRIPTION_CHARS])
    return text if len(text) <= MAX_DESCRIPTION_CHARS else f"{text[:MAX_DESCRIPTION_CHARS]}…"


def _users(names: Mapping[str, Any], hidden: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in list(names.items()) if _is_users(name, value, hidden)]


def _is_users(name: str, value: object, hidden: Mapping[str, Any]) -> bool:
    is_ipythons = name in hidden and hidden[name] is value
    return not (name.startswith("_") or is_ipythons or issubclass(type(value), ModuleType))


def _brief(name: str, value: object, text: ValueText) -> tuple[str, str]:
    """Size and value."""
    if is_secret(name):
        return size(value), HIDDEN
    if tables.is_table(value):
        return tables.shape(value), text.cut(tables.brief(value))
    return size(value), text.of(value)


def _heading(value: object) -> str:
    kind = type_name(type(value))
    extent = tables.shape(value) if tables.is_table(value) else size(value)
    return f"{kind}, {extent}" if extent else kind


def _in_time(call: Callable[[], T]) -> T:
    """Return the result of the user's code; raises NotebookError if it fails or takes too long."""
    if threading.current_thread() is not threading.main_thread():
        raise NotebookError("(not shown: only the main thread can interrupt the value's own code)")
    try:
        return _limited(call, LIMIT_SECONDS)
    except _TimeIsUp:
        raise NotebookError(f"(interrupted: the value's own code took over {LIMIT_SECONDS:g} s)") from None
    except NotebookError:
        raise
    except BaseException as error:  # also SystemExit, which would end the kernel
        raise NotebookError(f"(the value's own code failed: {type_name(type(error))})") from None


# -- a limit of time --------------------------------------------------------------------------------------------


class _TimeIsUp(BaseException):
    """Time limit reached. Not an Exception, so that the user's code does not catch it."""


def _limited(call: Callable[[], T], seconds: float) -> T:
    """Return the result of `call`. Raises _TimeIsUp after `seconds`.

    On the main thread only, where Python handles signals. Code in C that does not return to Python cannot be
    interrupted.
    """
    armed = True

    def fire(*_: Any) -> None:
        if armed:
            raise _TimeIsUp

    with _alarm(seconds, fire):
        try:
            return call()
        finally:
            armed = False


@contextmanager
def _alarm(seconds: float, fire: Callable[..., None]) -> Iterator[None]:
    """Call `fire` on this thread after `seconds`, and again and again until the block ends."""
    is_over, thread = threading.Event(), threading.get_ident()

    def ring() -> None:
        pause = seconds
        while not is_over.wait(pause):
            interrupt(thread, ALARM)
            pause = AGAIN_SECONDS

    handler = signal.signal(ALARM, fire)
    ringing = threading.Thread(target=ring, daemon=True)
    ringing.start()
    try:
        yield
    finally:
        is_over.set()
        ringing.join()
        signal.signal(ALARM, signal.SIG_DFL if handler is None else handler)


# -- what is at a path --------------------------------------------------------------------------------------------


def _steps(path: str) -> Iterator[tuple[bool, Any]]:
    """Return whether each step is an attribute, and its name or key; the first step first. Nothing is evaluated."""
    if not path:
        return
    if len(path) > MAX_PATH_CHARS:
        raise NotebookError(_PATH)
    try:
        node = ast.parse(f"_{path}", mode="eval").body
        found = []
        while not isinstance(node, ast.Name):
            found.append(_step(node))
            node = node.value  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotebookError(_PATH) from None
    if node.id != "_":
        raise NotebookError(_PATH)
    yield from reversed(found)


def _step(node: ast.expr) -> tuple[bool, Any]:
    match node:
        case ast.Attribute(attr=name):
            return True, name
        case ast.Subscript(slice=key):
            return False, ast.literal_eval(key)
    raise ValueError(node)


def _attribute(value: object, name: str) -> Any:
    """An attribute that is stored. Properties and `__getattr__` are not called."""
    try:
        if tables.is_table(value):
            return tables.attribute(value, name)
        found = inspect.getattr_static(value, name)
        if type(found) in _STORED:
            return found.__get__(value, type(value))
    except AttributeError:
        raise NotebookError(f"No attribute {name!r} that can be read without running code.") from None
    if type(found) not in _FUNCTIONS and has_method(type(found), "__get__"):
        raise NotebookError(f"The attribute {name!r} is computed. Run code to read it.")
    return found


def _item(value: Any, key: Any) -> Any:
    try:
        if tables.is_table(value):
            return value[key]  # a column, or an element
        if issubclass(type(value), dict) and dict.__contains__(value, key):
            return dict.get(value, key)
        base: Any = next((base for base in _SEQUENCES if issubclass(type(value), base)), None)
        if base is not None:
            return base.__getitem__(value, key)
    except (LookupError, TypeError, ValueError):
        pass
    raise NotebookError(f"No item {key!r} that can be read without running code.")


# -- a description ------------------------------------------------------------------------------------------------


def _description(value: Any, hide: Redactor, rows: int) -> str:
    """The only place that calls the user's `__repr__`."""
    if tables.is_table(value):
        return tables.summary(value, rows)
    if issubclass(type(value), type):
        return "\n".join([*_class(value), *_doc(type.__getattribute__(value, "__dict__").get("__doc__"))])
    if type(value) in _FUNCTIONS:
        return "\n".join([f"{value.__name__}{_signature(value)}", *_doc(value.__doc__)])
    text = ValueText(hide, repr, items=MAX_ITEMS, chars=MAX_DESCRIPTION_CHARS)
    return "\n".join([text.of(value), *_stored(value, hide)])


def _class(value: type) -> list[str]:
    bases = ", ".join(map(type_name, type.__getattribute__(value, "__bases__")))
    members = [name for name in type.__getattribute__(value, "__dict__") if not name.startswith("_")]
    return [f"class {type_name(value)}({bases})", f"members: {', '.join(members[:MAX_ATTRIBUTES])}"]


def _signature(function: Any) -> str:
    try:
        return str(inspect.signature(function))
    except (ValueError, TypeError):
        return "(…)"


def _doc(doc: object) -> list[str]:
    return [inspect.cleandoc(doc)[:MAX_DOC_CHARS]] if isinstance(doc, str) else []


def _stored(value: object, hide: Redactor) -> list[str]:
    """The attributes that an object stores, without calling its code."""
    try:
        members = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    if type(members) is not dict or not members:
        return []
    return [f"attributes: {ValueText(hide, lambda value: '…', items=MAX_ATTRIBUTES, chars=100).of(members, 2)}"]
