"""One module per kind of claim, each with `measure(claim, results) -> Measurement`.

`results` holds the cells of the grids to judge. A measurement raises `UndecidedError` where the
records decide nothing.
"""
