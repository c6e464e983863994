"""Folders, locks, rights, accounts, and where programs are."""

import sys

if sys.platform == "win32":
    from .windows_files import (
        READING,
        OpenFolder,
        account_home,
        direct_command,
        keep_rights,
        lock,
        other_users,
        remove_tree,
        set_mode,
        split_command,
        user_ids,
        which,
    )
else:
    from .posix_files import (
        READING,
        OpenFolder,
        account_home,
        direct_command,
        keep_rights,
        lock,
        other_users,
        remove_tree,
        set_mode,
        split_command,
        user_ids,
        which,
    )

__all__ = [
    "READING",
    "OpenFolder",
    "account_home",
    "direct_command",
    "keep_rights",
    "lock",
    "other_users",
    "remove_tree",
    "set_mode",
    "split_command",
    "user_ids",
    "which",
]
