"""Sessions by the beginnings of their ids."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.messages import SessionInfo
from copilot_kernel.errors import UsageError
from copilot_kernel.frontend.sessions import find_session, newest_first, short_ids

OLD = SessionInfo("ses_0001-aaaa", updated_at="2026-11-01T10:00:00Z")
NEW = SessionInfo("ses_0001-bbbb", updated_at="2026-11-20T10:00:00Z")
TIMELESS = SessionInfo("7f")
ALL = (OLD, NEW, TIMELESS)


def test_ids_are_as_short_as_they_can_be_told_apart() -> None:
    assert short_ids(ALL) == {"ses_0001-aaaa": "ses_0001-a", "ses_0001-bbbb": "ses_0001-b", "7f": "7f"}
    assert short_ids([OLD, OLD]) == {"ses_0001-aaaa": "ses_0001"}
    assert short_ids([]) == {}


def test_the_newest_comes_first() -> None:
    assert newest_first(ALL) == (NEW, OLD, TIMELESS)


@pytest.mark.parametrize(
    ("typed", "current", "found"),
    [
        ("ses_0001-b", "", NEW),
        ("7", "", TIMELESS),
        ("ses_0001-aaaa", "", OLD),
        ("last", "", NEW),
        ("last", NEW.id, OLD),
    ],
)
def test_a_session_is_found(typed: str, current: str, found: SessionInfo) -> None:
    assert find_session(ALL, typed, current) == found


def test_an_id_that_begins_another_is_itself() -> None:
    longer = SessionInfo("7ff")
    assert find_session([longer, TIMELESS], "7f") == TIMELESS


@pytest.mark.parametrize(
    ("sessions", "typed", "message"),
    [
        (ALL, "ses", "2 sessions begin with ses."),
        (ALL, "bbbb", "There is no session bbbb."),
        ((NEW,), "last", "There is no earlier session in this folder."),
    ],
)
def test_what_cannot_be_found_is_an_error(sessions: tuple[SessionInfo, ...], typed: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_session(sessions, typed, NEW.id)
    assert (str(caught.value), "%sessions all lists all." in caught.value.hint) == (message, True)
