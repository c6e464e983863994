"""Rules as users write them: what they mean, and what is said of those that mean nothing or everything."""

import time

import pytest
from copilot_kernel.permissions.paths import Places
from copilot_kernel.permissions.patterns import compile_domain, compile_glob, host_of
from copilot_kernel.permissions.rulebook import Rules, parse
from hypothesis import given
from hypothesis import strategies as st

ROOT, HOME = "/home/me/project", "/home/me"
PLACES = Places(root=ROOT, cwd=ROOT, home=HOME)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Bash", "Bash"),
        ("Bash(git *)", "Bash"),
        ("Bash(npm test)", "Bash"),
        ("Read", "Read"),
        ("Read(data/**)", "Read"),
        ("Edit(/tmp/x)", "Edit"),
        ("Edit(~/notes/*.md)", "Edit"),
        ("Grep", "Grep"),
        ("Grep(src/)", "Grep"),
        ("WebFetch", "WebFetch"),
        ("WebFetch(domain:*.example.com)", "WebFetch"),
        ("WebFetch(domain:localhost:8888)", "WebFetch"),
        ("mcp__github", "mcp"),
        ("mcp__github__create_issue", "mcp"),
        ("mcp__github__*", "mcp"),
        ("mcp__my-server__tool.x", "mcp"),
        ("Edit(a (copy).txt)", "Edit"),
    ],
)
def test_a_rule_keeps_its_text_and_knows_what_it_is_about(text: str, tool: str) -> None:
    rule = parse(text)
    assert (rule.text, rule.tool, rule.is_bare) == (text, tool, text == tool)
    assert Rules.read([text])[1] == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("*", "is not a rule"),
        ("Write", "is not a rule"),
        ("bash", "Write Bash."),
        ("BASH(ls)", "Write Bash."),
        ("Edit ", "is not a rule"),
        ("Edit(a", "is not a rule"),
        ("Edit a", "is not a rule"),
        ("Bash()", "parentheses are empty"),
        ("Edit( )", "parentheses are empty"),
        ("Bash(git && ls)", "several commands"),
        ("Bash(npm test*)", "whole words"),
        ("Bash(git $(x))", "A rule is the beginning of one command"),
        ("Edit(../x)", "must not contain .."),
        ("Edit(~root/x)", "your own home folder"),
        ("Edit(a[bc])", "brackets"),
        ("Edit({a,b})", "braces"),
        ("Edit(!a)", "!"),
        ("Edit(a\\b)", "backslashes"),
        ("Edit(file:///a)", "addresses"),
        ("Edit( a)", "spaces around it"),
        ("Edit(a\u202eb)", "visible"),
        ("Edit(a\nb)", "visible"),
        (f"Edit({'a' * 600})", "at most 500"),
        ("WebFetch(example.com)", "domain:example.com"),
        ("WebFetch(domain:)", "A domain is a host"),
        ("WebFetch(domain:*)", "A domain is a host"),
        ("WebFetch(domain:https://example.com)", "without scheme"),
        ("WebFetch(domain:example.com/a)", "without scheme"),
        ("WebFetch(domain:ex*mple.com)", "A domain is a host"),
        ("WebFetch(domain:b\u00fccher.de)", "xn--"),
        ("WebFetch(domain:0x7f.1)", "usual form"),
        ("WebFetch(domain:example..com)", "A domain is a host"),
        ("mcp__", "is not a rule"),
        ("mcp__a__b*", "must stand alone"),
    ],
)
def test_what_is_no_rule_matches_nothing_and_is_told_with_the_settings_name(text: str, words: str) -> None:
    rules, problems, _ = Rules.read(deny=[text, "Read"])
    assert [rule.text for rule in rules.deny] == ["Read"]
    assert len(problems) == 1
    assert problems[0].startswith("deny: ")
    assert words in problems[0]


@pytest.mark.parametrize(
    "text",
    [
        "Bash",
        "Bash(*)",
        "Bash(python *)",
        "Bash(npx *)",
        "Bash(sudo *)",
        "Bash(sudo git *)",
        "Bash(bash fit.sh *)",
        "Bash(xargs grep *)",
        "Bash(uv run python *)",
        "Bash(env python *)",
        "Bash(env A=1 *)",
        "Bash(timeout 60 python *)",
        "Bash(timeout 60 *)",
        "Bash(nice -n 5 bash *)",
        "Bash(xargs -I{} *)",
        "Bash(xargs -n 1 sh -c *)",
        "Bash(pip *)",
        "Bash(pip install *)",
        "Bash(pip3 install -U *)",
        "Bash(python -m pip install *)",
        "Bash(uv pip *)",
        "Bash(npm install *)",
        "Bash(cargo install *)",
        "Bash(dotnet run *)",
        "Bash(bundle exec *)",
        "Bash(gem *)",
        "Bash(mvn *)",
        "Bash(./gradlew *)",
        "Bash(cmake *)",
        "Bash(brew *)",
        "Bash(apt *)",
        "Bash(tmux *)",
        "Bash(nix run *)",
        "Bash(mise exec *)",
        "Bash(osascript *)",
        "Bash(powershell *)",
        "Bash(py *)",
        "Edit(/**)",
        "Edit(~/**)",
        "Read(/*)",
        "Read(/*/**)",
        "WebFetch",
        "WebFetch(domain:*.com)",
    ],
)
def test_a_rule_that_means_everything_is_warned_about_where_it_allows(text: str) -> None:
    _, problems, warnings = Rules.read(allow=[text], ask=[text], deny=[text])
    assert problems == ()
    assert len(warnings) == 1
    assert warnings[0].startswith(f"allow: {text}: ")


@pytest.mark.parametrize(
    "text",
    [
        "Bash(git *)",
        "Bash(python train.py)",
        "Bash(python train.py *)",
        "Bash(uv run pytest *)",
        "Bash(uv run python train.py *)",
        "Bash(timeout 60 pytest *)",
        "Bash(timeout 60 make test *)",
        "Bash(sudo apt update)",
        "Bash(npm install)",
        "Bash(npm run *)",
        "Bash(pip install -r requirements.txt)",
        "Bash(gradle)",
        "Bash(gradle test *)",
        "Bash(bundle exec rspec *)",
        "Read",
        "Edit",
        "Edit(**)",
        "Grep",
        "Edit(/tmp/**)",
        "Read(~/notes/**)",
        "WebFetch(domain:example.com)",
        "WebFetch(domain:*.example.com)",
        "mcp__github",
    ],
)
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
    started = time.perf_counter()
    for pattern in ("*a" * 11 + "b", "**/a/" * 3 + "b", "?*" * 6, "*a*/" * 5 + "b"):
        compile_glob(pattern).matches(f"{ROOT}/" + "a" * 250, PLACES)
        compile_glob(pattern).touches(f"{ROOT}/" + "a/" * 90, PLACES)
    assert time.perf_counter() - started < 10


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
