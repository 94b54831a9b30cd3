"""The appearance of figures: page, text, styles and colours, and the execution of notebooks."""
