"""Lines that got through once: each was run, and wrote or showed what no rule allows."""

from __future__ import annotations

import pytest

from .lines import Row, rows
from .test_lines import judged, name

_RULES = "cp *; mv *; ln *; install *; unzip *; patch *; awk *; awk -F *; jq *; du *; wc *; file *; cat *"
GOT_THROUGH = rows(
    _RULES,
    ("cp -b -S d src/x AGENTS.m", "the suffix of the backup makes the name"),
    ("cp -rb -S x . src/c", "the suffix of the backup makes the name"),
    ("cp --backup --suffix=d src/x AGENTS.m", "the same by its long name"),
    ("cp --suf=d src/x AGENTS.m", "an abbreviation of it"),
    ("mv -bS d src/x AGENTS.m", "the same of another program"),
    ("ln -S d -b src/x AGENTS.m", "the same of another program"),
    ("install -bSd src/x AGENTS.m", "the same of another program"),
    ("cp -s ../x sub", "a link"),
    ("patch -p1 -i src/fix", "a patch may change every file"),
    ("patch -z --dry-run -i src/fix", "a value that looks like an option"),
    ('awk -F -v \'BEGIN{print "touch P" | "sh"}\'', "-v is the value of -F"),
    ("awk 'BEGIN{x=1system(\"evil\")}'", "a number, and a name without a blank"),
    ('jq -n \'import "config" as $d {search:"~/.docker"}; $d\'', "shows a file with secrets"),
    ("jq -n env", "shows the environment"),
    ("jq -n '$ENV.TOKEN'", "shows the environment"),
    ("jq -n '{} | . env'", "a name behind a dot with a blank"),
    ("jq -n '$__prog_args'", "shows what it was started with"),
    ("du --files0-from=.env", "shows the names in it"),
    ("du --f=.env", "an abbreviation of it"),
    ("wc --files0-from=.env", "shows the names in it"),
    ("file -m src/x y", "shows the lines of what is no magic"),
    ("file --magic-file=src/x y", "the same by its long name"),
    ("cat ~/.kaggle/kaggle.json", "shows secrets"),
    ("cat ~/.databrickscfg", "shows secrets"),
    ("cat ~/.dbt/profiles.yml", "shows secrets"),
    ("cat .streamlit/secrets.toml", "shows secrets"),
    ("cat ~/.s3cfg", "shows secrets"),
    ("cat ~/.boto", "shows secrets"),
    ("cat ~/.config/containers/auth.json", "shows secrets"),
    ("cat ~/.cache/huggingface/stored_tokens", "shows secrets"),
)
STILL_ALLOWED = rows(
    _RULES,
    ("cp -rv src/a docs", "what cp is for"),
    ("cp -t docs src/a", "into a folder"),
    ("mv -n src/a docs", "what mv is for"),
    ("ln -sf src/a b", "what ln is for"),
    ("install -m 755 -D src/a bin/a", "what install is for"),
    ("patch --dry-run -p1 -i src/fix", "nothing is changed"),
    ("awk '/filesystem/ {print}' a", "a word that ends like another"),
    ("awk -F , '{print $1}' a", "a separator apart"),
    ("jq '.config.env' a.json", "a key"),
    ("jq -r '.env | keys[]' a.json", "a key"),
    ("du -sh src", "a size"),
    ("wc -l a.py", "a count"),
)


@pytest.mark.parametrize("row", GOT_THROUGH, ids=name)
def test_it_asks(row: Row) -> None:
    assert judged(row).outcome == "ask"


@pytest.mark.parametrize("row", STILL_ALLOWED, ids=name)
def test_ordinary_work_beside_it_is_allowed(row: Row) -> None:
    assert judged(row).outcome == "allow"
