"""What the demo agent says, as dicts."""

import base64
import io
import wave

import pytest
from copilot_kernel.demo import protocol, samples
from copilot_kernel.demo.samples import END_MARK, cut, passage


def test_the_usual_options_are_those_of_copilot():
    assert protocol.USUAL_OPTIONS == [
        {"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
        {"optionId": "allow_always", "kind": "allow_always", "name": "Always allow"},
        {"optionId": "reject_once", "kind": "reject_once", "name": "Deny"},
    ]


def test_a_kind_that_is_offered_twice_has_two_ids():
    assert protocol.options(["allow_once", " allow_once=Once more", "maybe", "reject_always"]) == [
        {"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
        {"optionId": "allow_once_2", "kind": "allow_once", "name": "Once more"},
        {"optionId": "maybe", "kind": "maybe", "name": "maybe"},
        {"optionId": "reject_always", "kind": "reject_always", "name": "Always deny"},
    ]


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ({"outcome": {"outcome": "selected", "optionId": "allow_once"}}, ("allow_once", "allow_once")),
        ({"outcome": {"outcome": "selected", "optionId": "reject_once"}}, ("reject_once", "reject_once")),
        ({"outcome": {"outcome": "selected", "optionId": "of another"}}, ("of another", "invalid")),
        ({"outcome": {"outcome": "cancelled"}}, ("", "cancelled")),
        ({"outcome": "selected", "optionId": "allow_once"}, ("no option", "invalid")),
        ({"outcome": {"outcome": "selected", "optionId": 1}}, ("no option", "invalid")),
        (None, ("no option", "invalid")),
    ],
)
def test_only_the_exact_id_of_an_offered_option_counts(answer, chosen):
    assert protocol.chosen(answer, protocol.USUAL_OPTIONS) == chosen


@pytest.mark.parametrize("size", [10, 11, 100, 437, 438, 10_000, 1_000_000])
def test_a_long_text_has_exactly_the_size_that_was_asked_for_and_ends_with_its_mark(size):
    text = passage(max(size, len(END_MARK)))
    assert (len(text.encode()), text.isascii(), text.endswith(END_MARK)) == (max(size, len(END_MARK)), True, True)


def test_a_long_text_is_markdown_with_closed_code_blocks():
    text = passage(20_000)
    assert (text.count("```") % 2, text.startswith("## Section 1\n"), "## Section 30\n" in text) == (0, True, True)


@pytest.mark.parametrize(("pieces", "made"), [(1, 1), (7, 7), (999, 999), (5000, 1000), (0, 1)])
def test_a_text_is_cut_without_loss(pieces, made):
    text = passage(1000)
    parts = cut(text, pieces)
    assert ("".join(parts), len(parts), "" in parts) == (text, made, False)


def test_the_picture_is_a_png_and_the_sound_a_wav():
    picture = base64.b64decode(samples.PICTURE)
    assert (picture[:8], picture[-8:-4]) == (b"\x89PNG\r\n\x1a\n", b"IEND")
    with wave.open(io.BytesIO(base64.b64decode(samples.sound()))) as sound:
        assert (sound.getframerate(), sound.getnframes(), sound.getsampwidth()) == (8000, 800, 1)
