"""What a cell shows and asks: pages of displays, questions, pickers, forms; the same for every door with cells."""
