"""Folders, locks, rights, accounts, and where programs are."""

# ruff: noqa: F403, F405
import sys

if sys.platform == "win32":
    from .windows_files import *
else:
    from .posix_files import *

__all__ = [
    "READING",
    "account_home",
    "account_path",
    "direct_command",
    "keep_rights",
    "lock",
    "open_file",
    "open_folder",
    "other_users",
    "remove_tree",
    "split_command",
    "user_ids",
    "which",
]
