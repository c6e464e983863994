"""What was said: an update and a conversation in, the next conversation out."""
