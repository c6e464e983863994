"""Closed lists of options for programs that run what the project's own files say: tests, builds, checks, packages.

Each takes options that make it run or write something else instead, by names that grow with its version and plugins,
and most take abbreviations of them. What is not on the list asks, a mistyped name too: nobody knows what it becomes.
"""

from __future__ import annotations

_PACKAGES = """
    -D -E -S -P -O -g -f -s -q -a -y -w: -W -d --save-dev --save --save-exact --save-prod --save-optional --no-save
    --omit --include --global --production --force --silent --quiet --verbose --loglevel --json --long --depth --all
    --if-present --workspace --workspaces --ws --include-workspace-root --dry-run --yes --access --tag --otp --color
    --no-color --no-progress --prefer-offline --offline --audit-level --no-audit --no-fund --legacy-peer-deps
    --package-lock-only --ignore-scripts --frozen-lockfile --no-frozen-lockfile --immutable --dev --optional --recursive
    --filter --parallel --version
"""
PROJECTS = {
    "pytest": """
        -q -v -x -s -l -r: -k: -m: -n: -W: -V --quiet --verbose --exitfirst --maxfail --capture --showlocals --tb
        --color --full-trace --co --collect-only --lf --last-failed --ff --failed-first --nf --new-first --sw
        --stepwise --stepwise-skip --cache-clear --cache-show --durations --durations-min --markers --fixtures
        --strict-markers --strict-config --no-header --no-summary --disable-warnings --disable-pytest-warnings
        --show-capture --code-highlight --setup-show --setup-only --setup-plan --import-mode --ignore --ignore-glob
        --deselect --runxfail --log-level --log-cli-level --doctest-modules --doctest-glob
        --doctest-continue-on-failure --version --numprocesses --dist --timeout --reruns --reruns-delay --cov --no-cov
        --cov-branch --cov-append --cov-fail-under --cov-report=term --cov-report=term-missing
        --cov-report=term-missing:skip-covered --cov-report=xml --cov-report=html --cov-report=json --cov-report=lcov
        --cov-report= --verbosity --benchmark-only --benchmark-skip --benchmark-disable --nbval
        --nbval-lax --nbmake --asyncio-mode
    """,
    "go": """
        -v -x -n -a -race -run -bench -benchmem -benchtime -count -short -cover -covermode -coverpkg -timeout -parallel
        -failfast -fuzztime -list -shuffle -skip -json -tags -cpu -mod -trimpath -u -m -deps --race --run --bench
        --count --short --cover --timeout --failfast --json --tags
    """,
    "npm": _PACKAGES,
    "pnpm": _PACKAGES,
    "yarn": _PACKAGES,
    "cargo": """
        -v -q -p: -j: -r -F: --release --target --features --all-features --no-default-features --workspace --all
        --exclude --package --bin --bins --lib --tests --test --example --examples --bench --benches --all-targets
        --jobs --verbose --quiet --locked --offline --frozen --no-run --no-fail-fast --doc --no-deps --message-format
        --color --keep-going --profile --check --dev --build --optional --depth --edition --list --version --fix
        --allow-dirty --allow-staged --document-private-items --timings
    """,
    "pip": """
        -q -v -U -r: -c: -e: -l -o --quiet --verbose --upgrade --requirement --constraint --editable --user --no-deps
        --pre --no-cache-dir --force-reinstall --dry-run --upgrade-strategy --no-input --disable-pip-version-check
        --no-color --progress-bar --only-binary --prefer-binary --require-hashes --outdated --format --version --yes -y
        --break-system-packages
    """,
    "jupyter": """
        --to --execute --stdout --no-input --no-prompt --inplace --allow-errors --clear-output --embed-images
        --ExecutePreprocessor.timeout --log-level --version --paths --json
    """,
    "ruff": """
        -q -v -e -w -n -s --fix --no-fix --unsafe-fixes --no-unsafe-fixes --show-fixes --diff --check --select --ignore
        --extend-select --extend-ignore --fixable --unfixable --exclude --extend-exclude --line-length --target-version
        --preview --no-preview --no-cache --isolated --statistics --exit-zero --exit-non-zero-on-fix --output-format
        --force-exclude --respect-gitignore --no-respect-gitignore --quiet --verbose --silent --watch --add-noqa
        --show-files --show-settings --range --version --all
    """,
    "mypy": """
        -v -V -p: -m: --strict --package --module --verbose --version --ignore-missing-imports --show-error-codes
        --hide-error-codes --pretty --no-pretty --no-color-output --no-error-summary --python-version --platform
        --exclude --follow-imports --follow-untyped-imports --explicit-package-bases --namespace-packages
        --check-untyped-defs --disallow-untyped-defs --disallow-any-generics --disallow-untyped-calls
        --disallow-incomplete-defs --warn-unused-ignores --warn-return-any --warn-unreachable --warn-redundant-casts
        --warn-unused-configs --no-incremental --show-column-numbers --show-error-context --show-traceback --tb
        --enable-error-code --disable-error-code --no-implicit-optional --strict-equality --strict-optional
        --no-strict-optional --no-implicit-reexport --local-partial-types --non-interactive --skip-cache-mtime-checks
        --allow-redefinition
    """,
    "pylint": """
        -E -d: -e: -j: -r: -s: --disable --enable --errors-only --jobs --reports --score --py-version --ignore
        --ignore-patterns --max-line-length --msg-template --recursive --fail-under --list-msgs --version --verbose -v
    """,
    "ag": """
        -i -l -L -n -w -c -v -o -s -S -Q -A: -B: -C: -m: -u -U -a -H -t -r -f -0 --hidden --ignore
        --ignore-case --smart-case --case-sensitive --literal --word-regexp --nocolor --color --nogroup --group
        --column --count --depth --files-with-matches --max-count --noheading --nonumbers --stats --vimgrep --python
        --py --js --ts --html --md --json --yaml
    """,
    "ack": """
        -i -I -l -L -n -w -c -v -o -s -S -Q -h -H -A: -B: -C: -m: -g: -f -x -1 --ignore-case --smart-case --literal
        --word-regexp --nocolor --color --nogroup --group --column --count --files-with-matches --max-count --noheading
        --type --python --py --js --ts --html --md --json --yaml --ignore-dir --ignore-file
    """,
    "file": """
        -b -i -I -L -h -k -r -s -0 -N -p -F: --brief --mime --mime-type --mime-encoding --dereference --version
    """,
}

PASS_ON = frozenset({"npm", "pnpm", "yarn", "cargo"})
"""What stands after `--` is for the project's own script; the program itself takes no option there."""

FROM_FILE = frozenset({"pytest", "mypy", "ruff"})
"""These take further words, options too, from the file that a word with @ names."""

PROJECT_ALIASES = {"py.test": "pytest", "pip3": "pip", "jupyter-nbconvert": "jupyter"}
