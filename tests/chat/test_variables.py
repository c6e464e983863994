"""Variables of the project: the agent starts without them, a line says so, and the user can give them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from copilot_kernel.chat.trust import still_withheld
from copilot_kernel.chat.variables import note, withheld
from copilot_kernel.config import Settings
from copilot_kernel.errors import AuthRequired
from copilot_kernel.permissions.question import PermissionAnswer, Question

from .conftest import Open
from .people import Person, ask

LINE = "Not given to the agent: 2 variables of .env (A_NAME, B_NAME). To give them to it, use %permissions give."


class Asked(Person):
    """Answers no question of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.trust = list[Question]()

    async def ask(self, question: Question) -> PermissionAnswer:
        if question.call:
            return await super().ask(question)
        self.trust.append(question)
        return PermissionAnswer(None, "you")


@pytest.fixture
def with_file(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Settings]:
    """`with_file(line, **variables)`: with a `.env` that names them, and a process that has them."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))

    def made(text: str, **variables: str) -> Settings:
        Path(settings.cwd, ".env").write_text(text)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return Settings(cwd=settings.cwd, start_folder=settings.cwd, state=settings.state)

    return made


async def test_the_agent_starts_without_them_and_nothing_is_asked(
    opened: Open, with_file: Callable[..., Settings]
) -> None:
    kept = with_file("A_NAME=1\nB_NAME=2\nC_NAME=3\n", A_NAME="secret", B_NAME="", COPILOT_HOME=os.devnull)
    async with opened(start_folder=kept.start_folder) as chat:
        assert (await ask(chat, "demo: say hello", person := Asked())).text == "hello"
        assert person.trust == []
        environ = chat.agent.running.environ
        assert {"A_NAME", "B_NAME"} & {*environ} == set()
        assert (environ["COPILOT_HOME"], os.environ["A_NAME"]) == (os.devnull, "secret")
        assert note(chat.agent.settings) == LINE


async def test_what_the_user_gives_counts_for_this_file_as_it_is(
    opened: Open, with_file: Callable[..., Settings]
) -> None:
    kept = with_file("A_NAME=1\nB_NAME=2\n", A_NAME="secret", B_NAME="")
    async with opened(start_folder=kept.start_folder) as chat:
        await ask(chat, "demo: say one", Asked())
        chat.trust.store.remember(withheld(chat.settings), "trusted")
        saved = "".join(file.read_text() for file in Path(os.environ["JUPYTER_DATA_DIR"]).rglob("trusted/*"))
        assert saved
        assert "secret" not in saved
        await chat.restart()
        assert (await ask(chat, "demo: say two", Asked())).text == "two"
        assert chat.agent.running.environ["A_NAME"] == "secret"
        assert note(chat.agent.settings) == ""
        (known,) = chat.trust.store.all()
        chat.trust.store.revoke(known.id)
        assert [item.name for item in still_withheld(chat.settings)] == [".env"]


async def test_in_a_trusted_folder_they_are_given(opened: Open, with_file: Callable[..., Settings]) -> None:
    kept = with_file("A_NAME=1\n", A_NAME="x")
    async with opened(start_folder=kept.start_folder, trusted_folders=(kept.start_folder,)) as chat:
        await ask(chat, "demo: say one", Asked())
        assert (chat.agent.running.environ["A_NAME"], note(chat.agent.settings)) == ("x", "")


async def test_a_sign_in_that_fails_names_them(opened: Open, with_file: Callable[..., Settings]) -> None:
    kept = with_file("A_NAME=1\nB_NAME=2\n", A_NAME="key", B_NAME="")
    async with opened(start_folder=kept.start_folder, switches="signed-out,auth=meta+agent") as chat:
        with pytest.raises(AuthRequired) as raised:
            await ask(chat, "demo: say one", Asked())
        assert raised.value.hint.splitlines()[-1] == LINE


@pytest.mark.parametrize(("line", "name", "value"), [
    ("DATABASE_URL=postgres://x\nPORT=1", "PORT", "1"),
    ("COPILOT_HOME=${PWD}/ch", "COPILOT_HOME", "{}/ch"),
    ("HOME=.", "HOME", "."),
])  # fmt: skip
async def test_five_prompts_in_a_project_with_variables_ask_nothing_and_obey_nothing_of_it(
    opened: Open, with_file: Callable[..., Settings], line: str, name: str, value: str
) -> None:
    kept = with_file(line)
    with_file(line, **{name: value.format(kept.start_folder)})
    person = Asked()
    async with opened(start_folder=kept.start_folder) as chat:
        for number in range(5):
            await ask(chat, f"demo: say {number}", person)
        assert chat.agent.running.environ.get(name) != value.format(kept.start_folder)
    assert person.trust == []
