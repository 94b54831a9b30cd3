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
        "octaves": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3},
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
        "paper": {**_mapping(allowed_keys.PAPER), "required": sorted(Head.model_fields)}
        | {"$defs": _parts()},
        "preset": Preset.model_json_schema(),
        "settings": every_setting().model_json_schema(),
    }


def _experiment() -> dict[str, object]:
    """Return the schema of an experiment's file, including the entries of the user's own experiments."""
    user_schema = OwnNames.model_json_schema()
    schema = _section(allowed_keys.EXPERIMENT | allowed_keys.SHARED)
    schema["properties"] |= user_schema["properties"]
    return {**schema, "$defs": {**user_schema["$defs"], **_parts()}}


def _parts() -> dict[str, object]:
    """Return the schemas to which others refer."""
    return {
        "base": _section(allowed_keys.BASE),
        "grid": _section(allowed_keys.GRID),
        "changed_base": _section(allowed_keys.CHANGED_BASE),
        "changed_grid": _section(allowed_keys.CHANGED_GRID, grid="changed_grid"),
        "changed_experiment": _section(allowed_keys.CHANGED_EXPERIMENT, grid="changed_grid"),
        "settings": _settings(),
        "figure": _mapping(allowed_keys.FIGURE),
        "claim": _claim(),
        "range": _RANGE_OF,
    }


def _section(keys: Iterable[str], grid: str = "grid") -> dict[str, object]:
    """Return the schema of a section with settings."""
    schema = _mapping(keys, grid)
    if "presets" in schema["properties"]:
        changed = "changed_experiment" if "grids" in schema["properties"] else "changed_base"
        schema["properties"]["presets"] = _named(changed)
    del schema["additionalProperties"]
    return {**schema, "$ref": "#/$defs/settings", "unevaluatedProperties": False}


def _settings() -> dict[str, object]:
    """Return the schema of all settings, each with one value, a list of values, or a range."""
    properties = {
        name: {"anyOf": [schema, {"items": schema, "type": "array"}, _RANGE, {"type": "null"}]}
        for name, schema in every_setting().model_json_schema()["properties"].items()
    }
    return {"type": "object", "properties": properties}


def _mapping(keys: Iterable[str], grid: str = "grid") -> JsonSchemaValue:
    known: dict[str, object] = {
        "grids": {"anyOf": [_named(grid), {"type": "array", "items": _TEXT}]},
        "measurements": _MAPPING,
        "judging": _MAPPING,
        "symbols": {"type": "object", "additionalProperties": _TEXT},
        # null: the paper does not state this setting here
        "stated": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
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
    properties = {key: known.get(key, text) for key in sorted(keys)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _claim() -> dict[str, object]:
    texts = {"statement", "source"}
    kinds = {
        kind: {"type": "object", "propertyNames": {"enum": sorted(model.model_fields)}}
        for kind, model in claims.models().items()
    }
    properties = {**dict.fromkeys(sorted(texts), _TEXT), **kinds}
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
