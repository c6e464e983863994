"""A cell's prompt, from its text to the end of the turn: context, notices, reruns, and the session of a kernel."""
