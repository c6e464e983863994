"""Which cells become a coroutine, and what reaches the agent: cells in, Python out, by IPython's own machinery."""

import ast
import re

import pytest
from copilot_kernel.ipython.transform import CopilotLine, rewrite, values_of
from IPython.core.async_helpers import _should_be_async
from IPython.core.inputtransformer2 import TransformerManager

AWAITED = "await get_ipython().copilot."
BLOCKING = "get_ipython().copilot."


@pytest.fixture(scope="module")
def transformers() -> TransformerManager:
    manager = TransformerManager()
    manager.token_transformers.append(CopilotLine)
    return manager


@pytest.fixture
def python(transformers: TransformerManager):
    return lambda cell, awaits=True: rewrite(transformers.transform_cell(cell), awaits).rstrip("\n")


SHAPES = [
    ("%copilot hello", "show('hello')"),
    ("%%copilot\nhello", "show('\\nhello\\n')"),
    ("%%copilot first line\nsecond line", "show('first line\\nsecond line\\n')"),
    ("%%copilot", "show('\\n')"),
    ("%copilot", "show('')"),
    ("\n\n  \n%%copilot\nafter blank lines", "show('\\nafter blank lines\\n')"),
    ("    %%copilot\n    an indented cell", "show('\\nan indented cell\\n')"),
    ("%copilot What is this?", "show('What is this?')"),
    ("%copilot Really??", "show('Really??')"),
    ("%copilot don't say \"it's\" é", "show('don\\'t say \"it\\'s\" é')"),
    ("%copilot %status", "show('%status')"),
    ("%copilot /help", "show('/help')"),
    ("%copilot one \\\n  two", "show('one    two')"),
    ("%%copilot\n%copilot is a magic?", "show('\\n%copilot is a magic?\\n')"),
    ("%%copilot\ndef f(:\n  'no Python\n", 'show("\\ndef f(:\\n  \'no Python\\n")'),
    ('%%copilot\n"""quotes""" and \\n', 'show(\'\\n"""quotes""" and \\\\n\\n\')'),
]


@pytest.mark.parametrize(("cell", "call"), SHAPES)
def test_a_magic_alone_in_a_cell_is_awaited(python, cell: str, call: str) -> None:
    assert python(cell) == AWAITED + call
    assert _should_be_async(python(cell))


@pytest.mark.parametrize(("cell", "call"), SHAPES)
def test_where_nothing_can_be_awaited_it_is_a_call(python, cell: str, call: str) -> None:
    name, _, rest = call.partition("(")
    assert python(cell, awaits=False) == f"{BLOCKING}{name}_blocking({rest}"
    assert not _should_be_async(python(cell, awaits=False))


@pytest.mark.parametrize(
    "cell",
    [
        "x = %copilot why?",
        "x = y = 1\n%copilot a\n%copilot b",
        "# a comment\n%copilot a",
        "if 1:\n    %copilot a?\nelse:\n    x = %copilot b",
        "for n in 1, 2:\n    %copilot {n}",
        "try:\n    %copilot a\nexcept E:\n    %copilot b",
        "with open(p) as f:\n\t%copilot a",
        "match x:\n    case 1:\n        %copilot a",
        "s = 'é'; t = '''\n%copilot in a text\n'''.upper()\n%copilot a",
    ],
)
def test_among_other_statements_each_one_is_awaited_where_it_stands(python, cell: str) -> None:
    expected = re.sub(r"(?m)^(\s*)%copilot (?!in )(.*)$", rf"\1{AWAITED}show('\2')", cell)
    assert python(cell) == re.sub(r"= %copilot (.*)", rf"= {AWAITED}answer('\1')", expected)
    assert _should_be_async(python(cell))


def test_lines_are_counted_as_python_counts_them() -> None:
    cell = "é = '\u2028\x0c\x85'; {}\n{}"
    magic = "get_ipython().run_line_magic('copilot', 'é')"
    assert rewrite(cell.format(magic, magic), True) == cell.format(f"{AWAITED}show('é')", f"{AWAITED}show('é')")


@pytest.mark.parametrize(
    "cell",
    [
        "def f():\n    %copilot a",
        "async def f():\n    %copilot a",
        "class A:\n    %copilot a",
        "f = lambda: get_ipython().run_line_magic('copilot', 'a')",
        "if 1:\n    def f():\n        x = %copilot a",
    ],
)
def test_in_a_function_it_stays_a_magic_which_blocks(python, cell: str) -> None:
    assert "get_ipython().run_line_magic('copilot', 'a')" in python(cell)
    assert not _should_be_async(python(cell))


@pytest.mark.parametrize(
    "cell",
    [
        "1 + 1",
        "'%copilot a'",
        "print('''\n%%copilot\n''')",
        "# %copilot a",
        "x %copilot",
        "copilot = 3\n5 %copilot",
        "s = \"get_ipython().run_line_magic('copilot', 'a')\"",
        "other().run_line_magic('copilot', 'a')",
        "get_ipython().run_line_magic('copilot', text)",
        "await asyncio.sleep(1)",
        "%timeit 1",
        "%%bash\n%copilot a",
        "what?",
    ],
)
def test_what_is_no_magic_of_ours_is_left_to_ipython(python, cell: str) -> None:
    assert python(cell) == TransformerManager().transform_cell(cell).rstrip("\n")


@pytest.mark.parametrize(
    "cell", ["%copilot a\nx = (", "%copilot a\ndef f(:", "%copilot a\nreturn =", "1 +\n%copilot a"]
)
def test_a_syntax_error_stays_the_users_own(python, transformers: TransformerManager, cell: str) -> None:
    with pytest.raises(SyntaxError) as ours:
        ast.parse(python(cell))
    with pytest.raises(SyntaxError) as theirs:
        ast.parse(TransformerManager().transform_cell(cell))
    assert (ours.value.msg, ours.value.lineno) == (theirs.value.msg, theirs.value.lineno)


@pytest.mark.parametrize("cell", ["%copilot?", "%copilot??", "%%copilot?"])
def test_a_question_about_the_magic_itself_is_ipythons(python, cell: str) -> None:
    assert "pinfo" in python(cell)


def test_another_magic_whose_name_begins_like_ours_is_none_of_ours(python) -> None:
    assert python("%copilots a") == "get_ipython().run_line_magic('copilots', 'a')"


@pytest.mark.parametrize("cell", ["%%copilot\nhello", "%copilot hello", "%copilot what?", "x = %copilot what?"])
def test_front_ends_that_ask_are_told_that_the_cell_is_complete(transformers: TransformerManager, cell: str) -> None:
    assert transformers.check_complete(cell + "\n\n") == ("complete", None)


# -- values that go along -------------------------------------------------------------------------------------------

NAMES = {"n": 3, "name": "Ada", "rows": [1, 2], "größe": 5}


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("no names", {}),
        ("$n and {name}", {"n": "3", "name": "Ada"}),
        ("don't skip $n, it's $n", {"n": "3"}),
        ("$größe.real {rows}", {"größe": "5", "rows": "[1, 2]"}),
        ("a price of $5, $HOME and {unknown}", {}),
        ("{n + 1} {rows[0]} {name!r} {n:>4} { n } {__import__('os').abort()}", {}),
    ],
)
def test_plain_names_that_are_known_go_along_and_nothing_is_evaluated(line: str, values: dict[str, str]) -> None:
    assert values_of(line, NAMES) == values
