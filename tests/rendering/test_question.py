"""What a person sees before deciding."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.messages import Diff, Location, Text
from copilot_kernel.permissions.question import Question
from copilot_kernel.rendering.question import question_html, question_text

from .allowed import text_of
from .samples import GIT_DIFF, call


def asked(**fields):
    return Question(1, call(status="waiting", **fields), ())


@pytest.mark.parametrize(("fields", "words"), [
    ({"title": "Run it", "kind": "execute", "raw_input": {"command": "ls", "commands": ["ls"], "cwd": "/project"}},
     "The agent asks to run a command: Run it\nCommand:\n  ls\nIn the folder:\n  /project"),
    ({"title": "Run it", "kind": "execute", "raw_input": {"command": "ls", "commands": ["rm x"]}},
     "The agent asks to run a command: Run it\nCommand 1 of 2:\n  ls\nCommand 2 of 2:\n  rm x"),
    ({"title": "Run it", "kind": "execute", "raw_input": {"command": "a\nb\n"}},
     "The agent asks to run a command: Run it\nCommand, 2 lines:\n  a\n  b"),
    ({"title": "Get", "kind": "fetch", "raw_input": {"url": "https://x.example"}},
     'The agent asks to fetch from the network: Get\nInput:\n  {\n    "url": "https://x.example"\n  }'),
    ({"title": "Access", "kind": "read", "raw_input": {"path": "/etc"}, "locations": (Location("/etc/passwd"),)},
     "The agent asks to read: Access\nPaths:\n  /etc/passwd\n  /etc"),
    ({"title": "mcp", "content": (Text("Really?"),)}, "The agent asks to use a tool: mcp\nIt says:\n  Really?"),
    ({"title": "ls", "kind": "execute"}, "The agent asks to run a command: ls"),
    ({"kind": "dance"}, "The agent asks to do something (dance): no title"),
])  # fmt: skip
def test_a_question_in_words(fields, words):
    assert question_text(asked(**fields)) == words


def test_an_edit_is_shown_with_its_whole_change():
    raw_input = {"fileName": "/project/notes.txt", "diff": GIT_DIFF}
    question = asked(
        title="Edit file", kind="edit", raw_input=raw_input, content=(Diff("/project/notes.txt", "two", "TWO"),)
    )
    assert question_text(question) == (
        "The agent asks to change a file: Edit file\nChange of /project/notes.txt:\n"
        "  --- /project/notes.txt\n  +++ /project/notes.txt\n  @@ -1,3 +1,3 @@\n   one\n  -two\n  +TWO\n   three"
    )


def test_two_changes_that_differ_are_both_shown():
    raw_input = {"fileName": "/project/notes.txt", "diff": GIT_DIFF}
    question = asked(kind="edit", raw_input=raw_input, content=(Diff("/project/notes.txt", "old\n", "evil\n"),))
    for shown in (question_text(question), text_of(question_html(question))):
        assert "TWO" in shown
        assert "evil" in shown


def test_a_diff_that_we_cannot_read_is_shown_as_it_is():
    question = asked(kind="edit", raw_input={"diff": "nonsense\n@@ -1 +1 @@\n-a\n+b"})
    for shown in (question_text(question), text_of(question_html(question))):
        assert "nonsense" in shown
        assert "+b" in shown


@pytest.mark.parametrize(
    "value", ["\u202e", "\u2066", "\u200b", "\u00ad", "\u200d", "\ufeff", "\u00a0", "\u3000", "\x1b"]
)
@pytest.mark.parametrize("fields", [
    lambda text: {"title": text},
    lambda text: {"raw_input": {"command": text}},
    lambda text: {"raw_input": {"command": ["ls", text]}},
    lambda text: {"raw_input": {"cwd": text}},
    lambda text: {"raw_input": {"path": text}},
    lambda text: {"raw_input": {text: 1}},
    lambda text: {"raw_input": text},
    lambda text: {"locations": (Location(text),)},
    lambda text: {"content": (Text(text),)},
    lambda text: {"content": (Diff("x", text, "y"),)},
    lambda text: {"content": (Diff(text, "x", "y"),)},
    lambda text: {"raw_input": {"diff": f"@@ -1 +1 @@\n-{text}\n"}},
])  # fmt: skip
def test_nothing_is_hidden(fields, value):
    question = asked(**fields(f"ls {value}x"))
    for shown in (question_text(question), question_html(question)):
        assert value not in shown
        assert f"⟨U+{ord(value):04X}⟩" in shown or f"\\u{ord(value):04x}" in shown


def test_a_hidden_character_has_its_name():
    assert 'title="U+202E RIGHT-TO-LEFT OVERRIDE">⟨U+202E⟩</span>' in question_html(asked(title="a\u202eb"))


def test_a_command_cannot_be_pushed_out_of_sight_by_empty_lines():
    question = asked(raw_input={"command": "ls" + "\n" * 500 + "rm x"})
    assert "Command, 501 lines:\n  ls\n  ⟨499 empty lines⟩\n  rm x" in question_text(question)


def test_words_of_every_script_stay_as_they_are():
    assert "größe 大きさ حجم 😀" in question_text(asked(title="größe 大きさ حجم 😀"))


def test_everything_of_the_input_is_shown():
    raw_input = {
        "command": {"run": "secret-1"},
        "cwd": ["secret-2"],
        "directory": "secret-3",
        "workdir": "secret-4",
        "path": ["secret-5", {"x": "secret-6"}],
        "env": {"PATH": "secret-7"},
        "commands": [["secret-8"], "secret-9"],
    }
    question = asked(raw_input=raw_input)
    for shown in (question_text(question), text_of(question_html(question))):
        assert [n for n in range(1, 10) if f"secret-{n}" not in shown] == []


def test_nothing_is_cut():
    command, new = "x" * 300_000 + "END", "".join(f"line {n}\n" for n in range(20_000)) + "END\n"
    for fields in ({"raw_input": {"command": command}}, {"content": (Diff("a", None, new),)}):
        assert "END" in text_of(question_html(asked(**fields)))
        assert "not shown" not in question_html(asked(**fields))
        assert "END" in question_text(asked(**fields))


def test_what_is_long_scrolls_in_its_own_box():
    assert "max-height:320px;overflow:auto" in question_html(asked(raw_input={"command": "ls"}))


# -- questions inside a permission request ---------------------------------------------------------------------------

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": True,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": ""}],
}


def test_questions_inside_a_permission_request_are_readable():
    question = asked(title="Please answer", kind="think", raw_input={"questions": [COLOUR, {"question": "Why?"}]})
    assert question_text(question) == (
        "The agent asks to think: Please answer\nQuestions:\n"
        "  Colour: Which colour? (any number of these)\n    - Red: warm\n    - Blue\n  Why?"
    )
    assert "Input" not in text_of(question_html(question))


def test_the_rest_of_the_input_is_shown_beside_the_questions():
    shown = question_text(asked(raw_input={"questions": [{"question": "Why?"}], "secret": 1}))
    assert shown.endswith('Questions:\n  Why?\nInput:\n  {\n    "secret": 1\n  }')


@pytest.mark.parametrize("questions", [
    "Why?",
    [],
    ["Why?"],
    [{"question": 5}],
    [{"question": "Why?", "command": "hidden"}],
    [{"question": "Why?", "multiSelect": "hidden"}],
    [{"question": "Why?", "options": "hidden"}],
    [{"question": "Why?", "options": [{"label": "a", "run": "hidden"}]}],
    [{"question": "Why?", "options": [{"label": {"x": "hidden"}}]}],
])  # fmt: skip
def test_questions_that_hold_anything_unknown_are_shown_as_they_came(questions):
    shown = question_text(asked(raw_input={"questions": questions, "x": 1}))
    assert "Questions:" not in shown
    assert ("hidden" in shown) == ("hidden" in str(questions))


@pytest.mark.parametrize("value", ["\u202e", "\u200b", "\x1b"])
def test_nothing_is_hidden_in_questions(value):
    option = {"label": f"a{value}", "description": f"b{value}"}
    question = asked(raw_input={"questions": [{"question": f"c{value}", "header": f"d{value}", "options": [option]}]})
    for shown in (question_text(question), question_html(question)):
        assert value not in shown
        assert shown.count(f">⟨U+{ord(value):04X}⟩" if "<" in shown else f"⟨U+{ord(value):04X}⟩") == 4
