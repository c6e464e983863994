"""What the exit codes mean, the same for every command."""

FAILED, MISUSED, CANCELLED = 1, 2, 130
