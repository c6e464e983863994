"""axe-core, which finds what people with disabilities cannot read or use."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

AXE = Path(__file__).parents[1] / "peers" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")
RUN = """async include => {
  document.querySelectorAll('details').forEach(each => { each.open = true; });
  const found = await window.axe.run({ include }, { resultTypes: ['violations'] });
  return found.violations.flatMap(({ id, impact, nodes }) => nodes.map(({ html, any, all, none }) =>
    ({ id, impact, html, why: [...any, ...all, ...none].map(each => each.message).join(' ') })));
}"""


def findings(page: Page, *include: str) -> list[str]:
    """Every serious finding inside of the elements that `include` selects, once their folds are open."""
    if not AXE.is_file():
        pytest.skip("axe-core is missing: npm install --prefix tests/peers")
    page.evaluate(f"() => {{ {AXE.read_text('utf-8')} }}")
    found: list[dict[str, Any]] = page.evaluate(RUN, list(include))
    return [f"{each['id']}: {each['why']} {each['html']}" for each in found if each["impact"] in SERIOUS]
