"""Write the JSON schemas of the configuration: `python -m scaling_limits.configuration.schema`."""

import json
from pathlib import Path
from typing import Any

from scaling_limits.configuration.models import schemas

FOLDER = Path("workflow", "schemas")


def as_text(schema: dict[str, Any]) -> str:
    """A schema as it stands in its file."""
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main(folder: Path = FOLDER) -> None:
    """Write all schemas below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        (folder / f"{name}.schema.json").write_text(as_text(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
