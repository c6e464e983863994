"""Names of options that are misspelled, abbreviated, joined: whatever is not on a list asks."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Iterator

import pytest
from _pytest.config import get_config
from copilot_kernel.permissions.options import _ACCEPTED, options_of, refused_of
from copilot_kernel.permissions.programs import hidden

_DANGEROUS = """
pytest --basetemp --junitxml --junit-xml --rootdir --confcutdir --override-ini --config-file --pdbcls --log-file --debug
pytest --pastebin --cov-config --inifile -p -c -o
sort --output --compress-program --temporary-directory --files0-from -o -T
tar --to-command --checkpoint-action --use-compress-program --rsh-command --info-script --new-volume-script -I -F
sed --in-place --file -i -f
rg --pre --search-zip --hostname-bin -z
find -exec -execdir -ok -okdir -delete -fprint -fprintf -fls -fprint0
fd --exec --exec-batch -x -X
diff --paginate -l
curl --output --remote-name --config --output-dir --trace --cookie-jar --upload-file -o -O -K -T -c
wget --output-document --execute --post-file --use-askpass -O -e -o -P
rsync --rsh --rsync-path --daemon -e
ssh --x -o -F -E -w
scp -S -o -F
make --eval --file --makefile --directory --include-dir -f -C -I -E
less --log-file --lesskey-file -o -O -k
man --pager --html --preprocessor -P -H -p
awk --file --include --load --exec -f -i -l
bat --pager --config-file
tree --fromfile -o
date --set -s
iconv --output -o
jq --from-file -f -L
go -exec -toolexec -vettool -o -C -overlay -modfile -ldflags -coverprofile -cpuprofile -outputdir
npm --script-shell --prefix --node-options --userconfig --globalconfig --git --editor --viewer --registry -C
cargo --config --manifest-path --target-dir --out-dir --open -C -Z
pip --target --root --prefix --python --index-url --extra-index-url --find-links --log --src --report -t -i -f
jupyter --config --output --output-dir --template --post
ruff --config --output-file --cache-dir -o
mypy --python-executable --config-file --install-types --junit-xml --html-report --cache-dir --custom-typeshed-dir -c
pylint --init-hook --load-plugins --rcfile --output-format -f
ag --pager
ack --pager --ackrc --output
file --compile --magic-file -C -f -z
split --filter
zip --unzip-command --test -T -O -b
"""
DANGEROUS = [(row.split()[0], option) for row in _DANGEROUS.strip().splitlines() for option in row.split()[1:]]
"""By these, a program starts another, writes a file that its words do not name, or is told another project."""
LETTERS = [each for each in DANGEROUS if len(each[1]) == 2]


def is_allowed(program: str, *words: str) -> bool:
    return not hidden((program, *words))


def names(program: str) -> frozenset[str]:
    options = options_of(program)
    assert options is not None
    return options.names


def forms(option: str) -> Iterator[str]:
    yield option
    yield f"{option}=evil"
    if len(option) == 2:
        yield f"{option}evil"
    else:
        yield from (f"{option[:end]}{value}" for end in range(3, len(option)) for value in ("", "=evil"))
        yield f"--{option.lstrip('-')}"


_ONE_DASH = frozenset({"go", "find", "npm", "xxd"})
"""For these, a name may stand behind one dash; for others that is a row of letters."""


@pytest.mark.parametrize(("program", "option"), DANGEROUS, ids=map(" ".join, DANGEROUS))
def test_no_form_of_an_option_that_does_harm_is_allowed(program: str, option: str) -> None:
    more = [option[1:], f"{option[1:]}=evil"] if program in _ONE_DASH and option.startswith("--") else []
    unknown = [form for form in (*forms(option), *more) if form.split("=")[0] not in names(program)]
    assert [form for form in unknown if is_allowed(program, form) and not _is_cluster(program, form)] == []
    assert not is_allowed(program, option, "evil")


def _is_cluster(program: str, form: str) -> bool:
    """A beginning such as `-d`, which is a letter of its own; those of `-delete` mean nothing to any program."""
    options = options_of(program)
    assert options is not None
    return len(form) == 2 and form[1] in options.flags | options.valued


@pytest.mark.parametrize(("program", "option"), LETTERS, ids=map(" ".join, LETTERS))
def test_nor_is_its_letter_behind_others(program: str, option: str) -> None:
    options = options_of(program)
    assert options is not None
    joined = [f"-{flag}{option[1]}{value}" for flag in sorted(options.flags) for value in ("", "evil", "=evil")]
    assert [word for word in joined if word not in options.names and is_allowed(program, word)] == []


@pytest.mark.parametrize("program", sorted(_ACCEPTED))
def test_a_name_that_is_a_little_wrong_is_not_taken_for_another(program: str) -> None:
    known = names(program)
    wrong = {bad for name in known if name.startswith("--") and "=" not in name for bad in _misspelled(name)} - known
    assert [word for word in sorted(wrong) if is_allowed(program, word) or is_allowed(program, f"{word}=x")] == []


def _misspelled(name: str) -> Iterator[str]:
    """A letter left out, doubled or put behind, the end cut off, or a third dash."""
    for at in range(3, len(name)):
        yield name[:at] + name[at + 1 :]
        yield name[:at] + name[at] + name[at:]
        yield name[:at]
    yield from (f"{name}s", f"{name}-x", f"-{name}")


@pytest.mark.parametrize("program", sorted(_ACCEPTED))
def test_what_is_on_a_list_is_allowed_as_it_stands(program: str) -> None:
    refused = refused_of(program)
    for name in names(program):
        assert is_allowed(program, name) or (refused and refused.covers(name)), name


_HARMFUL = frozenset({"basetemp", "xmlpath", "rootdir", "confcutdir", "override_ini", "inifilename", "usepdb_cls"})
_HARMFUL |= {"plugins", "log_file", "debug", "pastebin"}
"""What pytest calls them."""
_STRICT = (["strict_config=true"], ["strict_markers=true"])
"""Some versions keep `--strict-config` and `--strict-markers` among the overridden settings."""


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    return get_config()._parser.optparser


@pytest.mark.parametrize("spelling", ["{}", "{}=x", "{}s", "-x{}"])
def test_pytest_itself_agrees_about_what_is_allowed(parser: argparse.ArgumentParser, spelling: str) -> None:
    """All beginnings of all of its options: what is allowed sets none of those that do harm."""
    before = vars(parser.parse_known_args([])[0])
    known = {name for action in parser._actions for name in action.option_strings}
    begun = {name[:end] for name in known for end in range(2, len(name) + 1)}
    words = sorted(spelling.format(word) for word in begun if spelling[0] == "{" or word[:2] != "--")
    allowed = [word.replace("-x-", "-x") for word in words if is_allowed("pytest", word.replace("-x-", "-x"))]
    assert len(allowed) > 5
    assert [word for word in allowed if _set_by(parser, word, before) & _HARMFUL] == []


def _set_by(parser: argparse.ArgumentParser, word: str, before: dict[str, object]) -> set[str]:
    """Nothing, where pytest does not take the word at all."""
    with contextlib.suppress(SystemExit, pytest.UsageError), contextlib.redirect_stdout(io.StringIO()):
        after = vars(parser.parse_known_args([word, "2"])[0])
        return {name for name, value in after.items() if value not in (before.get(name), *_STRICT)}
    return set()
