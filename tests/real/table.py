"""The table of `docs/agents.md`: `python -m tests.real.table` tries everything with every agent and writes it anew."""

import tempfile
from pathlib import Path

from . import plays
from .agents import AGENTS, Agent
from .features import FEATURES, column, version

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
Columns = dict[str, list[str]]


def read(page: str) -> tuple[list[str], Columns]:
    """The titles of the rows, and each agent's column by its name and version."""
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    head, rows = table[0], table[2:]
    return [row[0] for row in rows], {name: [row[at] for row in rows] for at, name in enumerate(head) if at}


def written(page: str, columns: Columns) -> str:
    """The page with these columns in the place of its table."""
    lines = page.splitlines()
    at = [number for number, line in enumerate(lines) if line[:1] == "|"]
    rows = zip((feature.title for feature in FEATURES), *columns.values(), strict=True)
    table = [["", *columns], ["---"] * (len(columns) + 1), *map(list, rows)]
    lines[at[0] : at[-1] + 1] = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in table]
    return "\n".join(lines) + "\n"


def tried(agent: Agent, folder: Path) -> tuple[str, list[str]]:
    """The agent's heading and column."""
    found = plays.perform("findings", agent, folder / agent.name, folder / "cache")
    if agent.listen:
        found["listening"] = plays.perform("listening_agent", agent, folder / f"{agent.name}-tcp", folder / "cache")
    return version(found), column(found)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in [agent.name for agent in AGENTS.values()] + [f"{agent.name}-tcp" for agent in AGENTS.values()]:
            Path(folder, name).mkdir()
        columns = dict(tried(agent, Path(folder)) for agent in AGENTS.values())
    PAGE.write_text(written(PAGE.read_text("utf-8"), columns), "utf-8")
    print(PAGE.read_text("utf-8"))


if __name__ == "__main__":
    main()
