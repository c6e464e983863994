"""The message specification, as the Jupyter project tests it."""

import jupyter_kernel_test
import pytest


@pytest.fixture(scope="module", autouse=True)
def installed(kernelspec: str) -> None:
    """The suite finds the kernel by its name."""


class TestConformance(jupyter_kernel_test.KernelTests):
    """jupyter_kernel_test with the demo agent; it sends no cell ids, so that answers come as in a console."""

    kernel_name = "copilot-test"
    language_name = "markdown"
    file_extension = ".md"
    code_hello_world = "demo: say hello, world"
    completion_samples = [{"text": "%he", "matches": ["%help"]}]  # noqa: RUF012
    complete_code_samples = ["Explain this folder", "```\nx = 1\n```"]  # noqa: RUF012
    incomplete_code_samples = ["Explain\n```\nx = 1"]  # noqa: RUF012
    code_display_data = [{"code": "demo: plan One;Two", "mime": "text/html"}]  # noqa: RUF012
    code_inspect_sample = "%help"
    code_execute_result = [{"code": "%help"}]  # noqa: RUF012

    # A cell here has no result, no stderr, no pager, and never clears its output.
    test_execute_result = test_execute_stderr = test_pager = test_clear_output = None

    def test_error(self) -> None:
        """The suite's own test allows nothing beside the error; before ours stands a card for the reader."""
        self.flush_channels()
        reply, outputs = self.execute_helper("demo: error -32603 No such luck")
        kinds = [message["msg_type"] for message in outputs]
        assert (reply["content"]["status"], kinds) == ("error", ["display_data", "error"])
