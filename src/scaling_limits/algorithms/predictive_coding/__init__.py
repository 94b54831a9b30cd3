"""Predictive coding: activities are inferred, then each node's weights follow its own error."""
