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


def test_the_log_knows_what_came_since_as_far_as_it_is_kept():
    log = WireLog(max_lines=3)
    counts = []
    for number in range(5):
        counts.append(log.count)
        log.add("<", b"%d" % number)
    assert [[line for _, line in log.since(count)] for count in (*counts, log.count)] == [
        [b"2", b"3", b"4"],
        [b"2", b"3", b"4"],
        [b"2", b"3", b"4"],
        [b"3", b"4"],
        [b"4"],
        [],
    ]
