"""Rules as users write them: what they mean, and what is said of those that mean nothing or everything."""

import pytest
from copilot_kernel.permissions.paths import Places
from copilot_kernel.permissions.patterns import compile_domain, compile_glob, host_of
from copilot_kernel.permissions.rulebook import Rules, parse
from hypothesis import given
from hypothesis import strategies as st

from .making import split

ROOT, HOME = "/home/me/project", "/home/me"
PLACES = Places(root=ROOT, cwd=ROOT, home=HOME)


RULES = split("""
Bash ¦ Bash(git *) ¦ Bash(npm test) ¦ Read ¦ Read(data/**) ¦ Edit(/tmp/x) ¦ Edit(~/notes/*.md) ¦ Grep ¦ Grep(src/)
Edit(a (copy).txt) ¦ WebFetch ¦ WebFetch(domain:*.example.com) ¦ WebFetch(domain:localhost:8888) ¦ mcp__github
mcp__github__create_issue ¦ mcp__github__* ¦ mcp__my-server__tool.x
""")


@pytest.mark.parametrize("text", RULES)
def test_a_rule_keeps_its_text_and_knows_what_it_is_about(text: str) -> None:
    rule = parse(text)
    tool = "mcp" if text.startswith("mcp") else text.partition("(")[0]
    assert (rule.text, rule.tool) == (text, tool)
    assert Rules.read([text])[1] == ()


NO_RULES = {
    "empty": ("", "  "),
    "is not a rule": ("*", "Write", "Edit ", "Edit(a", "Edit a", "mcp__"),
    "Write Bash.": ("bash", "BASH(ls)"),
    "parentheses are empty": ("Bash()", "Edit( )"),
    "several commands": ("Bash(git && ls)",),
    "whole words": ("Bash(npm test*)",),
    "A rule is the beginning of one command": ("Bash(git $(x))",),
    "must not contain ..": ("Edit(../x)",),
    "your own home folder": ("Edit(~root/x)",),
    "brackets": ("Edit(a[bc])",),
    "braces": ("Edit({a,b})",),
    "!": ("Edit(!a)",),
    "backslashes": ("Edit(a\\b)",),
    "addresses": ("Edit(file:///a)",),
    "spaces around it": ("Edit( a)",),
    "visible": ("Edit(a\u202eb)", "Edit(a\nb)"),
    "domain:example.com": ("WebFetch(example.com)",),
    "A domain is a host": (
        "WebFetch(domain:)",
        "WebFetch(domain:*)",
        "WebFetch(domain:ex*mple.com)",
        "WebFetch(domain:example..com)",
    ),
    "without scheme": ("WebFetch(domain:https://example.com)", "WebFetch(domain:example.com/a)"),
    "xn--": ("WebFetch(domain:b\xfccher.de)",),
    "usual form": ("WebFetch(domain:0x7f.1)",),
    "must stand alone": ("mcp__a__b*",),
    "at most 500": (f"Edit({'a' * 600})",),
}


@pytest.mark.parametrize(("text", "words"), [(text, words) for words, texts in NO_RULES.items() for text in texts])
def test_what_is_no_rule_matches_nothing_and_is_reported_with_its_list(text: str, words: str) -> None:
    rules, problems, _ = Rules.read(deny=[text, "Read"])
    assert [rule.text for rule in rules.deny] == ["Read"]
    assert len(problems) == 1
    assert problems[0].startswith("deny: ")
    assert words in problems[0]


