"""One agent process for several notebooks of a user: the broker that runs it, and the kernels' way to it."""
