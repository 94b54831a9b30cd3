"""The command line: running, estimating, listing, judging and exchanging results."""