EVERYTHING = split("""
Bash ¦ Bash(*) ¦ Bash(python *) ¦ Bash(npx *) ¦ Bash(sudo *) ¦ Bash(sudo git *) ¦ Bash(bash fit.sh *)
Bash(xargs grep *) ¦ Bash(uv run python *) ¦ Bash(env python *) ¦ Bash(env A=1 *) ¦ Bash(timeout 60 python *)
Bash(timeout 60 *) ¦ Bash(nice -n 5 bash *) ¦ Bash(xargs -I{} *) ¦ Bash(xargs -n 1 sh -c *) ¦ Bash(pip *)
Bash(pip install *) ¦ Bash(pip3 install -U *) ¦ Bash(python -m pip install *) ¦ Bash(uv pip *)
Bash(npm install *) ¦ Bash(cargo install *) ¦ Bash(dotnet run *) ¦ Bash(bundle exec *) ¦ Bash(gem *)
Bash(mvn *) ¦ Bash(./gradlew *) ¦ Bash(cmake *) ¦ Bash(brew *) ¦ Bash(apt *) ¦ Bash(tmux *) ¦ Bash(nix run *)
Bash(mise exec *) ¦ Bash(osascript *) ¦ Bash(powershell *) ¦ Bash(py *) ¦ Edit(/**) ¦ Edit(~/**) ¦ Read(/*)
Read(/*/**) ¦ WebFetch ¦ WebFetch(domain:*.com) ¦ Bash(python3 *) ¦ Bash(python3.12 *) ¦ Bash(/usr/bin/python *)
Bash(python) ¦ Bash(python -c *) ¦ Bash(python -m *) ¦ Bash(bash *) ¦ Bash(sh -c *) ¦ Bash(node *) ¦ Bash(uvx *)
Bash(env *) ¦ Bash(xargs *) ¦ Bash(sudo -u *) ¦ Bash(make *) ¦ Bash(npm *) ¦ Bash(npm exec *) ¦ Bash(uv *)
Bash(uv run *) ¦ Bash(conda run *) ¦ Bash(docker *) ¦ Bash(docker run *) ¦ Bash(ssh *) ¦ Bash(perl -e *)
Bash(R *) ¦ Bash(Rscript *) ¦ Bash(git bisect run *) ¦ Bash(git -c *) ¦ Bash(timeout *) ¦ Bash(vim *)
Bash(eval *) ¦ Bash(source *) ¦ Bash(cd *) ¦ Bash(jupyter *)
""")


@pytest.mark.parametrize("text", EVERYTHING)
def test_a_rule_that_means_everything_is_warned_about_where_it_allows(text: str) -> None:
    _, problems, warnings = Rules.read(allow=[text], ask=[text], deny=[text])
    assert problems == ()
    assert len(warnings) == 1
    assert warnings[0].startswith(f"allow: {text}: ")


NOT_EVERYTHING = split("""
Bash(git *) ¦ Bash(python train.py) ¦ Bash(python train.py *) ¦ Bash(uv run pytest *)
Bash(uv run python train.py *) ¦ Bash(timeout 60 pytest *) ¦ Bash(timeout 60 make test *)
Bash(sudo apt update) ¦ Bash(npm install) ¦ Bash(npm run *) ¦ Bash(pip install -r requirements.txt)
Bash(gradle) ¦ Bash(gradle test *) ¦ Bash(bundle exec rspec *) ¦ Read ¦ Edit ¦ Edit(**) ¦ Grep ¦ Edit(/tmp/**)
Read(~/notes/**) ¦ WebFetch(domain:example.com) ¦ WebFetch(domain:*.example.com) ¦ mcp__github ¦ Bash(npm test)
Bash(npm run build) ¦ Bash(npx prettier *) ¦ Bash(python -m pytest *) ¦ Bash(make test)
Bash(docker compose up) ¦ Bash(ls *) ¦ Bash(find *) ¦ Bash(source .venv/bin/activate) ¦ Bash(cd frontend)
Bash(Rscript fit.R *) ¦ Bash(pytest *)
""")


