"""Reads what Copilot CLI keeps on disk of its sessions, and never writes it."""
