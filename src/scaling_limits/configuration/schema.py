"""JSON schemas of the configuration; `make format` writes the schema of an experiment and the page of settings."""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic.json_schema import JsonSchemaValue

from scaling_limits import claims
from scaling_limits.configuration import allowed_keys
from scaling_limits.configuration.models import Head, Main, OwnNames, Preset
from scaling_limits.configuration.parts import every_setting
from scaling_limits.configuration.settings_page import page
from scaling_limits.plots import registry

SCHEMA = Path("workflow", "experiment.schema.json")
SETTINGS = Path("docs", "settings.md")

_TEXT = {"type": "string"}
_MAPPING = {"type": "object"}
_RANGE = {"$ref": "#/$defs/range"}
_RANGE_OF = {
    "type": "object",
    "properties": {
        "octaves": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
        "of": {"type": "number"},
        "count": {"type": "integer", "minimum": 1},
    },
    "additionalProperties": False,
}


def schemas() -> dict[str, dict[str, object]]:
    """Return the JSON schema of each kind of file."""
    return {
        "config": Main.model_json_schema(),
        "experiment": _experiment(),
        "paper": {**_words(allowed_keys.PAPER), "required": sorted(Head.model_fields)}
        | {"$defs": _parts()},
        "preset": Preset.model_json_schema(),
        "settings": every_setting().model_json_schema(),
    }


def _experiment() -> dict[str, object]:
    """Return the schema of an experiment's file, including the entries of the user's own experiments."""
    own = OwnNames.model_json_schema()
    place = _place(allowed_keys.EXPERIMENT | allowed_keys.SHARED)
    place["properties"] |= own["properties"]
    return {**place, "$defs": {**own["$defs"], **_parts()}}


def _parts() -> dict[str, object]:
    """Return the schemas to which others refer."""
    return {
        "base": _place(allowed_keys.BASE),
        "grid": _place(allowed_keys.GRID),
        "changed_base": _place(allowed_keys.CHANGED_BASE),
        "changed_grid": _place(allowed_keys.CHANGED_GRID, grid="changed_grid"),
        "changed_experiment": _place(allowed_keys.CHANGED_EXPERIMENT, grid="changed_grid"),
        "settings": _settings(),
        "figure": _words(allowed_keys.FIGURE),
        "claim": _claim(),
        "range": _RANGE_OF,
    }


def _place(words: Iterable[str], grid: str = "grid") -> dict[str, object]:
    """Return the schema of a place with settings."""
    place = _words(words, grid)
    if "presets" in place["properties"]:
        changed = "changed_experiment" if "grids" in place["properties"] else "changed_base"
        place["properties"]["presets"] = _named(changed)
    del place["additionalProperties"]
    return {**place, "$ref": "#/$defs/settings", "unevaluatedProperties": False}


def _settings() -> dict[str, object]:
    """Return the schema of all settings, each with one value, a list of values, or a range."""
    properties = {
        name: {"anyOf": [schema, {"items": schema, "type": "array"}, _RANGE, {"type": "null"}]}
        for name, schema in every_setting().model_json_schema()["properties"].items()
    }
    return {"type": "object", "properties": properties}


def _words(words: Iterable[str], grid: str = "grid") -> JsonSchemaValue:
    known: dict[str, object] = {
        "grids": {"anyOf": [_named(grid), {"type": "array", "items": _TEXT}]},
        "measurements": _MAPPING,
        "judging": _MAPPING,
        "symbols": {"type": "object", "additionalProperties": _TEXT},
        "stated": {"type": "object", "additionalProperties": _TEXT},
        "quantities": {"type": "object", "additionalProperties": _MAPPING},
        "bases": _named("base"),
        "figures": _named("figure"),
        "plot": {"type": "object", "properties": {"kind": {"enum": sorted(registry.modules)}}},
        "claims": _named("claim"),
        "presets": _MAPPING,
        "year": {"type": "integer"},
    }
    # null removes an inherited text
    text = {"type": ["string", "null"]}
    properties = {word: known.get(word, text) for word in sorted(words)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _claim() -> dict[str, object]:
    own = {"statement", "source"}
    kinds = {
        kind: {"type": "object", "propertyNames": {"enum": sorted(model.model_fields)}}
        for kind, model in claims.models().items()
    }
    properties = {**dict.fromkeys(sorted(own), _TEXT), **kinds}
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _named(part: str) -> dict[str, object]:
    return {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{part}"}}


def as_text() -> str:
    """Return the schema of an experiment as JSON on one line."""
    schema = schemas()["experiment"]
    return json.dumps(schema, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the schema and the page of settings."""
    SCHEMA.write_text(as_text(), encoding="utf-8")
    SETTINGS.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
