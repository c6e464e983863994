"""What a person sees of a form or an address before deciding, and the line that is left of it."""

import anyio
import pytest
from copilot_kernel.acp.elicitation import Elicitation, ElicitationAnswer, FieldChoice, FormField
from copilot_kernel.rendering.elicitation_view import (
    NOT_OPENED,
    SECRET,
    UNSAFE,
    answer_line,
    elicitation_text,
    interview,
    render_elicitation,
)
from copilot_kernel.rendering.question import OPEN
from copilot_kernel.rendering.typed_answer import MAX_ATTEMPTS

from .allowed import problems, text_of
from .hostile import HOSTILE

COLOURS = (FieldChoice("r", "Red", "warm"), FieldChoice("b"))
FORM = Elicitation(
    "Who are you?",
    title="You",
    description="It is for the file.",
    fields=(
        FormField("name", "text", "Your name", required=True, most=20),
        FormField("age", "integer", least=0, most=150),
        FormField("colours", "choices", "Colours", choices=COLOURS, most=1),
        FormField("gift", "boolean", "A gift?"),
    ),
    skipped=("face",),
)


def html_of(request: Elicitation) -> str:
    return str(render_elicitation(request)["text/html"])


def visit(url: str) -> Elicitation:
    return Elicitation("Sign in", "url", id="e", url=url)


def test_a_form_in_words():
    assert elicitation_text(FORM) == (
        "The agent asks you: Who are you?\nYou\nIt is for the file.\n"
        "  Your name: required, at most 20 characters\n"
        "  age: a whole number, 0 to 150\n"
        "  Colours: at most 1 of these\n    - Red: warm\n    - b\n"
        "  A gift?\n"
        "Fields that this client cannot show: face"
    )


def test_the_html_says_the_same_and_above_inputs_no_field_twice():
    head, _, below = html_of(FORM).partition('<div class="copilot-asked-open">')
    expected = ("Who are you?", "You", "It is for the file.", "cannot show: face")
    fields = ("Your name", "at most 20 characters", "0 to 150", "Red: warm", "A gift?", OPEN)
    assert [words for words in expected if words not in text_of(head)] == []
    assert [words for words in fields if words not in text_of(below) or words in text_of(head)] == []


def test_a_form_that_asks_for_a_secret_warns():
    form = Elicitation("Sign in", fields=(FormField("api_key", "text"),))
    assert elicitation_text(form).endswith(SECRET)
    assert SECRET in text_of(html_of(form))
    assert SECRET not in elicitation_text(FORM)


# -- addresses -------------------------------------------------------------------------------------------------------


def test_an_address_is_shown_whole_with_its_host_and_is_a_link():
    url = "https://github.com@evil.example/" + "x" * 500 + "?next=1"
    html = html_of(visit(url))
    assert elicitation_text(visit(url)) == (
        f"The agent asks you to open a link: Sign in\n  {url}\nLeads to evil.example\n{NOT_OPENED}"
    )
    assert f'<a href="{url}" target="_blank" rel="noopener noreferrer nofollow" ' in html
    assert f">{url}</a>" in html
    assert "Leads to evil.example" in text_of(html)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "/lab", "https://x.example y"])
def test_an_address_that_is_none_of_the_web_is_no_link_and_warns(url):
    html = html_of(visit(url))
    assert ("<a " in html, UNSAFE in text_of(html), UNSAFE in elicitation_text(visit(url))) == (False, True, True)
    assert url in text_of(html)


def test_an_address_in_another_script_is_shown_as_it_is_sent_too():
    assert "Leads to аpple.example (xn--pple-43d.example)" in elicitation_text(visit("https://аpple.example/"))


@pytest.mark.parametrize("url", ["https://[", "https://" + "a" * 70 + ".example\u00e4", "https://\u00ad.example"])
def test_an_address_that_makes_no_sense_is_shown_all_the_same(url):
    assert "asks you to open" in elicitation_text(visit(url))
    assert problems(html_of(visit(url))) == []


# -- whatever an agent says -----------------------------------------------------------------------------------------


