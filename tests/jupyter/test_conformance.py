"""The message specification, as the Jupyter project tests it."""

from __future__ import annotations

import unittest

import jupyter_kernel_test
import pytest


@pytest.fixture(scope="module", autouse=True)
def installed(kernelspec: str) -> None:
    """The suite finds the kernel by its name."""


class TestConformance(jupyter_kernel_test.KernelTests):
    """jupyter_kernel_test with the demo agent."""

    kernel_name = "copilot-test"
    language_name = "copilot"
    file_extension = ".md"
    code_hello_world = ""
    completion_samples = [{"text": "%he", "matches": ["%help"]}]  # noqa: RUF012
    complete_code_samples = ["Explain this folder", "```\nx = 1\n```"]  # noqa: RUF012
    incomplete_code_samples = ["Explain\n```\nx = 1"]  # noqa: RUF012
    code_display_data = [{"code": "demo: say Hello", "mime": "text/html"}]  # noqa: RUF012
    code_generate_error = "demo: error -32603 No such luck"
    code_inspect_sample = "%help"
    code_history_pattern = "*%help*"
    supported_history_operations = ("tail", "range", "search")
