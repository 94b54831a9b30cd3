"""Kinds of plots, one subpackage each.

Each kind implements `contract.Kind`; an installed package may add a kind as a single module. Importing a kind to read
its options imports neither pandas nor matplotlib.
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
"""Registry of the modules that declare kinds of plots; installed packages add theirs."""
