"""A text that grows without being copied still reads as a value."""

from copilot_kernel.conversation.text import GrowingText
from hypothesis import given
from hypothesis import strategies as st


def grown(*parts: str) -> GrowingText:
    text = GrowingText()
    for part in parts:
        text = text.append(part)
    return text


def test_a_reader_gets_only_the_parts_that_it_has_not_read() -> None:
    text = grown("a", "b", "c")
    assert (list(text.parts()), list(text.parts(2)), list(text.parts(3)), text.count, text.last) == (
        (["a", "b", "c"], ["c"], [], 3, "c")
    )


def test_texts_are_equal_by_what_they_say() -> None:
    assert grown("a", "b") == GrowingText("ab") == "ab" != grown("b") != 1
    assert (repr(grown("a", "b"))) == ("GrowingText('ab')")


def test_appending_shares_one_list_of_parts() -> None:
    """This is what keeps 100,000 chunks linear: none of them copies what came before."""
    text = GrowingText("a")
    parts = text._parts
    for _ in range(1000):
        text = text.append("b")
    assert text._parts is parts


@given(st.lists(st.text(max_size=3), max_size=20), st.integers(0, 20))
def test_a_text_is_what_was_appended_wherever_it_was_branched(parts: list[str], at: int) -> None:
    trunk = [GrowingText()]
    for part in parts:
        trunk.append(trunk[-1].append(part))
    branch = trunk[min(at, len(parts))].append("|")
    assert [str(text) for text in trunk] == ["".join(parts[:index]) for index in range(len(parts) + 1)]
    assert str(branch) == "".join(parts[:at]) + "|"
