"""Kinds of plots, one folder each; reading what they declare imports neither pandas nor matplotlib.

A kind is a folder, or in a package a module, with what `contract.Kind` says.
"""

from types import ModuleType

from scaling_limits.registry import Registry

registry: Registry[ModuleType] = Registry(
    "kind of plot",
    {
        "composite": "scaling_limits.plots.composite",
        "definitions": "scaling_limits.plots.definitions",
        "exponent_plane": "scaling_limits.plots.exponent_plane",
        "histograms": "scaling_limits.plots.histograms",
        "landscapes": "scaling_limits.plots.landscapes",
        "lines": "scaling_limits.plots.lines",
        "maps": "scaling_limits.plots.maps",
        "nested_sets": "scaling_limits.plots.nested_sets",
        "parameterisation_table": "scaling_limits.plots.parameterisation_table",
        "results_table": "scaling_limits.plots.results_table",
    },
    "scaling_limits.plots",
    ("Options", "table", "draw"),
)
"""The modules that declare kinds of plots; installed packages add theirs."""
