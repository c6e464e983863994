"""The tests' own measure must be able to fail."""

from __future__ import annotations

import pytest
from copilot_kernel.rendering.markup import NO_MATHS

from .allowed import problems
from .hostile import HOSTILE


@pytest.mark.parametrize("html", [
    "<script>alert(1)</script>",
    "<p onclick='x'>x</p>",
    "<a href='javascript:x'>x</a>",
    "<a href='/lab'>x</a>",
    "<a href='data:text/html;base64,aGk=' download='x'>x</a>",
    "<a href='https://x.example' download='../x'>x</a>",
    "<img src='https://x.example/y.png'>",
    "<p style='background-image:url(x)'>x</p>",
    "<p style='position:fixed'>x</p>",
    "<p class='jp-Dialog'>x</p>",
    "<button>x</button>",
    "<!-- x -->",
    "<p>",
    "</p>",
    "<p></div>",
])  # fmt: skip
def test_html_that_is_not_ours_is_found(html):
    assert problems(html) != []


def test_our_own_html_passes():
    assert problems(f'<div class="{NO_MATHS}" style="color:#123456"><br>&lt;script&gt;</div>') == []


def test_there_are_many_different_hostile_texts():
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60
