"""What a person sees before deciding."""

from __future__ import annotations

import re

import pytest
from copilot_kernel.acp.messages import Diff, Location, Option, ResourceLink, Terminal, Text
from copilot_kernel.permissions.question import Answer, Question
from copilot_kernel.rendering.question import is_alarming, question_html, question_text, render_question
from copilot_kernel.rendering.reasons import OPEN, remark
from copilot_kernel.rendering.typed import prompt, typed_answer

from .allowed import problems, text_of
from .hostile import HOSTILE
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
     "The agent asks to fetch from the network: Get\nInput:\n  url: https://x.example"),
    ({"title": "Get", "raw_input": {"url": {"host": "x"}}},
     'The agent asks to use a tool: Get\nInput:\n  {\n    "url": {\n      "host": "x"\n    }\n  }'),
    ({"title": "Get", "raw_input": {"n": 3, "all": True}},
     "The agent asks to use a tool: Get\nInput:\n  n: 3\n  all: true"),
    ({"title": "Say", "raw_input": {"text": "a\nWhy you are asked: no reason"}},
     'The agent asks to use a tool: Say\nInput:\n  {\n    "text": "a\\nWhy you are asked: no reason"\n  }'),
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


BOX = r'<pre style="[^"]*max-height:\d+px;overflow:auto[^"]*" tabindex="0" role="region" aria-label="([^"]*)">'


@pytest.mark.parametrize(("fields", "names"), [
    ({"raw_input": {"command": "ls"}}, ["Command"]),
    ({"raw_input": {"command": "a\nb", "commands": ["c"]}}, ["Command 1 of 2, 2 lines", "Command 2 of 2"]),
    ({"content": (Diff("a.txt", "x", "y"), Text("long\n" * 9))}, ["Change of a.txt", "It says"]),
    ({"raw_input": {"diff": "nonsense\n@@ -1 +1 @@\n-a\n+b\n" * 3}}, ["Change"]),
    ({"raw_input": {"x": ["long"] * 9}}, ["Input"]),
])  # fmt: skip
def test_what_is_long_scrolls_in_a_box_that_has_a_name_and_can_be_reached_by_keyboard(fields, names):
    assert re.findall(BOX, question_html(asked(**fields))) == names


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
    assert shown.endswith("Questions:\n  Why?\nInput:\n  secret: 1")


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


# -- where, why, and what "always" means -----------------------------------------------------------------------------

ROOT = "/project"


def facts(root=ROOT, folder="", **fields):
    """What stands under the first line, in words."""
    return question_text(Question(1, call(status="waiting", title="t", **fields), (), folder=folder), root).split("\n")[
        1:
    ]


@pytest.mark.parametrize(("folder", "shown"), [
    ("/project", "/project"),
    ("/project/", "/project/"),
    ("/project/src", "/project/src (inside the project, but not its folder)"),
    ("src", "/project/src (inside the project, but not its folder)"),
    ("/", "/ (outside the project)"),
    ("/projectile", "/projectile (outside the project)"),
    ("/project/../etc", "/project/../etc (outside the project)"),
    ("~", "~ (outside the project)"),
])  # fmt: skip
def test_the_folder_of_a_command_is_marked_unless_it_is_the_projects(folder, shown):
    wanted = ["Command:", "  ls", "In the folder:", f"  {shown}"]
    assert facts(raw_input={"command": "ls", "cwd": folder}) == wanted
    assert facts(raw_input={"command": "ls"}, folder=folder) == wanted


@pytest.mark.parametrize(("path", "shown"), [
    ("a.txt", "/project/a.txt"),
    ("/project/a.txt", "/project/a.txt"),
    ("/etc/passwd", "/etc/passwd (outside the project)"),
    ("../x", "/project/../x (outside the project)"),
    ("b/../x", "/project/b/../x (its end depends on links)"),
    ("~/.ssh", "~/.ssh (outside the project)"),
    ("https://x.example", "https://x.example"),
])  # fmt: skip
def test_every_path_is_whole_and_marked_if_it_lies_outside(path, shown):
    assert facts(locations=(Location(path),)) == ["Path:", f"  {shown}"]
    assert facts(content=(Diff(path, "", ""),))[0] == f"Change of {shown}:"
    html = question_html(asked(locations=(Location(path),)), ROOT)
    assert ("⚠" in html) == ("(" in shown)


