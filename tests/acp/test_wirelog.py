"""The log has bounds."""

from copilot_kernel.acp.wirelog import WireLog


def test_the_log_keeps_the_last_lines_within_its_bounds():
    log = WireLog(max_lines=3, max_bytes=10)
    for line in (b"1", b"22", b"333", b"4444"):
        log.add("<", line)
    assert list(log.lines) == [("<", b"22"), ("<", b"333"), ("<", b"4444")]
    log.add(">", b"x" * 9)
    assert list(log.lines) == [(">", b"x" * 9)]
    log.add(">", b"y" * 50)
    assert list(log.lines) == [(">", b"y" * 10)]
