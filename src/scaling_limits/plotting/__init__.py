"""The look of figures: the page, its text, styles and colours, and the execution of notebooks."""