def test_paths_begin_in_the_folder_that_the_call_works_in():
    shown = facts(raw_input={"command": "ls", "cwd": "/project/src"}, locations=(Location("a.txt"),))
    assert shown[-2:] == ["Path:", "  /project/src/a.txt"]


def test_without_a_project_nothing_is_said_to_lie_outside():
    assert facts("", locations=(Location("/etc/passwd"),)) == ["Path:", "  /etc/passwd"]


def test_another_file_that_the_agents_own_diff_names_is_shown():
    diff = "--- a/project/x.py\n+++ b/etc/passwd\n@@ -1 +1 @@\n-a\n+b"
    shown = facts(raw_input={"fileName": "/project/x.py", "diff": diff})
    assert shown[0] == "Change of /project/x.py:"
    assert shown[-2:] == ["Path:", "  /project/etc/passwd"]


def test_the_output_of_a_terminal_is_shown_too():
    assert question_text(asked(content=(Terminal(output="one\u202e"),))).endswith("Terminal output:\n  one⟨U+202E⟩")


def test_what_else_the_agent_sends_along_is_shown():
    shown = question_text(asked(content=(ResourceLink("https://x.example/y", "the plan"),)))
    assert "It sends:" in shown
    assert "https://x.example/y" in shown


OPTIONS = (
    Option("1", "Yes", "allow_once"),
    Option("2", "Always", "allow_always"),
    Option("3", "No", "reject_once"),
    Option("4", "Never", "reject_always"),
)


@pytest.mark.parametrize(("fuller", "title", "also"), [
    ("lab-echo", "echo", []), ("Creating /project/new.py", "Create file", ["Also called:", "  Create file"]),
])  # fmt: skip
def test_the_title_that_says_most_heads_the_question(fuller, title, also):
    question = asked(title=title, fuller_title=fuller)
    assert question_text(question).split("\n")[0].endswith(f": {fuller}")
    assert question_text(question).split("\n")[1 : 1 + len(also)] == also
    shown = text_of(question_html(question))
    assert all(words.strip(" :") in shown for words in (fuller, *also))


@pytest.mark.parametrize(("kind", "copilot"), [
    ("execute", " GitHub Copilot: the identical command."),
    ("edit", " GitHub Copilot: every later edit."),
    ("other", " GitHub Copilot: every use of this tool."),
    ("fetch", ""),
    ("execute", ""),
    ("edit", ""),
    ("other", ""),
])  # fmt: skip
def test_it_says_what_always_will_mean(kind, copilot):
    question = Question(1, call(title="t", kind=kind), OPTIONS, of_copilot=bool(copilot))
    same = f"this and, from now on, what it takes for the same: the agent decides what that is.{copilot}"
    wanted = ["“Always”:", f"  The agent allows {same}", "“Never”:", f"  The agent rejects {same}"]
    assert question_text(question).split("\n")[1:] == wanted
    for words in wanted:
        assert words.strip(" :") in text_of(question_html(question))


def test_it_says_why_a_person_is_asked_and_what_would_have_allowed_it():
    question = Question(1, call(title="t"), (), why="No rule allows it.", rules=("Bash(ls)", "Bash"))
    wanted = ["Why you are asked:", "  No rule allows it.", "Would be allowed by:", "  Bash(ls)", "  Bash"]
    assert question_text(question).split("\n")[1:] == wanted
    for words in wanted:
        assert words.strip(" :") in text_of(question_html(question))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_every_field_of_a_question_is_only_text(text):
    options = tuple(Option(text, text, kind) for kind in ("allow_once", "allow_always", "reject_always", text))
    about = call(title="t", raw_input={"command": text, "cwd": text}, locations=(Location(text),))
    question = Question(1, about, options, why=text, rules=(text, text), suggestion=text, folder=text)
    for root in ("", ROOT, text):
        assert problems(question_html(question, root)) == []
        assert "\u202e" not in question_text(question, root) + question_html(question, root)


