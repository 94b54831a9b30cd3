"""The page of all settings, `docs/settings.md`, generated from the declarations of the parts."""

from collections.abc import Iterator

from pydantic.json_schema import JsonSchemaValue

from scaling_limits import markdown
from scaling_limits.configuration.parts import COMMON, Names, every_part
from scaling_limits.datasets import catalogue
from scaling_limits.parameterisations.table import TABLE
from scaling_limits.strict import Strict

_HEAD = """# Settings

These are the settings of bases, experiments and grids. `make format` generates this page from the declarations in the
code. Settings that no selected part declares are rejected. Required settings must be set if their part is selected.
"""


def page() -> str:
    """Return the page as Markdown: the settings of all cells, then those of each part."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    yield _parts()
    for module in COMMON:
        room = module.__name__.split(".")[1]
        yield _section(room.capitalize(), module.Settings)
    shown: dict[type[Strict], list[str]] = {}
    for kind, name, part in every_part():
        if hasattr(part, "Settings") and part.Settings.model_fields:
            shown.setdefault(part.Settings, []).append(f"`{kind}: {name}`")
    for declared, names in shown.items():
        yield _section("With " + " or ".join(names), declared)


def _parts() -> str:
    rows = []
    known: dict[str, list[str]] = {"dataset": [f"`{name}`" for name in catalogue.registry.modules]}
    for kind, name, _ in every_part():
        known.setdefault(kind, []).append(f"`{name}`")
    known["parameterisation"] = [f"`{s}`" for s in dict.fromkeys(row.scheme for row in TABLE)]
    for name, info in Names.model_fields.items():
        default = "required" if info.is_required() else _default(info.default)
        rows.append((f"`{name}`", ", ".join(known[name]), default, str(info.description)))
    table = markdown.table(("setting", "names", "default", "meaning"), rows)
    return "\n".join(["## Parts\n", *table, ""])


def _section(title: str, declared: type[Strict]) -> str:
    schema = declared.model_json_schema()
    required = schema.get("required", [])
    rows = []
    for name, about in schema["properties"].items():
        default = "required" if name in required else _default(about.get("default"))
        rows.append((f"`{name}`", _values(about), default, about.get("description", "")))
    table = markdown.table(("setting", "values", "default", "meaning"), rows)
    return "\n".join([f"## {title}\n", *table, ""])


def _values(about: JsonSchemaValue) -> str:
    """Return the valid values of a setting as text, from a property of a JSON schema."""
    if "anyOf" in about:
        return " or ".join(
            _values(member) for member in about["anyOf"] if member.get("type") != "null"
        )
    if "enum" in about or "const" in about:
        return ", ".join(f"`{value}`" for value in about.get("enum", [about.get("const")]))
    kind: str = about["type"]
    if kind == "array":
        return f"list of {_values(about['items'])}"
    type_names = {"integer": "whole number", "boolean": "`true`, `false`", "object": "mapping"}
    bounds = (
        ("minimum", "≥"),
        ("exclusiveMinimum", ">"),
        ("maximum", "≤"),
        ("exclusiveMaximum", "<"),
    )
    limits = [f"{sign} {about[key]}" for key, sign in bounds if key in about]
    type_name = type_names.get(kind, kind)
    return " ".join([type_name, ", ".join(limits)]).strip()


def _default(default: object) -> str:
    if default is None:
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return "none" if default in ([], {}) else str(default)
