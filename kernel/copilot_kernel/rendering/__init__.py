"""Rendering: an entry of the conversation in, a MIME bundle out."""