def everything(text: str) -> list[Elicitation]:
    field = FormField(text, "choices", text, text, format=text, pattern=text, choices=(FieldChoice(text, text, text),))
    return [
        Elicitation(text, title=text, description=text, fields=(field,), skipped=(text,)),
        Elicitation(text, "url", id=text, url=text),
        Elicitation(text, "url", url=f"https://x.example/{text}"),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_it_is_more_than_text(text):
    answers = [ElicitationAnswer("accept", {text: (text,)}, text), ElicitationAnswer("decline", reason=text)]
    for request in everything(text):
        lines = [answer_line(request, answer) for answer in answers]
        assert problems(html_of(request)) == []
        assert [line for line in (*lines, elicitation_text(request)) if "\x1b" in line or "\x00" in line] == []
        assert [line for line in lines if "\n" in line] == []


@pytest.mark.parametrize("value", ["\u202e", "\u200b", "\u00a0", "\x1b"])
def test_nothing_is_hidden_in_a_message(value):
    for request in (Elicitation(f"Say {value}x"), visit(f"https://x.example/{value}")):
        for shown in (elicitation_text(request), html_of(request)):
            assert (value in shown, "<a " in shown) == (False, False)
            assert f"⟨U+{ord(value):04X}⟩" in shown


# -- afterwards ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("request_", "answer", "line"), [
    (FORM, ElicitationAnswer("accept", {"name": "Ada", "gift": False, "colours": ("r", "b"), "age": 36}),
     "Answered: Your name: Ada; age: 36; Colours: Red, b; A gift?: no"),
    (FORM, ElicitationAnswer("accept", {"name": "x" * 100}), f"Answered: Your name: {'x' * 79}…"),
    (FORM, ElicitationAnswer("decline", reason="no one can answer here"), "Declined (no one can answer here)"),
    (FORM, ElicitationAnswer("cancel", reason="withdrawn"), "Cancelled (withdrawn)"),
    (visit("https://x.example/"), ElicitationAnswer("accept"), "Agreed to open https://x.example/"),
    (Elicitation("", fields=(FormField("password", "text"),)), ElicitationAnswer("accept", {"password": "hunter2"}),
     "Answered: password: •••"),
])  # fmt: skip
def test_one_line_says_what_was_decided(request_, answer, line):
    assert answer_line(request_, answer) == line


# -- line by line ------------------------------------------------------------------------------------------------------

COLORS = (FieldChoice("r", "Red"), FieldChoice("g", "Green"), FieldChoice("b"))
NAME = FormField("name", "text", "Name", required=True)
FIELDS = (
    NAME,
    FormField("count", "integer", "How many", least=1, default=3),
    FormField("colour", "choice", "Colour", choices=COLORS),
    FormField("extras", "choices", "Extras", choices=COLORS, default=("r", "b")),
    FormField("gift", "boolean", "A gift?", default=False),
)
INTERVIEW = Elicitation("Who?", fields=FIELDS)


def interviewed(request: Elicitation, *lines: str) -> tuple[list[str], ElicitationAnswer | None]:
    """What is asked, and the answer in the end; None if there are too few lines."""
    prompts, left = [], [*lines]

    async def ask(prompt: str) -> str:
        prompts.append(prompt)
        if not left:
            raise EOFError
        return left.pop(0)

    try:
        return prompts, anyio.run(interview, request, ask)
    except EOFError:
        return prompts, None


def test_each_field_is_asked_and_the_values_are_the_answer():
    assert interviewed(INTERVIEW, "1\n", "Ada\n", "5", "2", "red, 3", "y") == (
        [
            "1) Answer  2) Decline: ",
            "Name (required): ",
            "How many (a whole number, at least 1; default: 3): ",
            "Colour 1) Red  2) Green  3) b: ",
            "Extras (choose any number; numbers separated by commas; default: Red, b) 1) Red  2) Green  3) b: ",
            "A gift? (y or n; default: no): ",
        ],
        ElicitationAnswer("accept", {"name": "Ada", "count": 5, "colour": "g", "extras": ("r", "b"), "gift": True}),
    )


def test_an_empty_line_takes_the_default_or_leaves_the_field_out():
    _, answer = interviewed(INTERVIEW, "1", "Ada", "", "", "", "")
    assert answer == ElicitationAnswer("accept", {"name": "Ada", "count": 3, "extras": ("r", "b"), "gift": False})


@pytest.mark.parametrize(("field", "line", "prompt"), [
    (NAME, "", "This field is required. Name (required): "),
    (FormField("n", "integer"), "many", "Enter a whole number, such as 3. n (a whole number): "),
    (FormField("c", "choice", choices=COLORS), "4", "Type a number from 1 to 3. c 1) Red  2) Green  3) b: "),
    (FormField("c", "choices", choices=COLORS, least=2), "1",
     "Choose at least 2. c (at least 2 of these; numbers separated by commas)"
     " 1) Red  2) Green  3) b: "),
    (FormField("g", "boolean"), "perhaps", "Type y or n. g (y or n): "),
])  # fmt: skip
def test_a_mistake_is_told_and_the_field_asked_again(field, line, prompt):
    prompts, answer = interviewed(Elicitation("", fields=(field,)), "1", line)
    assert (prompts[-1], answer) == (prompt, None)


@pytest.mark.parametrize("line", ["2", "decline", " NO \n"])
def test_it_can_be_declined(line):
    assert interviewed(visit("https://x.example"), "yes")[1] == ElicitationAnswer("accept")
    assert interviewed(INTERVIEW, line)[1] == ElicitationAnswer("decline")


def test_nothing_but_nonsense_is_no_answer_in_the_end():
    lines = ["what?"] * (MAX_ATTEMPTS + 1)
    prompts, answer = interviewed(INTERVIEW, *lines)
    assert (len(prompts), answer) == (MAX_ATTEMPTS, None)
    prompts, answer = interviewed(INTERVIEW, "1", *[""] * (MAX_ATTEMPTS + 1))
    assert (len(prompts), answer) == (1 + MAX_ATTEMPTS, None)