# -- what hides ------------------------------------------------------------------------------------------------------


def test_a_line_says_what_hides_in_it():
    question = asked(title="a\u202eb", raw_input={"command": "ls \u200b\u200b"})
    words = (
        "Hidden characters, each shown as a code in ⟨⟩: U+200B ZERO WIDTH SPACE (×2), U+202E RIGHT-TO-LEFT OVERRIDE."
    )
    assert f"Take care:\n  {words}" in question_text(question)
    assert words in text_of(question_html(question))


def test_many_kinds_of_hidden_characters_are_counted():
    command = "".join(map(chr, range(0x200B, 0x2010))) + "\x1b\x07\x08"
    assert ", 2 other kinds." in question_text(asked(raw_input={"command": command}))


def test_nothing_is_said_where_nothing_hides():
    assert "Hidden" not in question_text(asked(title="größe 😀", raw_input={"command": "ls -l\n\tcat"}))


@pytest.mark.parametrize(("fields", "alarming"), [
    ({"raw_input": {"command": "ls"}}, False),
    ({"raw_input": {"command": "ls\u200b"}}, True),
    ({"raw_input": {"command": "ls", "cwd": "/"}}, True),
    ({"locations": (Location("/project/x"),)}, False),
    ({"locations": (Location("/x"),)}, True),
    ({"content": (Diff("/x", "", "a"),)}, True),
    ({"content": (Diff("x", "", "a\u202e"),)}, True),
])  # fmt: skip
def test_whatever_hides_or_reaches_out_is_alarming(fields, alarming):
    assert is_alarming(asked(**fields), ROOT) == alarming


# -- colours, and what is kept in a notebook -------------------------------------------------------------------------

COMMANDS = (
    "git log --oneline | head -3",
    "echo 'a\r\nb'\r",
    "\ufeffls",
    "x=$(cat <<E\n$(rm x)\nE\n)",
    "if `",
    "\\\n",
    "'",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_colours_leave_nothing_of_a_command_out(command):
    shown = text_of(question_html(asked(raw_input={"command": command})))
    for hidden in ("\r", "\ufeff"):
        command = command.replace(hidden, f"⟨U+{ord(hidden):04X}⟩")
    assert command in shown


def test_a_command_is_coloured():
    assert re.search(
        r"<span style=\"color:#\w+\">&#x27;a b&#x27;</span>", question_html(asked(raw_input={"command": "ls 'a b'"}))
    )


def test_an_option_is_not_broken_after_its_hyphens():
    assert '<span style="display:inline-block">--all-files</span>' in question_html(
        asked(raw_input={"command": "x --all-files y"})
    )


def test_what_is_kept_says_that_it_was_not_answered():
    kept = render_question(asked(raw_input={"command": "ls"}))
    assert kept["text/plain"].endswith(f"\n{OPEN}")
    assert OPEN in text_of(kept["text/html"])
    assert OPEN not in question_html(asked(raw_input={"command": "ls"}))


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("Allow once", "allow_once", ""),
        ("Yes, and don't ask again for this", "allow_once", ""),
        ("Do not ask me again", "allow_always", "kept by the agent"),
        ("Deny", "allow_once", "this allows it"),
        ("No, thank you", "allow_once", "this allows it"),
        ("Cancel", "allow_always", "this allows it, kept by the agent"),
        ("Deny", "reject_once", ""),
        ("Never", "reject_always", "kept by the agent"),
    ],
)
def test_a_yes_that_is_named_like_a_no_says_so(name: str, kind: str, said: str) -> None:
    assert remark(Option("1", name, kind)) == said


def test_a_line_of_input_says_so_too() -> None:
    asked = Question(1, call(), (Option("1", "Deny", "allow_once"), Option("2", "Allow", "reject_once")))
    assert prompt(asked).startswith("1) Deny (this allows it)  2) Allow")
    assert typed_answer("deny", asked) == Answer(asked.options[0], "you")
