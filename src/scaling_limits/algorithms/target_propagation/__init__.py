"""Target propagation and difference target propagation (pc-tp Sec. 3.1.2, 5)."""

TRAINS_FEEDBACK = True
