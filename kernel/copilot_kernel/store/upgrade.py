"""What users must hear once after an upgrade; a marker in the state folder remembers that they have."""

from __future__ import annotations

from pathlib import Path

from ..permissions.rulebook import Rulebook

MARKER = "rules-are-prefixes"


def upgrade_notice(folder: Path, book: Rulebook) -> str | None:
    """Name the rules that may allow more than they did before rules became prefixes of words, at the first start.

    A state folder that does not exist yet means that nothing was upgraded. Writes the marker.
    """
    marker = folder / MARKER
    try:
        is_upgraded = folder.is_dir() and not marker.exists()
        if not marker.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            marker.touch(mode=0o600)
    except OSError:
        return None
    rules = [rule.text for rule in book.rules.allow if rule.command and rule.command.is_open]
    if not (is_upgraded and rules):
        return None
    return (
        f"Since this version a rule such as Bash(git *) allows any arguments but those that docs/security.md lists. "
        f"These rules may now allow more: {', '.join(rules)}. Review them with %permissions.\n"
    )
