"""Everything you can click: text and options in, one answer out. Knows nothing of the kernel."""
