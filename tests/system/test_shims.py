"""Batch files on Windows: npm's are not run at all, and no other gets an argument that is a command."""

import pytest
from copilot_kernel.system.shims import UNSAFE_ARGUMENT, check_arguments, is_batch_file, script_of

NEW = r"""@ECHO off
GOTO start
:find_dp0
SET dp0=%~dp0
EXIT /b
:start
SETLOCAL
CALL :find_dp0

IF EXIST "%dp0%\node.exe" (
  SET "_prog=%dp0%\node.exe"
) ELSE (
  SET "_prog=node"
  SET PATHEXT=%PATHEXT:;.JS;=;%
)

endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%"  "%dp0%\node_modules\@github\copilot\index.js" %*
"""
OLD = r"""@IF EXIST "%~dp0\node.exe" (
  "%~dp0\node.exe"  "%~dp0\..\lib\agent.mjs" %*
) ELSE (
  @SETLOCAL
  @SET PATHEXT=%PATHEXT:;.JS;=;%
  node  "%~dp0\..\lib\agent.mjs" %*
)
"""


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (NEW, r"node_modules\@github\copilot\index.js"),
        (OLD, r"..\lib\agent.mjs"),
        ("@python -m agent %*", None),
        (r'"%_prog%" --import x "%dp0%\a.py" %*', None),
        (OLD + NEW, None),
        ("", None),
    ],
)
def test_the_script_that_npm_starts_is_known_and_no_other(text: str, script: str | None) -> None:
    assert script_of(text) == script


@pytest.mark.parametrize(
    "argument", ['"', 'a" & echo INJECTED', "%OS%", "!x!", "a^b", "a&b", "a|b", "<x", ">x", "a\nb"]
)
def test_an_argument_that_cmd_would_run_is_refused(argument: str) -> None:
    with pytest.raises(ValueError, match=r"cmd\.exe") as refused:
        check_arguments(("--acp", argument))
    assert str(refused.value) == UNSAFE_ARGUMENT.format(argument)


def test_other_arguments_are_passed_on() -> None:
    check_arguments(("--acp", r"C:\a b\c.js", "--deny-tool=shell(git push:*)", "ä'x"))
    assert [name for name in ("a.cmd", "A.BAT", "a.exe", "cmd", "a.cmd.exe") if is_batch_file(name)] == [
        "a.cmd",
        "A.BAT",
    ]
