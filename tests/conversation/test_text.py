"""A text that grows without being copied still reads as a value."""

from collections.abc import Iterator

import pytest
from copilot_kernel.conversation import text as text_module
from copilot_kernel.conversation.text import MAX_PARTS, GrowingText
from hypothesis import given
from hypothesis import strategies as st


def grown(*parts: str) -> GrowingText:
    text = GrowingText()
    for part in parts:
        text = text.append(part)
    return text


def test_a_reader_gets_only_the_parts_that_it_has_not_read() -> None:
    text = grown("a", "bc", "d")
    assert [list(text.parts(start)) for start in range(5)] == [["a", "bc", "d"], ["bc", "d"], ["c", "d"], ["d"], []]
    assert text.last == "d"


def test_texts_are_equal_by_what_they_say() -> None:
    assert grown("a", "b") == GrowingText("ab") == "ab" != grown("b") != 1
    assert (repr(grown("a", "b"))) == ("GrowingText('ab')")


def test_many_parts_are_joined() -> None:
    text = grown(*map(str, range(5_000)))
    assert len(list(text.parts())) < MAX_PARTS + 5
    assert str(text) == "".join(map(str, range(5_000)))


@pytest.fixture(scope="module", params=[MAX_PARTS, 2])
def most(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "MAX_PARTS", request.param)
        yield


@pytest.mark.usefixtures("most")
@given(st.lists(st.text(max_size=3), max_size=20), st.integers(0, 20))
def test_a_text_is_what_was_appended_wherever_it_was_branched(parts: list[str], at: int) -> None:
    trunk = [GrowingText()]
    for part in parts:
        trunk.append(trunk[-1].append(part))
    branch = trunk[min(at, len(parts))].append("|")
    assert [str(text) for text in trunk] == ["".join(parts[:index]) for index in range(len(parts) + 1)]
    assert str(branch) == "".join(parts[:at]) + "|"
    for text in trunk:
        assert all("".join(text.parts(start)) == str(text)[start:] for start in range(len(text) + 1))
