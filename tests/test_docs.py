"""README and docs: links lead somewhere, commands parse, settings and %commands exist, examples compile.

`tests/server/test_clients.py` runs the examples of `docs/server.md`, `.ci/run` the two commands of the README.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from copilot_kernel.cli.parser import parse
from copilot_kernel.commands.command_table import TABLE
from copilot_kernel.config import PREFIX, Settings

from tests.docs_lists import PAGES as GENERATED
from tests.docs_lists import written

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is only in a checkout")

NOT_RUN = {
    "npm": "installs from the network",
    "pip": "installs from the network",
    "copilot": "signs in to an account",
    "jupyter": "starts servers and consoles until they are stopped; tests of each front end start them",
    "pytest": "is what runs this test",
    "pre-commit": "installs from the network",
    ".ci/run": "runs this test",
    "curl": "run by tests/server/test_clients.py",
}
OTHER_MAGICS = {"load_ext", "unload_ext", "copilot", "env", "time", "capture"}
PLACEHOLDERS = {"commands", "name"}


def words_of(page: Path) -> int:
    return len(page.read_text("utf-8").split())


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Each fenced block in this language, with the name of its page."""
    for page in PAGES:
        for text in re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            yield page.name, text


def commands() -> Iterator[tuple[str, list[str]]]:
    for name, text in (*blocks("sh"), *blocks("bash")):
        for line in text.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield name, words


def anchors(page: Path) -> set[str]:
    """The ids that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_to_files_and_headings() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8")):
            path, _, anchor = target.partition("#")
            if ":" in path:
                continue
            file = (page.parent / path).resolve() if path else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [page.name for page in PAGES if page.parent == ROOT / "docs" and f"docs/{page.name}" not in readme] == []


def test_commands_parse_and_the_others_have_a_reason_not_to_run() -> None:
    for name, words in commands():
        while words and re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
            words = words[1:]
        if words[:2] == ["uv", "run"]:
            words = words[2:]
        if words[0] == "copilot-kernel":
            assert parse(words[1:]).command == words[1], name
        else:
            assert words[0] in NOT_RUN, f"{name}: {words}"


def test_settings_that_the_pages_name_exist() -> None:
    known = {PREFIX + field.name.upper() for field in fields(Settings)}
    for page in PAGES:
        named = set(re.findall(rf"{PREFIX}[A-Z][A-Z_]*[A-Z]", page.read_text("utf-8")))
        assert named <= known | {"COPILOT_KERNEL_DEMO_COMMAND"}, page.name


def test_commands_of_cells_that_the_pages_name_exist() -> None:
    for page in PAGES:
        named = set(re.findall(r"`%([a-z_]+)", page.read_text("utf-8")))
        assert named <= {*TABLE, *OTHER_MAGICS, *PLACEHOLDERS}, page.name


def test_examples_in_python_compile() -> None:
    for name, text in blocks("python"):
        if not re.search(r"^(%|.*= %|c\.)", text, re.MULTILINE):  # magics, and files of configuration
            compile(text, name, "exec")


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_lists_of_settings_and_commands_are_those_of_the_code(path: Path) -> None:
    page = path.read_text("utf-8")
    assert page == written(page, GENERATED[path]()), "regenerate it: python -m tests.docs_lists"


def test_the_readme_is_read_in_ninety_seconds() -> None:
    assert words_of(ROOT / "README.md") <= 400
