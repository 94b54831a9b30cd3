"""The base class of all typed models: immutable, without unknown fields, and finite."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """An immutable model, hashable if its fields are; it rejects unknown fields, infinities and NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Extended(Strict):
    """A model whose subclasses declare further fields, which a static type checker cannot know."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str, /) -> Any:
            """Return the value of a field."""