@pytest.mark.parametrize("text", NOT_EVERYTHING)
def test_others_are_not_warned_about(text: str) -> None:
    assert parse(text).warning is None


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("src/**", "src/a src/a/b", "src srcs/a a/src/b"),
        ("src/*", "src/a src/.a", "src/a/b src"),
        ("src/", "src/a src/a/b", "src"),
        ("*.py", "a.py b/c.py .py", "a.pyc a.py/b"),
        ("a.py", "a.py x/y/a.py", "b/a.pyx"),
        ("./a.py", "a.py", "x/a.py"),
        ("**/test_*.py", "test_a.py x/y/test_b.py", "test_a.txt xtest_.py"),
        ("a/**/b", "a/b a/x/b a/x/y/b", "a/x/b/c b"),
        ("a?c", "abc x/a.c", "ac abbc"),
        ("a*b*c", "abc axxbyyc", "ab acb"),
        ("**", "a a/b", ""),
        ("a (1).txt", "a%(1).txt", "a1.txt"),
    ],
)
def test_a_path_pattern_is_compared_part_by_part(pattern: str, inside: str, outside: str) -> None:
    glob = compile_glob(pattern)

    def matches(path: str) -> bool:
        return glob.matches(f"{ROOT}/" + path.replace("%", " "), PLACES)

    assert [path for path in inside.split() if not matches(path)] == []
    assert [path for path in outside.split() if matches(path)] == []


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("/abs/**", "/abs/x"), ("//abs/**", "/abs/x"), ("~/x", "/home/me/x"), ("~", "/home/me/a"), ("/", "/a/b")],
)
def test_a_pattern_may_begin_elsewhere(pattern: str, path: str) -> None:
    glob = compile_glob(pattern)
    assert glob.matches(path, PLACES)
    assert not glob.matches("/nowhere/abs/q/x", Places(root="/p", home="/h")) or pattern == "/"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src", "src/a/b"),
        ("src/**", "src"),
        ("src/*", "src/a/b"),
        (".env", "x/.ENV"),
        ("\uff53rc", "src/a"),
        ("caf\u00e9", "cafe\u0301"),
    ],
)
def test_to_deny_a_pattern_is_read_widely(pattern: str, path: str) -> None:
    assert compile_glob(pattern).touches(f"{ROOT}/{path}", PLACES)


def test_a_folder_with_a_denied_file_in_it_counts_where_the_whole_folder_goes() -> None:
    glob = compile_glob("src/keys/a.pem")
    assert glob.is_under(f"{ROOT}/src", PLACES)
    assert glob.is_under(HOME, PLACES)
    assert not glob.touches(f"{ROOT}/src", PLACES)
    assert not glob.is_under(f"{ROOT}/lib", PLACES)


def test_a_pattern_that_could_blow_up_does_not() -> None:
    """If it did, this would not end."""
    for pattern in ("*a" * 11 + "b", "**/a/" * 3 + "b", "?*" * 6, "*a*/" * 5 + "b"):
        compile_glob(pattern).matches(f"{ROOT}/" + "a" * 250, PLACES)
        compile_glob(pattern).touches(f"{ROOT}/" + "a/" * 90, PLACES)


@given(st.text(max_size=60))
def test_no_text_is_too_odd_for_a_rule(text: str) -> None:
    for written in (text, f"Edit({text})", f"Bash({text})", f"WebFetch(domain:{text})", f"mcp__{text}"):
        rules, problems, _ = Rules.read([written])
        assert len(rules.allow) + len(problems) == 1


@given(st.text(max_size=80), st.sampled_from(["example.com", "*.example.com", "127.0.0.1", "localhost:80"]))
def test_what_is_allowed_by_a_domain_is_also_touched_by_it(text: str, domain: str) -> None:
    compiled = compile_domain(domain)
    for url in (text, f"https://{text}", f"https://example.com{text}", f"http://{text}example.com/"):
        assert not compiled.matches(url) or compiled.touches(url)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.com/a", "example.com"),
        ("http://localhost:8888/x?y", "localhost:8888"),
        ("http://[::1]:80/", "[::1]"),
        ("https://a@b.net/", ""),
        ("ftp://b.net", ""),
        ("", ""),
    ],
)
def test_the_host_for_a_rule_is_told_only_where_it_is_certain(url: str, host: str) -> None:
    assert host_of(url) == (host or None)
    assert not host or compile_domain(host).matches(url)
