"""What our commands do, and where the chat lives between cells; the same for every door."""
