"""What POSIX and Windows do differently, behind one interface: both platforms define all of these names.

Nothing else names what one platform lacks, but `sandbox` and `agentd`, which exist on POSIX only.
"""

import sys

if sys.platform == "win32":
    from .windows import (
        DETACHED,
        ENDING_SIGNALS,
        PIECE_BYTES,
        SHELL,
        PipeReader,
        PipeWriter,
        ProcessTree,
        add_signal_handler,
        alarm,
        direct_command,
        has_all_rights,
        interrupt,
        keep_apart,
        parent,
        split_command,
        start,
        wait_for_parent,
        which,
    )
    from .windows_files import (
        READING,
        OpenFolder,
        account_home,
        keep_rights,
        lock,
        other_users,
        remove_tree,
        set_mode,
        user_ids,
    )
else:
    from .posix import (
        DETACHED,
        ENDING_SIGNALS,
        PIECE_BYTES,
        SHELL,
        PipeReader,
        PipeWriter,
        ProcessTree,
        add_signal_handler,
        alarm,
        direct_command,
        has_all_rights,
        interrupt,
        keep_apart,
        parent,
        split_command,
        start,
        wait_for_parent,
        which,
    )
    from .posix_files import (
        READING,
        OpenFolder,
        account_home,
        keep_rights,
        lock,
        other_users,
        remove_tree,
        set_mode,
        user_ids,
    )

__all__ = [
    "DETACHED",
    "ENDING_SIGNALS",
    "PIECE_BYTES",
    "READING",
    "SHELL",
    "OpenFolder",
    "PipeReader",
    "PipeWriter",
    "ProcessTree",
    "account_home",
    "add_signal_handler",
    "alarm",
    "direct_command",
    "has_all_rights",
    "interrupt",
    "keep_apart",
    "keep_rights",
    "lock",
    "other_users",
    "parent",
    "remove_tree",
    "set_mode",
    "split_command",
    "start",
    "user_ids",
    "wait_for_parent",
    "which",
]
