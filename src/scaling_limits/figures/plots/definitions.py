"""Tables of a paper's own symbols and words."""

from typing import Literal

from pydantic import Field, model_validator

from scaling_limits.strict import Strict


class DefinitionsPlot(Strict):
    """A table of text, mathematics between dollars: `columns` are its headings, `rows` what stands below them."""

    kind: Literal["definitions"] = "definitions"
    columns: tuple[str, ...] = Field(min_length=2)
    rows: tuple[tuple[str, ...], ...] = Field(min_length=1)

    @property
    def grids(self) -> list[str]:
        """None: a table of words shows no cells."""
        return []

    @model_validator(mode="after")
    def _as_many_words_as_columns(self) -> "DefinitionsPlot":
        for row in self.rows:
            if len(row) != len(self.columns):
                first, columns = (row[0] if row else ""), len(self.columns)
                raise ValueError(
                    f"the row of '{first}' has {len(row)} entries, there are {columns} columns"
                )
        return self
