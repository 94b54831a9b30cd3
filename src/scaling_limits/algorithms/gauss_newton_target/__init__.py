"""The Gauss-Newton target of every layer (pc-tp Prop. 3.3)."""
