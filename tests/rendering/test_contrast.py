"""All text has enough contrast (WCAG AA: 4.5 to 1) on light and dark pages, in code and in changed lines."""

from itertools import accumulate

import pytest
from copilot_kernel.rendering import highlight, output
from copilot_kernel.rendering.markup import (
    ADDED,
    ADDED_WORDS,
    AMBER,
    BLUE,
    GREEN,
    GREY,
    RED,
    REMOVED,
    REMOVED_WORDS,
    TINT,
    stronger,
)

from .allowed import MIX

Rgba = tuple[float, ...]
WHITE, BLACK = (255, 255, 255, 1.0), (0, 0, 0, 0.87)
PAGES = {
    "light": ("#ffffff", BLACK),
    "light, code cell": ("#f5f5f5", BLACK),
    "dark": ("#111111", WHITE),
    "dark, menu": ("#212121", WHITE),
}
"""Background and text colour of JupyterLab's themes, which nbconvert uses, too."""
LAYERS = {"page": (), "box": (TINT,), "added": (TINT, ADDED), "removed": (TINT, REMOVED)}
WORDS = {**LAYERS, "added words": (TINT, ADDED, ADDED_WORDS), "removed words": (TINT, REMOVED, REMOVED_WORDS)}
HIGHLIGHTED = (style.removeprefix("color:") for style in highlight.STYLES if style.startswith("color:"))
COLOURS = sorted({GREY, RED, GREEN, AMBER, BLUE, *HIGHLIGHTED, *filter(None, output._COLOURS)})


def parse(colour: str) -> Rgba:
    """`#rgba`, `#rrggbb` or `#rrggbbaa`."""
    digits = colour.removeprefix("#")
    whole = "".join(digit * 2 for digit in digits) if len(digits) < 6 else digits
    red, green, blue, alpha = bytes.fromhex(f"{whole:f<8}")
    return red, green, blue, alpha / 255


def over(below: Rgba, top: Rgba) -> Rgba:
    mixed = (above * top[3] + under * (1 - top[3]) for above, under in zip(top[:3], below[:3], strict=True))
    return (*mixed, 1.0)


def mix(colour: str, inherited: Rgba) -> Rgba:
    """What a browser makes of `colour` in text of the `inherited` colour."""
    found = MIX.fullmatch(colour)
    assert found, colour
    share, *hue = map(int, found.groups())
    weights = (inherited[3] * share / 100, 1 - share / 100)
    parts = (
        (text * weights[0] + own * weights[1]) / sum(weights) for text, own in zip(inherited[:3], hue, strict=True)
    )
    return (*parts, sum(weights))


def luminance(colour: Rgba) -> float:
    parts = (part / 255 for part in colour[:3])
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(text: Rgba, background: Rgba) -> float:
    dark, light = sorted((luminance(over(background, text)), luminance(background)))
    return (light + 0.05) / (dark + 0.05)


def background(page: str, layers: str) -> Rgba:
    return list(accumulate(map(parse, (PAGES[page][0], *WORDS[layers])), over))[-1]


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("colour", COLOURS)
def test_text_of_each_colour_can_be_read(colour: str, page: str, layers: str) -> None:
    assert contrast(mix(colour, PAGES[page][1]), background(page, layers)) >= 4.5


@pytest.mark.parametrize("layers", WORDS)
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("colour", sorted(set(map(stronger, highlight._COLOURS.values()))))
def test_code_in_a_diff_can_be_read_also_in_changed_words(colour: str, page: str, layers: str) -> None:
    assert contrast(mix(colour, PAGES[page][1]), background(page, layers)) >= 4.5


@pytest.mark.parametrize("layers", WORDS)
@pytest.mark.parametrize("page", PAGES)
def test_plain_text_and_the_numbers_of_lines_can_be_read(page: str, layers: str) -> None:
    """Text is 87 % black or white; numbers, which stand beside changed words, have 70 % of that."""
    ink = (*PAGES[page][1][:3], 0.87)
    assert contrast(ink, background(page, layers)) >= 4.5
    assert layers not in LAYERS or contrast((*ink[:3], 0.7 * 0.87), background(page, layers)) >= 4.5
