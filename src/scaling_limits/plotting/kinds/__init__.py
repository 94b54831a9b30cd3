"""One module for each kind of plot, each with `draw(folder) -> Figure`."""
