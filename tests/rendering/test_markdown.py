"""Markdown that agents write, as HTML."""

import re
import subprocess
import sys

import pytest
from copilot_kernel.rendering.markdown import to_html
from copilot_kernel.rendering.markup import BLUE, CODE_BLOCK, pre, text_colour
from hypothesis import given, settings
from hypothesis import strategies as st

from ..limits import LIMIT, examples
from .allowed import problems, text_of

LINK = 'style="text-decoration:underline" target="_blank" rel="noopener noreferrer nofollow"'
PLAIN = '<span class="mathjax_ignore tex2jax_ignore">'


@pytest.mark.parametrize(("source", "html"), [
    ("", ""),
    ("a *b* **c** ~~d~~ `e`", "<p>a <em>b</em> <strong>c</strong> <s>d</s> <code>e</code></p>\n"),
    ("[a](https://x.example)", f'<p><a href="https://x.example" {LINK}>a</a></p>\n'),
    ("[$x$](https://x.example)", f'<p><a href="https://x.example" {LINK}>$x$</a></p>\n'),
    ("so\n$$\na = b\n$$", "<p>so</p>\n<p>$$\na = b\n$$</p>\n"),
    ("<https://x.example>", f'<p><a href="https://x.example" {LINK}>https://x.example</a></p>\n'),
    ("[a](src/a.py)", '<p><span title="src/a.py">a</span></p>\n'),
    ("[a](javascript:x)", "<p>[a](javascript:x)</p>\n"),
    ("![a](https://x.example/y.png)",
     f'<p><a href="https://x.example/y.png" {LINK}>[image: a] https://x.example/y.png</a></p>\n'),
    ("![](chart.png)", "<p>[image: no description] chart.png</p>\n"),
    ("[![a](https://x.example/y.png)](https://z.example)",
     f'<p><a href="https://z.example" {LINK}>[image: a] https://x.example/y.png</a></p>\n'),
    ("- [ ] a\n- [x] b\n- [y] c", "<ul>\n<li>☐ a</li>\n<li>☑ b</li>\n<li>[y] c</li>\n</ul>\n"),
    ("<b>a</b> <!-- c -->", "<p>&lt;b&gt;a&lt;/b&gt; &lt;!-- c --&gt;</p>\n"),
    ("a\x00\x1b[31mb\r\nc", "<p>ab\nc</p>\n"),
    ("a\ud83d\ude00b\ud800", "<p>a😀b\ufffd</p>\n"),
])  # fmt: skip
def test_markdown(source, html):
    assert to_html(source) == html


def test_a_table_is_aligned_as_written_and_to_the_left_otherwise():
    assert to_html("| a | b |\n|---|--:|\n| 1 | 2 |").replace("\n", "") == (
        '<table><thead><tr><th style="text-align:left">a</th><th style="text-align:right">b</th></tr></thead>'
        '<tbody><tr><td style="text-align:left">1</td><td style="text-align:right">2</td></tr></tbody></table>'
    )


@pytest.mark.parametrize(("source", "body"), [
    ("```python\ndef f(): ...\n```",
     f'<span style="color:{text_colour("#ac51cb")}">def</span> <span style="color:{BLUE}">f</span>(): ...\n'),
    ("```nonsense\n<b>\n```", "&lt;b&gt;\n"),
    ("```\n\n a\n```", "\n a\n"),
    ("    a", "a\n"),
    ("```diff\n+a\n-b\n@@ -1 +1 @@\n--- c\n d\n```",
     '<span style="display:block;background-color:#2ea04326">+a\n</span>'
     '<span style="display:block;background-color:#f8514926">-b\n</span>'
     f'<span style="color:{text_colour("#ac51cb")}">@@ -1 +1 @@\n</span>--- c\n d\n'),
])  # fmt: skip
def test_code(source, body):
    assert to_html(source).strip() == pre(body, kind=CODE_BLOCK)


def test_styles_that_are_not_ours_do_not_pass():
    from copilot_kernel.rendering.markdown import _kept

    assert _kept("span", "style", f"color:{BLUE}") == f"color:{BLUE}"
    assert _kept("span", "style", "color:#000000") is None
    assert _kept("span", "class", "mathjax_process") is None
    assert _kept("a", "href", "javascript:alert(1)") is None


@pytest.mark.parametrize("formula", [
    "$x$", "$x_1 + y$", "$a = b$", "$e^{i\\pi} + 1 = 0$", "$\\alpha$", "$2x$", "$x_{max}$", "$f(x)$",
    "$$E = mc^2$$", "\\(a + b\\)", "\\[a + b\\]", "$$\na = b\n- c\n$$", "\\[\n\\frac{a}{b}\n\\]",
    "\\begin{align}\na &= b\\\\\nc &= d\n\\end{align}", "$\\text{speed} = 3$",
])  # fmt: skip
def test_a_formula_reaches_mathjax_as_it_was_written(formula):
    html = to_html(f"so\n\n{formula}\n\nand")
    assert PLAIN not in html
    assert formula in text_of(html)


@pytest.mark.parametrize("text", [
    "costs $5 and then $10", "$HOME and $PATH", "$HOME/$PATH", "$5", "US$ 5", "$1,000-$2,000", "a $ b $ c",
    "$MAX_SIZE$", "$x $y", "cost: $20/$30", "C:\\Users", "${x}", "$", "$$", "\\[", "\\begin{x}", "$x$y", "$x$2",
    "\\(", "$\\href{javascript:x}{y}$", "$$\\require{html}$$", "\\(\\def\\alpha{x}\\)", "\\ref{a}",
])  # fmt: skip
def test_what_is_no_formula_is_hidden_from_mathjax(text):
    html = to_html(text)
    outside = re.sub(re.escape(PLAIN) + r"[$\\]+</span>", "", html)
    assert "$" not in outside
    assert "\\" not in outside


@pytest.mark.parametrize("piece", [
    "[", "![", "](", "*a ", "**", "_a", "`", "``a`", "> ", "- ", "1. ", "~~", "<", "&", "\\", "$", "$$", "\\(", "$x",
    "|", "| a ", "[a](", "[a]: b\n", "a\n", "```\n", "$$\n", "\\[\n", "\\begin{a}\n", "#", "<a@b", "http://", "  ",
    "\t", "\n", "a  \n", "![a](b", "- [ ] ", "*a_ ", "**a *b ",
])  # fmt: skip
def test_a_text_made_to_be_slow_is_not(piece):
    """If it were, this would not end."""
    assert problems(to_html((piece * 20_000)[:20_000])) == []


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.sampled_from([*"[]()!<>*_`~$\\#-+|: \n\t\"'&a1", "http://", "javascript:", "```", "$$", "    "])).map(
        "".join
    )
)
def test_any_markdown_is_safe(source):
    assert problems(to_html(source)) == []


def test_importing_the_package_imports_no_renderer():
    """Each of them would cost tens of milliseconds at the kernel's start."""
    names = ("attachment", "blocks", "entry", "failure", "markdown", "question", "report")
    code = f"import sys; {'; '.join(f'import copilot_kernel.rendering.{name}' for name in names)}"
    code += "; print([m for m in ('markdown_it', 'nh3', 'pygments') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=True)
    assert done.stdout == "[]\n"


def test_headings_stay_out_of_the_table_of_contents_of_the_notebook():
    assert to_html("# One\n\nTwo\n---") == '<h1 class="tocSkip">One</h1>\n<h2 class="tocSkip">Two</h2>\n'
