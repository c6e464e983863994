"""The user's variables in words: bounded, redacted, and without running more of the user's code than `repr`."""

import signal
import time
from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pandas
import pytest
from copilot_kernel.ipython import variables
from copilot_kernel.ipython.variables import MAX_DESCRIPTION_CHARS, inspect_variable, list_variables
from copilot_kernel.notebook.live import NotebookError
from copilot_kernel.redaction import HIDDEN

TOKEN = "ghp_0123456789abcdefghij"


def listed(filter: str = "", **names: Any) -> dict[str, tuple[str, str, str]]:
    return {each.name: (each.type, each.size, each.value) for each in list_variables(names, {}, filter)}


def inspected(value: Any, path: str = "", rows: int = 5, name: str = "x") -> str:
    return inspect_variable({name: value}, name, path, rows)


class Unruly:
    """Any code of it fails the test."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def _fail(self, *_: Any) -> Any:
        raise AssertionError

    __repr__ = __str__ = __len__ = __iter__ = __bool__ = __getattr__ = __getitem__ = __hash__ = __eq__ = _fail


# -- the list -------------------------------------------------------------------------------------------------------


def test_the_list_has_type_size_and_a_short_value_in_the_order_of_definition() -> None:
    Point = namedtuple("Point", "x y")
    names = {"n": 3, "text": "a'b", "items": [1, [2]], "d": defaultdict(int, a=1), "none": None, "p": Point(1, 2)}
    assert listed(**names) == {
        "n": ("int", "", "3"),
        "text": ("str", "3", '"a\'b"'),
        "items": ("list", "2", "[1, [2]]"),
        "d": ("defaultdict", "1", "defaultdict({'a': 1})"),
        "none": ("NoneType", "", "None"),
        "p": ("Point", "2", "Point(x=1, y=2)"),
    }
    assert list(listed(**names)) == list(names)


def test_the_list_has_only_what_is_the_users_and_what_the_filter_names() -> None:
    ipythons = object()
    names = {"price": 1, "_": 2, "pandas": pandas, "exit": ipythons, "prices": 3, "day": 4}
    assert [each.name for each in list_variables(names, {"exit": ipythons}, "")] == ["price", "prices", "day"]
    assert [each.name for each in list_variables(names, {}, "price")] == ["price", "prices"]


def test_the_list_calls_no_code_of_the_users() -> None:
    assert listed(x=Unruly(), xs=[Unruly()], c=Unruly) == {
        "x": ("Unruly", "", ""),
        "xs": ("list", "1", "[]"),
        "c": ("type", "", ""),
    }


def test_tables_are_listed_by_shape_and_columns() -> None:
    frame = pandas.DataFrame({"day": [1, 2], "price": [1.5, None]})
    assert listed(df=frame, s=frame["price"], a=numpy.zeros((2, 3)), f=numpy.float64(1.5)) == {
        "df": ("DataFrame", "2×2", "day, price"),
        "s": ("Series", "2", "float64"),
        "a": ("ndarray", "2×3", "float64"),
        "f": ("float64", "", "np.float64(1.5)"),
    }


# -- bounds ---------------------------------------------------------------------------------------------------------


def recursive() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


HUGE: dict[str, Callable[[], Any]] = {
    "text": lambda: "x" * 50_000_000,
    "list": lambda: ["y" * 9000] * 5_000_000,
    "nested": lambda: [[["z" * 9000] * 100] * 100] * 100,
    "mapping": lambda: dict.fromkeys(range(1_000_000)),
    "integer": lambda: 1 << 50_000_000,
    "recursive": recursive,
    "long repr": lambda: SimpleNamespace(text="x" * 5_000_000),
    "wide table": lambda: pandas.DataFrame(numpy.zeros((2, 30_000))),
    "long cells": lambda: pandas.DataFrame({"a": ["x" * 1_000_000] * 100}),
    "array": lambda: numpy.zeros((300, 300, 300)),
}


@pytest.mark.parametrize("kind", HUGE)
def test_whatever_is_huge_is_described_briefly(kind: str) -> None:
    value = HUGE[kind]()
    assert len(inspected(value, rows=1000)) <= MAX_DESCRIPTION_CHARS + 1
    assert len(listed(x=value)["x"][2]) < 400


def test_the_nulls_of_ten_million_rows_are_not_counted() -> None:
    frame = pandas.DataFrame({"a": numpy.arange(10_000_000), "b": numpy.zeros(10_000_000)})
    assert "nulls are not counted" in inspected(frame)


# -- one described --------------------------------------------------------------------------------------------------


def test_a_table_shows_columns_nulls_and_first_rows() -> None:
    frame = pandas.DataFrame({"day": range(20), "price": [1.5, None] * 10})
    text = inspected(frame, rows=3)
    assert text.startswith("x: DataFrame, 20×2\ncolumns:\n  day: int64\n  price: float64, 10 nulls\nfirst 3 rows:\n")
    assert len(text.partition("rows:\n")[2].splitlines()) == 4


def test_series_indexes_and_arrays_are_tables_too() -> None:
    series = pandas.Series([1.0, None], index=["columns", "head"], name="s")
    assert inspected(series).startswith("x: Series, 2\ndtype: float64, 1 nulls\nfirst 5 rows:")
    assert "Index(['columns', 'head']" in inspected(series.index)
    assert inspected(numpy.arange(3)) == "x: ndarray, 3\ndtype: int64\n[0 1 2]"


def test_functions_and_classes_show_how_they_are_called() -> None:
    def mean(values: list[float], *, skip: bool = True) -> float:
        """The mean."""
        return 0.0

    assert inspected(mean).endswith("mean(values: list[float], *, skip: bool = True) -> float\nThe mean.")
    assert "class Counter(dict)" in inspected(Counter)


def test_an_object_shows_its_repr_and_what_it_stores() -> None:
    class Model:
        def __init__(self) -> None:
            self.rate = 0.1

        def __repr__(self) -> str:
            return "<a model>"

    assert inspected(Model()) == "x: Model\n<a model>\nattributes: {'rate': 0.1}"


def test_an_unknown_variable_is_an_error() -> None:
    with pytest.raises(NotebookError, match="Unknown variable 'y'"):
        inspect_variable({}, "y", "", 5)


# -- paths ----------------------------------------------------------------------------------------------------------


class Plain:
    __slots__ = ("slot",)
    constant = (1, 2)

    @property
    def computed(self) -> int:
        raise AssertionError

    def __getattr__(self, name: str) -> int:
        raise AssertionError


FRAME = pandas.DataFrame({"a": [10, 20]})


FOUND: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: [{"a": (1, "two")}], "[0]['a'][-1]", "'two'"),
    (lambda: {(1, 2): "pair"}, "[1, 2]", "'pair'"),
    (lambda: SimpleNamespace(deep=SimpleNamespace(n=7)), ".deep.n", "7"),
    (Plain, ".constant[1]", "2"),
    (lambda: FRAME, ".columns", "Index(['a']"),
    (lambda: FRAME, "['a']", "20"),
    (lambda: FRAME, ".shape", "(2, 1)"),
    (lambda: numpy.array([[1, 2]]), "[0, 1]", "2"),
]


@pytest.mark.parametrize(("value", "path", "shown"), FOUND)
def test_a_path_leads_to_what_is_stored(value: Callable[[], Any], path: str, shown: str) -> None:
    assert shown in inspected(value(), path)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (Plain, ".computed"),
    (Plain, ".slot"),
    (Plain, ".missing"),
    (Unruly, "[0]"),
    (lambda: [1], "[5]"),
    (lambda: [1], "['a']"),
    (lambda: FRAME, ".iloc"),
    (lambda: FRAME, "['b']"),
    (dict, "[[]]"),
]


@pytest.mark.parametrize(("value", "path"), REFUSED)
def test_a_path_computes_nothing(value: Callable[[], Any], path: str) -> None:
    with pytest.raises(NotebookError):
        inspected(value(), path)


def test_a_path_adds_nothing_to_a_mapping_with_defaults() -> None:
    value: defaultdict[str, list[int]] = defaultdict(list)
    with pytest.raises(NotebookError):
        inspected(value, "['new']")
    assert value == {}


@pytest.mark.parametrize(
    "path",
    ["()", ".a()", "[f()]", "[0] + 1", "+1", " or 1", "[i for i in x]", "[x]", "[1:2]", ";1", ".", "x", "[" * 400],
)
def test_a_path_is_never_evaluated(path: str) -> None:
    with pytest.raises(NotebookError, match="A path is made of"):
        inspected([1], path)


# -- secrets --------------------------------------------------------------------------------------------------------


class Config:
    def __init__(self) -> None:
        self.password = "hunter2"
        self.where = f"https://me:{TOKEN}@host"


SECRETS: dict[str, tuple[str, Any, str]] = {
    "by name": ("api_key", "hunter2", ""),
    "a list by name": ("passwords", ["hunter2"], ""),
    "by pattern": ("x", TOKEN, ""),
    "cut in the middle": ("x", "." * (MAX_DESCRIPTION_CHARS - 10) + TOKEN, ""),
    "in a key": ("x", {"token": "hunter2", "n": {"API_KEY": ["hunter2"]}}, ""),
    "beside its name": ("x", {"name": "API_KEY", "value": "hunter2"}, ""),
    "in a field": ("x", namedtuple("Login", "user password")("me", "hunter2"), ""),
    "in an object": ("x", Config(), ""),
    "in a repr": ("x", SimpleNamespace(password="hunter2"), ""),
    "on the path": ("x", {"password": ["hunter2"]}, "['password'][0]"),
    "an attribute": ("x", Config(), ".password"),
    "in a column": ("x", pandas.DataFrame({"password": ["hunter2"], "n": [TOKEN]}), ""),
    "a column": ("x", pandas.DataFrame({"password": ["hunter2"]}), "['password']"),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_secrets_are_hidden(kind: str) -> None:
    name, value, path = SECRETS[kind]
    text = inspected(value, path, name=name) + str(listed(**{name: value}))
    assert ("hunter2" in text, TOKEN[:8] in text) == (False, False)


def test_what_only_looks_like_a_secret_is_shown() -> None:
    assert listed(total_tokens=12, text="a token of thanks")["total_tokens"][2] == "12"
    assert listed(api_key="hunter2")["api_key"] == ("str", "7", HIDDEN)


# -- values with code that fails or does not end --------------------------------------------------------------------


class Raising:
    def __repr__(self) -> str:
        raise ValueError("secret words")


class Ending:
    def __repr__(self) -> str:
        raise SystemExit


class Sleeping:
    def __repr__(self) -> str:
        time.sleep(60)
        return ""


class Swallowing:
    """Handles whatever is an Exception, and goes on."""

    def __repr__(self) -> str:
        while True:
            try:
                time.sleep(0.01)
            except Exception:
                continue


class Deep:
    def __repr__(self) -> str:
        return repr([self])


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "LIMIT_SECONDS", 0.1)


@pytest.mark.parametrize("kind", [Raising, Ending, Deep])
def test_a_repr_that_fails_is_reported(kind: type) -> None:
    assert "own code failed" in inspected(kind())


ENDLESS: dict[str, Callable[[], Any]] = {
    "sleeping": Sleeping,
    "swallowing": Swallowing,
    "in a list": lambda: [1, Sleeping()],
    "in a table": lambda: pandas.DataFrame({"a": [Sleeping()]}),
}


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.usefixtures("short_limit")
def test_a_repr_that_does_not_end_is_interrupted(kind: str) -> None:
    assert "interrupted" in inspected(ENDLESS[kind]())


@pytest.mark.usefixtures("short_limit")
def test_a_timer_of_the_users_goes_off_meanwhile() -> None:
    rang: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert "interrupted" in inspected(Sleeping())
        assert len(rang) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
