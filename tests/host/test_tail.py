"""The end of a text, at most so many bytes, never half a character."""

import pytest
from copilot_kernel.host.tail import Tail

CUTS = [
    (b"abcdef", 6, "abcdef", False, "all fits"),
    (b"abcdef", 3, "def", True, "the beginning goes"),
    ("aü".encode(), 2, "ü", True, "a character that fits"),
    ("aü".encode(), 1, "", True, "no half of it"),
    ("a€b".encode(), 3, "b", True, "no two thirds of it"),
    ("\U0001f600z".encode(), 4, "z", True, "no three quarters of it"),
    (b"abc", 0, "", True, "nothing is kept"),
    (b"", 0, "", False, "nothing came"),
    (b"\xff\xfe", 6, "\ufffd\ufffd", False, "what is no text counts as it is shown"),
    (b"\xff\xfe", 5, "\ufffd", True, "what is no text counts as it is shown"),
    (b"a\xc3", 9, "a\ufffd", False, "half a character at the end"),
]


@pytest.mark.parametrize(("data", "limit", "text", "truncated", "reason"), CUTS)
def test_the_end_is_kept(data, limit, text, truncated, reason):
    tail = Tail(limit)
    tail.feed(data, final=True)
    assert (tail.text, tail.truncated) == (text, truncated), reason


@pytest.mark.parametrize("limit", range(12))
@pytest.mark.parametrize("step", [1, 2, 3, 5, 99])
def test_it_does_not_matter_how_the_pieces_are_cut(limit, step):
    data = "aü€\U0001f600".encode() * 3
    whole, parts = Tail(limit), Tail(limit)
    whole.feed(data, final=True)
    said = "".join(parts.feed(data[n : n + step]) for n in range(0, len(data), step)) + parts.feed(b"", final=True)
    assert (parts.text, parts.truncated, said) == (whole.text, whole.truncated, data.decode())
    longest = next(data.decode()[n:] for n in range(13) if len(data.decode()[n:].encode()) <= limit)
    assert whole.text == longest


def test_half_a_character_waits_for_the_rest():
    tail = Tail(9)
    assert [tail.feed(b"\xe2"), tail.text, tail.feed(b"\x82"), tail.feed(b"\xac"), tail.text] == ["", "", "", "€", "€"]
