"""What Copilot CLI keeps on disk of its sessions, read and never written: where it lies, its event log, its turns."""
