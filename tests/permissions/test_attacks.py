"""Lines that got through once: each was run, and wrote or showed what no rule allows."""

from __future__ import annotations

import pytest

from .lines import Row, rows
from .test_lines import judged, name

_RULES = "tar *; cp *; mv *; ln *; install *; unzip *; patch *; awk *; awk -F *; jq *; du *; wc *; file *; cat *"
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
    ("cp -r --target-directory=venv src/bin", "a folder without a dot or a slash"),
    ("cp -rtvenv src/bin", "the same, attached"),
    ("mv -tvenv src/bin", "the same, attached"),
    ("ln -tvenv src/bin -s", "the same, attached"),
    ("tar -xf src/b.tar --directory=venv", "the same, of another program"),
    ("tar -xCvenv -f src/b.tar", "the same, attached"),
    ("unzip -dvenv src/b.zip", "the same, attached"),
    ("ln -s .. ../../l", "where it leads depends on where the link is"),
    ("ln -s ../x sub/l", "where it leads depends on where the link is"),
    ("tar -xf src/b.tar", "what is in it may be a hook"),
    ("tar xf src/b.tar", "the same without a dash"),
    ("tar --get --file=src/b.tar", "the same by a long name"),
    ("tar -x -f -C src/b.tar", "the archive is called -C"),
    ("tar -xf src/b.tar -C .", "a folder that is not its own"),
    ("tar -xf -xO -x", "the archive is called like an option"),
    ("unzip src/b.zip", "what is in it may be a hook"),
    ("unzip src/b.zip -d .", "a folder that is not its own"),
    ("patch -p1 -i src/fix", "a patch may change every file"),
    ("patch -z --dry-run -i src/fix", "a value that looks like an option"),
    ('awk -F -v \'BEGIN{print "touch P" | "sh"}\'', "-v is the value of -F"),
    ("awk 'BEGIN{x=1system(\"evil\")}'", "a number, and a name without a blank"),
    ("awk 'BEGINsystem(x)}'", "read as a name alone, a mistake; asked about all the same"),
    ("awk 'BEGI{Nsystem (\"evil\")}'", "a function that may come to be there"),
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
    ("tar -xf src/b.tar -C data", "into a folder of its own"),
    ("tar -xvf src/b.tar --directory=data", "into a folder of its own"),
    ("tar -tvf src/b.tar", "a list"),
    ("tar -xOf src/b.tar a", "what is in it is printed"),
    ("unzip -l src/b.zip", "a list"),
    ("unzip -q src/b.zip -d data", "into a folder of its own"),
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
