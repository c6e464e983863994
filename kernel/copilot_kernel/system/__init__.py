"""Differences between POSIX and Windows behind one interface: `files` and `processes`, with the same names on both.

Nothing else names what one platform lacks, but `sandbox` and `agentd`, which exist on POSIX only.
"""
